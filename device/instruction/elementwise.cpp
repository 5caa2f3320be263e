#include "device/instruction/elementwise.h"

#include <cmath>
#include <cstdlib>

#include "device/base/errors.h"

namespace neuron_sim::elementwise {
namespace {

/// The stride of the innermost free dimension that has more than one element; one element when
/// there is none.
int64_t innermost_stride(const View& view) {
  for (int i = view.rank() - 1; i >= 1; --i) {
    if (view.size(i) > 1) return view.dimension(i).stride;
  }
  return itemsize(view.dtype());
}

}  // namespace

bool is_16bit_float(Dtype dtype) { return dtype == Dtype::kFloat16 || dtype == Dtype::kBfloat16; }

bool is_32bit_integer(Dtype dtype) { return dtype == Dtype::kInt32 || dtype == Dtype::kUint32; }

IntegerRange integer_range(Dtype dtype) {
  switch (dtype) {
    case Dtype::kBool: return {0, 1};
    case Dtype::kInt8: return {INT8_MIN, INT8_MAX};
    case Dtype::kInt16: return {INT16_MIN, INT16_MAX};
    case Dtype::kInt32: return {INT32_MIN, INT32_MAX};
    case Dtype::kUint8: return {0, UINT8_MAX};
    case Dtype::kUint16: return {0, UINT16_MAX};
    case Dtype::kUint32: return {0, UINT32_MAX};
    default: return {};
  }
}

void check_constant(std::string_view instruction, std::string_view parameter, double value,
                    const View& dst) {
  if (is_packed(dst.dtype()) && value != 0) {
    fail(text(parameter, " ", value, " of '", instruction, "' must be 0 for the packed dtype ",
              name(dst.dtype()), " of operand 'dst'."));
  }
  if (!is_integer(dst.dtype())) return;
  const IntegerRange range = integer_range(dst.dtype());
  if (value == std::floor(value) && value >= static_cast<double>(range.lowest) &&
      value <= static_cast<double>(range.highest)) {
    return;
  }
  fail(text(parameter, " ", value, " of '", instruction, "' must match the dtype ",
            name(dst.dtype()), " of operand 'dst': an integer in [", range.lowest, ", ",
            range.highest, "]."));
}

bool copies_bits(EngineKind engine, const Architecture& architecture) {
  return engine != EngineKind::kScalar || architecture.features.scalar_tensor_ops;
}

bool is_contiguous(const View& view) { return innermost_stride(view) == itemsize(view.dtype()); }

RateClass one_source_rate(EngineKind engine, const View& source, const View& target) {
  if (engine == EngineKind::kGpSimd) return RateClass::kGpSimdOneInput;
  if (engine == EngineKind::kScalar && is_low_precision(source.dtype()) &&
      is_low_precision(target.dtype())) {
    return RateClass::kScalar16bit;
  }
  if (engine != EngineKind::kVector || !is_16bit_float(source.dtype()) ||
      !is_16bit_float(target.dtype())) {
    return RateClass::kOneInput;
  }
  const bool contiguous = is_contiguous(source) && is_contiguous(target);
  const int in_psum = static_cast<int>(source.memory() == MemoryKind::kPsum) +
                      static_cast<int>(target.memory() == MemoryKind::kPsum);
  if (in_psum == 0) return contiguous ? RateClass::kCopy16bit : RateClass::kCopy16bitMixed;
  return in_psum == 1 && contiguous ? RateClass::kCopy16bitMixed : RateClass::kOneInput;
}

Demand demand(RateClass rate, const View& main, std::initializer_list<const View*> operands) {
  Step step;
  step.unit = Unit::kElementwise;
  step.rate = rate;
  step.elements = main.free_elements();
  step.source_psum = main.memory() == MemoryKind::kPsum;
  for (const View* operand : operands) step.strided |= is_strided(*operand);
  Demand result;
  result.add(step);
  return result;
}

}  // namespace neuron_sim::elementwise
