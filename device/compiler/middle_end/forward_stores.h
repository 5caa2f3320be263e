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

/// Bytes per partition that live tiles may take up while some are kept for a load: nine tenths of
/// SBUF. The rest is for loads of later kernels that start early: a prompt of MiniCPM4-8B on trn1
/// moves 9.8 GB in 64.3 ms with a half, 9.2 in 64.4 with nine tenths, 9.0 in 65.2 with all, where
/// the chip moves 8.75.
int64_t forwarding_room(const Architecture& architecture);

/// Replaces loads by copies within SBUF where every row of the load lies, in the same partition, in
/// tiles that earlier transfers stored to it and that nothing has overwritten since. Those with
/// equal layouts are left to eliminate_copies; others are limited (kForwardedElements). The tiles
/// live until the load, as long as there is room for them in the program order (forwarding_room()).
/// Stores to scratch tensors that nothing reads any more are removed.
void forward_stores(StraightLine& line);

}  // namespace neuron_sim
