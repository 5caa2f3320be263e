#include "device/isa/reduction/tensor_reduce.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/elementwise.h"
#include "device/instruction/rows.h"
#include "device/numerics/alu.h"
#include "device/numerics/reduction.h"

namespace neuron_sim {
namespace {

using enum TensorReduce::OperandIndex;
using enum TensorReduce::AttributeIndex;

constexpr std::string_view kName = "tensor_reduce";

constexpr auto kOperands = operand_table<TensorReduce>();
constexpr auto kAttributes = attribute_table<TensorReduce>();

void check_bitwise(const Draft& draft, AluOp op) {
  const View& dst = draft.operand(kDst);
  const View& data = draft.operand(kData);
  const std::string allowed = text("integers of one size for the bitwise operator ", name(op));
  if (!is_integer(data.dtype())) checks::dtype_error(kName, "data", data, allowed);
  if (!is_integer(dst.dtype()) || itemsize(dst.dtype()) != itemsize(data.dtype())) {
    checks::dtype_error(kName, "dst", dst, allowed);
  }
  if (draft.attribute(kNegate).flag()) {
    fail(text("negate of 'tensor_reduce' is not supported with the bitwise operator ", name(op),
              "."));
  }
}

void check(const Draft& draft, const Architecture& architecture) {
  checks::engine(kName, draft.engine, {EngineKind::kVector}, architecture);
  const AluOp op = draft.attribute(kOp).as<AluOp>();
  if (!is_reduction(op)) {
    fail(text("operator '", name(op), "' of 'tensor_reduce' is not supported; expected add,",
              " subtract, multiply, maximum, minimum, logical or bitwise and, or, xor."));
  }
  const View& dst = draft.operand(kDst);
  const View& data = draft.operand(kData);
  checks::compute_operand(kName, "data", data, draft.engine, architecture);
  checks::compute_operand(kName, "dst", dst, draft.engine, architecture);
  checks::same_partitions(kName, "dst", dst, "data", data);
  const int64_t axes = draft.attribute(kAxes).integer();
  if (axes < 1 || axes > data.rank() - 1) {
    fail(text("axes ", axes, " of 'tensor_reduce' must be 1 to ", data.rank() - 1,
              ", the free dimensions of operand 'data' (", data.describe(), ")."));
  }
  int64_t remaining = 1;
  for (int i = 1; i < data.rank() - static_cast<int>(axes); ++i) remaining *= data.size(i);
  if (dst.free_elements() != remaining) {
    fail(text("operand 'dst' of 'tensor_reduce' (", dst.describe(), ") must have ", remaining,
              " elements per partition: operand 'data' (", data.describe(), ") without its last ",
              axes, " dimensions."));
  }
  if (is_bitwise(op)) check_bitwise(draft, op);
}

/// Rows of values and of their reductions: `count` results per row, each of `group` values.
struct RowReduction {
  FloatRows<const float> values;
  FloatRows<float> results;
  int64_t rows, count, group;
  bool to_truth;  ///< results other than 0 become 1
  bool negates;
};

template <typename Reduce>
__attribute__((noinline)) void reduce_rows(const RowReduction reduction, Reduce reduce) {
  for (int64_t row = 0; row < reduction.rows; ++row) {
    const float* values = reduction.values[row];
    float* const results = reduction.results[row];
    for (int64_t i = 0; i < reduction.count; ++i, values += reduction.group) {
      float result = reduce(values, reduction.group);
      if (reduction.to_truth) result = result != 0 ? 1.0F : 0.0F;
      results[i] = reduction.negates ? -result : result;
    }
  }
}

/// Sums in order of groups of `size` values, of kRowsAtOnce side by side.
class GroupSums {
 public:
  GroupSums(int64_t size, bool negates) : size_(size), negates_(negates) {}

  /// The values are read, and the result written, by the time of finish().
  void add(const float* values, float* result) {
    values_[used_] = values;
    results_[used_] = result;
    if (++used_ == kRowsAtOnce) finish();
  }
  void finish() {
    float sums[kRowsAtOnce] = {};
    add_in_order(values_, used_, size_, sums);
    for (int64_t i = 0; i < used_; ++i) *results_[i] = negates_ ? -sums[i] : sums[i];
    used_ = 0;
  }

