#pragma once
// forward_stores: data that a program stores to HBM and loads again comes from SBUF.
//
// Not known of the vendor's compiler: no published stack has it. It is for programs of whole
// graphs, whose kernels pass tensors through HBM.

#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// Most elements per partition of a load that becomes a copy between tiles of different layouts:
/// longer ones keep an engine busy for longer than the transfers take, which run in parallel (a
/// copy takes about a cycle per element; a load and the store before it 4 us or more).
inline constexpr int64_t kForwardedElements = 2048;

/// Tiles are kept for a load while all live tiles take up at most this part of SBUF: more would
/// leave the loads of later kernels no room to start early (16 sequences of ALBERT take 9.8 ms on
/// trn1 with a half, 11.8 with nine tenths, and 9.3 on the chip).
inline constexpr int64_t kForwardingParts = 2;

/// Replaces loads by copies within SBUF where every row of the load lies, in the same partition, in
/// tiles that earlier transfers stored to it and that nothing has overwritten since. Those with
/// equal layouts are left to eliminate_copies; others are limited (kForwardedElements). The tiles
/// live until the load, as long as there is room for them in the program order (kForwardingParts).
/// Stores to scratch tensors that nothing reads any more are removed.
void forward_stores(StraightLine& line);

}  // namespace neuron_sim
