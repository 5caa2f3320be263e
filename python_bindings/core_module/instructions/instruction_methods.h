#pragma once
// A method of the Python class Builder for each instruction, from its declared fields: parameters
// have the names of nki.isa; operators, functions, dtypes and engines are given by name.

#include <nanobind/nanobind.h>

#include "device/builder/builder.h"

namespace neuron_sim {

/// Every instruction of device/isa/list.h.
void bind_instructions(nanobind::class_<Builder>& builder);
/// instruction -> ((parameter, whether it is required, default), ...), of those methods.
nanobind::dict instruction_parameters();
/// register_alloc and rank_id, which give a register.
void bind_register_instructions(nanobind::class_<Builder>& builder);
/// nki.collectives: `collective`, and processing_rank_id.
void bind_collectives(nanobind::class_<Builder>& builder);

}  // namespace neuron_sim
