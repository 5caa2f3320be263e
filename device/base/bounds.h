#pragma once
// Sizes of the simulator's own arrays: no architecture file may ask for more.

namespace neuron_sim {

/// Free dimensions of an access pattern; dimension 0 of a View is the partition dimension.
inline constexpr int kMaximumFreeDimensions = 4;
inline constexpr int kMaximumRank = kMaximumFreeDimensions + 1;

/// Physical cores of a logical core (LNC2).
inline constexpr int kMaximumCores = 2;

/// Registers of one engine.
inline constexpr int kMaximumRegisters = 64;

}  // namespace neuron_sim
