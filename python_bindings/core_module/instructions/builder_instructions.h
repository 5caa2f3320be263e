#pragma once
// The instructions as methods of the Python class Builder. Parameters have the names of nki.isa;
// operators, activation functions, dtypes and engines are given by name.

#include <nanobind/nanobind.h>

#include "device/builder/builder.h"

namespace neuron_sim {

/// DMA and memory: dma_copy, dma_transpose, dma_compute, memset, iota.
void bind_movement(nanobind::class_<Builder>& builder);
/// nc_matmul, nc_matmul_mx, quantize_mx, nc_transpose.
void bind_tensor_engine(nanobind::class_<Builder>& builder);
/// tensor_copy, tensor_tensor, tensor_scalar, tensor_reduce, tensor_tensor_scan, ...
void bind_elementwise(nanobind::class_<Builder>& builder);
/// activation, activation_reduce, activate2, exponential.
void bind_activations(nanobind::class_<Builder>& builder);
/// affine_select, range_select, select_reduce, tensor_copy_predicated, tensor_copy_dynamic_*.
void bind_selections(nanobind::class_<Builder>& builder);
/// tensor_scalar_reduce, tensor_scalar_cumulative, bn_stats, max8, topk, ...
void bind_reductions(nanobind::class_<Builder>& builder);
/// local_gather, nc_n_gather, nc_stream_shuffle, nonzero_with_count, sequence_bounds, ...
void bind_gathers(nanobind::class_<Builder>& builder);
/// dropout, rng, rand2, set_rng_seed, rand_get_state, rand_set_state.
void bind_random_numbers(nanobind::class_<Builder>& builder);
/// core_barrier, sendrecv, register_alloc, register_load, register_move, register_store.
void bind_sequencer(nanobind::class_<Builder>& builder);
/// all_reduce and the other collectives between ranks, rank_id.
void bind_collectives(nanobind::class_<Builder>& builder);

}  // namespace neuron_sim
