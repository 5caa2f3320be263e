#pragma once
// forward_stores: what a program stored to HBM and loads again comes from SBUF.
//
// Not known of the vendor's compiler: no published stack has it. It is for programs of whole
// graphs, whose kernels hand tensors on in HBM.

#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// Elements per partition that a load may have which becomes a copy between tiles of different
/// layouts: longer ones keep an engine busy for longer than the transfers take, which run beside
/// it (a copy takes about a cycle per element; a load and the store before it 4 us or more).
inline constexpr int64_t kForwardedElements = 2048;

/// Tiles are kept for a load while all that live take up at most this part of SBUF: more would
/// leave the loads of later kernels no room to come early (a ResNet-50 of four images of 224 x 224
/// takes 5.9 ms with a half, 6.2 with a quarter, 8.1 with all).
inline constexpr int64_t kForwardingParts = 2;

/// Replaces loads by copies within SBUF where every row of the load lies, in the same partition, in
/// tiles that earlier transfers stored to it and that nothing has overwritten since. Those whose
/// layouts agree are for eliminate_copies to remove; others are limited (kForwardedElements). The
/// tiles live until the load, as long as there is room for them in the program order
/// (kForwardingParts). Stores to scratch tensors that nothing reads any more disappear.
void forward_stores(StraightLine& line);

}  // namespace neuron_sim
