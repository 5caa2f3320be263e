#include "device/instruction/float_operand.h"

#include <algorithm>

#include "device/instruction/element_copy.h"

namespace neuron_sim {
namespace {

constexpr int64_t kFloat = sizeof(float);

/// Writes the elements of contraction row k one after the other.
void gather_row(const Access& access, const Pattern& bytes, int64_t k, float* row) {
  const int64_t item = itemsize(access.dtype);
  // tf32 was rounded when it was stored; reading it is reading fp32.
  const Dtype dtype = access.dtype == Dtype::kTfloat32 ? Dtype::kFloat32 : access.dtype;
  const int64_t runs = bytes.runs();
  for (int64_t run = 0; run < runs; ++run, row += bytes.length) {
    const int64_t offset = bytes.offset(run);
    if (access.widened == nullptr) {
      load_floats(access.partition(k) + offset, dtype, bytes.stride, row, bytes.length);
      continue;
    }
    const float* from = access.widened + k * access.widened_partition_stride + offset / item;
    for (int64_t i = 0; i < bytes.length; ++i) row[i] = from[i * (bytes.stride / item)];
  }
}

/// Writes all rows, `pitch` floats apart. Where elements follow each other along the contraction, a
/// row alone would touch a cache line for each of its elements.
void gather_rows(const Access& access, const Pattern& bytes, float* rows, int64_t pitch) {
  const int64_t item = itemsize(access.dtype);
  const bool is_turned =
      bytes.outer_rank == 0 && access.partition_stride == item && access.widened == nullptr;
  if (!is_turned) {
    for (int64_t k = 0; k < access.partitions; ++k) gather_row(access, bytes, k, rows + k * pitch);
    return;
  }
  const std::byte* columns = access.data;
  int64_t stride = bytes.stride;
  std::vector<float> widened;
  if (item != kFloat) {
    widened.resize(static_cast<size_t>(bytes.length * access.partitions));
    for (int64_t i = 0; i < bytes.length; ++i) {
      load_floats(columns + i * stride, access.dtype, item, &widened[i * access.partitions],
                  access.partitions);
    }
    columns = reinterpret_cast<const std::byte*>(widened.data());
    stride = access.partitions * kFloat;
  }
  const Dimension from[] = {{access.partitions, kFloat}, {bytes.length, stride}};
  const Dimension to[] = {{access.partitions, pitch * kFloat}, {bytes.length, kFloat}};
  copy_elements({columns, from}, {reinterpret_cast<std::byte*>(rows), to}, kFloat);
}

/// Storage that a product can read directly, if there is any.
FloatOperand in_place(const Access& access, const Pattern& bytes) {
  const int64_t item = itemsize(access.dtype);
  FloatOperand operand;
  operand.bf16 = fits_bfloat16(access.dtype);
  operand.pattern = bytes.in_units_of(item);
  if (access.widened != nullptr) {
    operand.data = access.widened;
    operand.pitch = access.widened_partition_stride;
  } else if (item == kFloat && access.partition_stride % kFloat == 0) {
    operand.data = reinterpret_cast<const float*>(access.data);
    operand.pitch = access.partition_stride / kFloat;
  }
  if (access.partitions == 1) operand.pitch = std::max(operand.pitch, bytes.length);
  // A broadcast partition has pitch 0, which is no leading dimension of a matrix.
  if (operand.pitch < bytes.length) operand.data = nullptr;
  return operand;
}

}  // namespace

bool fits_bfloat16(Dtype dtype) {
  return dtype == Dtype::kBfloat16 || (is_low_precision(dtype) && itemsize(dtype) == 1);
}

FloatOperand float_operand(const Access& access, RunRule rule, std::vector<float>& buffer) {
  const Pattern bytes = free_pattern(access);
  const bool dense = bytes.stride == itemsize(access.dtype);
  const bool keeps_runs = dense && (rule == RunRule::kKeep || bytes.outer_rank == 0);
  if (keeps_runs) {
    const FloatOperand operand = in_place(access, bytes);
    if (operand.data != nullptr) return operand;
  }
  const int64_t elements = bytes.elements();
  const bool turns = rule == RunRule::kKeep && !dense && bytes.outer_rank == 0 &&
                     access.partition_stride == itemsize(access.dtype) && access.widened == nullptr;
  if (turns) {
    FloatOperand operand{nullptr, elements, bytes, fits_bfloat16(access.dtype)};
    operand.pattern.stride = 1;
    operand.turned = {access.data, bytes.stride, access.dtype};
    return operand;
  }
  const int64_t pitch = elements + 16;  // off powers of two, where rows compete for cache sets
  const size_t needed = static_cast<size_t>(pitch * access.partitions);
  if (buffer.size() < needed) buffer.resize(needed);
  gather_rows(access, bytes, buffer.data(), pitch);
  FloatOperand operand{buffer.data(), pitch, Pattern{}, fits_bfloat16(access.dtype)};
  operand.pattern.length = keeps_runs ? bytes.length : elements;
  operand.pattern.stride = 1;
  if (keeps_runs && bytes.outer_rank > 0) {
    operand.pattern.outer_rank = 1;
    operand.pattern.outer[0] = {bytes.runs(), bytes.length};
  }
  return operand;
}

}  // namespace neuron_sim
