#pragma once
// A method of the Python class Builder for each instruction, from its declared fields: parameters
// have the names of nki.isa; operators, functions, dtypes and engines are given by name.

#include <nanobind/nanobind.h>

#include <string_view>

#include "device/builder/builder.h"

namespace neuron_sim {

/// Every instruction of device/isa/list.h.
void bind_instructions(nanobind::class_<Builder>& builder);
/// instruction -> ((parameter, whether it is required, default), ...), of those methods.
nanobind::dict instruction_parameters();
/// Emits an instruction with the arguments of its method, by position, without nanobind's matching
/// of them. False, with nothing emitted, when one has not exactly the type that the parameter has:
/// the method takes it, or says why not.
using PlainEmission = bool (*)(Builder& builder, PyObject* const* arguments, size_t count);
/// The plain emission of an instruction by its name; null when it has no declared fields.
PlainEmission plain_emission(std::string_view instruction);
/// register_alloc and rank_id, which give a register.
void bind_register_instructions(nanobind::class_<Builder>& builder);
/// nki.collectives: `collective`, and processing_rank_id.
void bind_collectives(nanobind::class_<Builder>& builder);

}  // namespace neuron_sim
