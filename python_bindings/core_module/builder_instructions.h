#pragma once
// The instructions as methods of the Python class Builder. Parameters have the names of nki.isa;
// operators, activation functions, dtypes and engines are given by name.

#include <nanobind/nanobind.h>

#include "device/program/builder.h"

namespace neuron_sim {

/// DMA and memory: dma_copy, dma_transpose, dma_compute, memset, iota.
void bind_movement(nanobind::class_<Builder>& builder);
/// nc_matmul, nc_transpose.
void bind_tensor_engine(nanobind::class_<Builder>& builder);
/// tensor_copy, tensor_tensor, tensor_scalar, tensor_reduce, tensor_tensor_scan, ...
void bind_elementwise(nanobind::class_<Builder>& builder);
/// activation, activation_reduce.
void bind_activations(nanobind::class_<Builder>& builder);

}  // namespace neuron_sim
