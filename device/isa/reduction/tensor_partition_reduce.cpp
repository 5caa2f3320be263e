#include "device/isa/reduction/tensor_partition_reduce.h"

#include <algorithm>

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/elementwise.h"
#include "device/instruction/rows.h"

namespace neuron_sim {

std::string_view name(PartitionReduction op) {
  switch (op) {
    case PartitionReduction::kAdd: return "add";
    case PartitionReduction::kAverage: return "average";
    case PartitionReduction::kMaximum: return "maximum";
    case PartitionReduction::kBitwiseOr: return "bitwise_or";
    case PartitionReduction::kBitwiseAnd: return "bitwise_and";
  }
  return "unknown";
}

namespace {

constexpr std::string_view kName = "tensor_partition_reduce";
using enum TensorPartitionReduce::OperandIndex;
using enum TensorPartitionReduce::AttributeIndex;
constexpr auto kOperands = operand_table<TensorPartitionReduce>();
constexpr auto kAttributes = attribute_table<TensorPartitionReduce>();

bool is_bitwise_operator(PartitionReduction op) {
  return op == PartitionReduction::kBitwiseOr || op == PartitionReduction::kBitwiseAnd;
}

/// GpSimd computes 32-bit integers exactly (docs/hardware_facts.md#operators).
bool is_exact(PartitionReduction op, Dtype data, Dtype dst) {
  if (is_bitwise_operator(op)) return true;
  return op != PartitionReduction::kAverage && elementwise::is_32bit_integer(data) &&
         elementwise::is_32bit_integer(dst);
}

void check(const Draft& draft, const Architecture& architecture) {
  checks::engine(kName, draft.engine, {EngineKind::kGpSimd}, architecture);
  const View& dst = draft.operand(kDst);
  const View& data = draft.operand(kData);
  checks::compute_operand(kName, "data", data, draft.engine, architecture);
  checks::compute_operand(kName, "dst", dst, draft.engine, architecture);
  if (dst.partitions() != 1) {
    fail(text("operand 'dst' of 'tensor_partition_reduce' is ", dst.describe(),
              ", but must have one partition."));
  }
  checks::same_free_elements(kName, "dst", dst, "data", data);
  const auto op = draft.attribute(kOp).as<PartitionReduction>();
  if (!is_bitwise_operator(op)) return;
  const std::string allowed = text("integers of one size for the bitwise operator ", name(op));
  if (!is_integer(data.dtype())) checks::dtype_error(kName, "data", data, allowed);
  if (!is_integer(dst.dtype()) || itemsize(dst.dtype()) != itemsize(data.dtype())) {
    checks::dtype_error(kName, "dst", dst, allowed);
  }
}

int64_t combine(PartitionReduction op, int64_t a, int64_t b) {
  switch (op) {
    case PartitionReduction::kMaximum: return std::max(a, b);
    case PartitionReduction::kBitwiseOr: return a | b;
    case PartitionReduction::kBitwiseAnd: return a & b;
    default: return a + b;
  }
}

void run_integers(const Instance& instance, PartitionReduction op) {
  const Access& data = instance.operand(kData);
  RowScratch& scratch = row_scratch();
  const auto count = static_cast<size_t>(data.elements());
  const int64_t* first = read_integer_row(data, 0, scratch.first_integers);
  std::vector<int64_t>& result = scratch.result_integers;
  result.assign(first, first + count);
  for (int64_t p = 1; p < data.partitions; ++p) {
    const int64_t* row = read_integer_row(data, p, scratch.first_integers);
    for (size_t i = 0; i < count; ++i) result[i] = combine(op, result[i], row[i]);
  }
  write_integer_row(instance.operand(kDst), 0, result.data());
}

void run(const Instance& instance) {
  const auto op = instance.attribute(kOp).as<PartitionReduction>();
  const Access& data = instance.operand(kData);
  if (is_exact(op, data.dtype, instance.operand(kDst).dtype)) return run_integers(instance, op);
  RowScratch& scratch = row_scratch();
  const auto count = static_cast<size_t>(data.elements());
  const float* first = read_row(data, 0, scratch.first);
  std::vector<float>& result = scratch.result;
  result.assign(first, first + count);
  for (int64_t p = 1; p < data.partitions; ++p) {
    const float* row = read_row(data, p, scratch.first);
    if (op == PartitionReduction::kMaximum) {  // a NaN on either side wins
      for (size_t i = 0; i < count; ++i) {
        result[i] = row[i] > result[i] || row[i] != row[i] ? row[i] : result[i];
      }
    } else {
      for (size_t i = 0; i < count; ++i) result[i] += row[i];
    }
  }
  if (op == PartitionReduction::kAverage) {
    for (size_t i = 0; i < count; ++i) result[i] /= static_cast<float>(data.partitions);
  }
  write_row(instance.operand(kDst), 0, result.data());
}

Demand demand(const Draft& draft, const Architecture&) {
  const View& data = draft.operand(kData);
  return elementwise::demand(RateClass::kPartitionReduce, data, {&draft.operand(kDst), &data});
}

}  // namespace

Draft TensorPartitionReduce::draft() const { return draft_of(kTensorPartitionReduce, *this); }

const InstructionType kTensorPartitionReduce = {
    kName, kOperands, kAttributes, fixed_engine<EngineKind::kGpSimd>, check, run, demand};

}  // namespace neuron_sim