 private:
  const int64_t size_;
  const bool negates_;
  const float* values_[kRowsAtOnce] = {};
  float* results_[kRowsAtOnce] = {};
  int64_t used_ = 0;
};

void add_rows(const RowReduction& reduction) {
  GroupSums sums(reduction.group, reduction.negates);
  for (int64_t row = 0; row < reduction.rows; ++row) {
    const float* values = reduction.values[row];
    float* const results = reduction.results[row];
    for (int64_t i = 0; i < reduction.count; ++i, values += reduction.group) {
      sums.add(values, results + i);
    }
  }
  sums.finish();
}

/// The same where rows are converted on the way: as many at a time as there are sums side by side.
void add_converted_rows(const Access& data, const RowWriter& writer, int64_t partitions,
                        const RowReduction& reduction) {
  thread_local std::array<std::vector<float>, kRowsAtOnce> buffers;
  const int64_t together = std::max<int64_t>(1, kRowsAtOnce / reduction.count);
  std::vector<RowReader> readers;
  for (int64_t i = 0; i < together; ++i)
    readers.emplace_back(data, buffers[static_cast<size_t>(i)]);
  std::vector<float>& results = row_scratch().second;
  results.resize(static_cast<size_t>(together * reduction.count));
  GroupSums sums(reduction.group, reduction.negates);
  for (int64_t p = 0; p < partitions; p += together) {
    const int64_t rows = std::min(together, partitions - p);
    float* result = results.data();
    for (int64_t row = 0; row < rows; ++row) {
      const float* values = readers[static_cast<size_t>(row)](p + row);
      for (int64_t i = 0; i < reduction.count; ++i, values += reduction.group) {
        sums.add(values, result++);
      }
    }
    sums.finish();
    writer.write(p, rows, results.data(), reduction.count);
  }
}

/// Calls body(function that reduces values to one) for an operator other than add.
template <typename Body>
void with_reduction(AluOp op, Body body) {
  if (op == AluOp::kSubtract || op == AluOp::kMultiply) {
    return body([op](const float* values, int64_t count) { return reduce(op, values, count); });
  }
  alu::with_float_operator(op, [&](auto function) {
    body([function](const float* values, int64_t count) {
      return reduction::reduce(values, count, function);
    });
  });
}

void run_integers(const Instance& instance, AluOp op, int64_t group) {
  const Access& dst = instance.operand(kDst);
  RowScratch& scratch = row_scratch();
  const int64_t count = dst.elements();
  scratch.result_integers.resize(static_cast<size_t>(count));
  for (int64_t p = 0; p < dst.partitions; ++p) {
    const int64_t* values = read_integer_row(instance.operand(kData), p, scratch.first_integers);
    alu::with_integer_operator(op, [&](auto function) {
      for (int64_t i = 0; i < count; ++i) {
        int64_t result = values[i * group];
        for (int64_t j = 1; j < group; ++j) result = function(result, values[i * group + j]);
        scratch.result_integers[static_cast<size_t>(i)] = result;
      }
    });
    write_integer_row(dst, p, scratch.result_integers.data());
  }
}

void run(const Instance& instance) {
  const AluOp op = instance.attribute(kOp).as<AluOp>();
  const Access& dst = instance.operand(kDst);
  const Access& data = instance.operand(kData);
  const int64_t count = dst.elements();
  if (count == 0) return;
  const int64_t group = data.elements() / count;
  if (is_bitwise(op)) return run_integers(instance, op, group);
  RowScratch& scratch = row_scratch();
  const RowReader read(data, scratch.first);
  const RowWriter writer(dst, scratch.result);
  const bool logical =
      op == AluOp::kLogicalAnd || op == AluOp::kLogicalOr || op == AluOp::kLogicalXor;
  RowReduction rows{read.rows(),
                    writer.rows(),
                    dst.partitions,
                    count,
                    group,
                    logical && group <= 1,
                    instance.attribute(kNegate).flag()};
  const bool in_place = read.in_place() && !read.repeats() && writer.in_place();
  if (op == AluOp::kAdd) {
    return in_place ? add_rows(rows) : add_converted_rows(data, writer, dst.partitions, rows);
  }
  with_reduction(op, [&](auto reduce) {
    if (in_place) return reduce_rows(rows, reduce);
    rows.rows = 1;
    for (int64_t p = 0; p < dst.partitions; ++p) {
      float* const results = writer.target(p);
      rows.values = {read(p)};
      rows.results = {results};
      reduce_rows(rows, reduce);
      writer.write(p, results);
    }
  });
}

Demand demand(const Draft& draft, const Architecture&) {
  const View& dst = draft.operand(kDst);
  const View& data = draft.operand(kData);
  const AluOp op = draft.attribute(kOp).as<AluOp>();
  const bool fast = (op == AluOp::kAdd || op == AluOp::kMaximum) &&
                    data.dtype() == Dtype::kBfloat16 && dst.dtype() == Dtype::kBfloat16;
  Demand result = elementwise::demand(fast ? RateClass::kReduce16bit : RateClass::kOneInput, data,
                                      {&dst, &data});
  result.steps[0].reduces = dst.free_elements() < data.free_elements();
  return result;
}

}  // namespace

int64_t trailing_axes(std::span<const int64_t> axis, int rank) {
  const auto count = static_cast<int64_t>(axis.size());
  std::vector<int64_t> sorted;
  for (const int64_t index : axis) sorted.push_back(index < 0 ? index + rank : index);
  std::sort(sorted.begin(), sorted.end());
  bool trailing = count > 0 && count < rank;
  std::string list;
  for (int64_t i = 0; i < count; ++i) {
    trailing = trailing && sorted[static_cast<size_t>(i)] == rank - count + i;
    list += text(i == 0 ? "" : ", ", axis[static_cast<size_t>(i)]);
  }
  if (!trailing) {
    fail(text("axis (", list, ") of 'tensor_reduce' must be the last contiguous free dimensions",
              " of operand 'data', which has ", rank,
              " dimensions; axis 0 (the partition axis) cannot be reduced."));
  }
  return count;
}

Draft TensorReduce::draft() const { return draft_of(kTensorReduce, *this); }

constinit const InstructionType kTensorReduce = as_stackable(
    {kName, kOperands, kAttributes, fixed_engine<EngineKind::kVector>, check, run, demand});

}  // namespace neuron_sim
