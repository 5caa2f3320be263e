#pragma once
// split_over_cores: a kernel that is written for one core runs on both cores of a logical core.
//
// Known (notes of Jerry2423/kda-for-trainium at 90770f2a, workspaces/*/benchmark.csv, profiles of
// trn2): engines are busy for longer than the kernel takes (gqa_full v8: 8.55 ms of DMA in 4.29
// ms), and the shares that are stated are those of two cores. Bytes and instructions of most
// kernels are those of one (bmm_softmax v1: 8,704 products, 34 MB), so each core computes a part.
// What an activation adds up in the engine's registers is computed by both, with all that it needs:
// bmm_softmax v3 has twice the products, copies and bytes read, and writes as many as before;
// gqa_full v7b has 13,056 more products, those of its scores and of the transposes of q and k, and
// none of its second product. Two kernels whose results end with a store outside of all loops
// (silu k3 and ping-pong) take as long as one core does, with that core's shares.
// What changes in a loop of the kernel is computed again, though each core has one instance of that
// loop: mamba v3, whose inner loop is over the two channels, has Vector busy for 814 us, which are
// 820 with its product in each step and 694 without; v2, whose inner loop is over the steps, 696.
// Inferred: that the parts are halves of what a line of the kernel stores, by address. Not known:
// who loads what both cores need; add_rmsnorm_matmul reads its weights once, here each core does.

#include <cstddef>

#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// Whether the program is of one core, of a chip whose logical cores have two.
bool can_be_split(const Program& program);

/// Leaves the instances of one of two cores (0 or 1): of each line of the kernel that stores, the
/// half of the stores with the lower or the higher addresses, and only what they depend on. A
/// program stays on core 0, and core 1 idles, when a line stores once, when the program loads
/// what it stores, or when it meets other cores or ranks. Needs single-assignment versions.
void split_over_cores(StraightLine& line, size_t core);

}  // namespace neuron_sim
