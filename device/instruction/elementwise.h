#pragma once
// Shared by the element-by-element instructions: their demand step and dtype queries.

#include <initializer_list>

#include "device/instruction/instruction_type.h"

namespace neuron_sim::elementwise {

/// float16 or bfloat16, the types of the fast modes of the Vector engine.
bool is_16bit_float(Dtype dtype);
/// int32 or uint32, the types GpSimd computes exactly.
bool is_32bit_integer(Dtype dtype);
/// Smallest and largest value of an integer dtype; bool is [0, 1]. Both 0 for floating dtypes.
struct IntegerRange {
  int64_t lowest = 0;
  int64_t highest = 0;
};
IntegerRange integer_range(Dtype dtype);
/// A constant that is stored in `dst` unchanged: an integer dtype must be able to hold it.
void check_constant(std::string_view instruction, std::string_view parameter, double value,
                    const View& dst);
/// A copy between equal dtypes keeps every bit; Scalar without scalar_tensor_ops (generation 2)
/// converts to fp32 and back (docs/hardware_facts.md#tensor_copy).
bool copies_bits(EngineKind engine, const Architecture& architecture);
/// Neighbours of the innermost free dimension are neighbours in memory.
bool is_contiguous(const View& view);
/// A one-source instruction of 16-bit floats on the Vector engine has a fast mode when
/// both sides are in SBUF and contiguous (kCopy16bit), a slower one when one side is in PSUM or
/// they are not (kCopy16bitMixed). On the Scalar engine 16-bit and 8-bit floats are kScalar16bit,
/// on GpSimd everything is kGpSimdOneInput; else kOneInput
/// (docs/hardware_facts.md#tensor_copy, tensor_scalar).
RateClass one_source_rate(EngineKind engine, const View& source, const View& target);
/// A Demand of one step: elements per partition and source_psum of `main`, strided when any of the
/// operands is.
Demand demand(RateClass rate, const View& main, std::initializer_list<const View*> operands);

}  // namespace neuron_sim::elementwise
