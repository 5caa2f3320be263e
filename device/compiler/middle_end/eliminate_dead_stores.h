#pragma once
// eliminate_dead_stores: zeros that nothing reads are not written.
//
// Known: DeadStoreElimination is among the compiler's passes (names in its public logs, neuron-sdk
// issue 803). That it covers nl.zeros before assignments that fill the whole tile is assumed; its
// bounds are not known. It runs with fold_zeros, the other pass that removes memsets.

#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// Most instances that may overwrite the bytes of one memset in non-contiguous pieces
/// (rename_buffers.h has already renamed what contiguous ones overwrite); with more, the memset is
/// a small part of the work, and without it each of them would depend on everything that was at its
/// bytes before.
inline constexpr size_t kMostParts = 64;

/// Removes memsets of tiles on chip when at most kMostParts later instances overwrite every byte
/// before anything reads it. Tiles placed by hand stay. Needs single-assignment versions
/// (rename_buffers.h).
void eliminate_dead_stores(StraightLine& line);

}  // namespace neuron_sim
