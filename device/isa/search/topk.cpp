#include "device/isa/search/topk.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/elementwise.h"
#include "device/instruction/pattern.h"
#include "device/instruction/rows.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kName = "topk";
using enum Topk::OperandIndex;
using enum Topk::AttributeIndex;
// The destinations are read as well: the columns after the results keep their values.
constexpr auto kOperands = operand_table<Topk>();
constexpr auto kAttributes = attribute_table<Topk>();

void check_counts(const Draft& draft, const Architecture& architecture) {
  const Limits& limits = architecture.limits;
  const View& src = draft.operand(kSrc);
  const int64_t n = draft.attribute(kN).integer();
  const int64_t results = draft.operand(kValDst).free_elements();
  if (n < limits.topk_minimum_elements || n > limits.topk_maximum_elements) {
    fail(text("n ", n, " of 'topk' must be ", limits.topk_minimum_elements, " to ",
              limits.topk_maximum_elements, " (architecture ", architecture.name, ")."));
  }
  const int64_t room = limits.gpsimd_core_partitions * src.free_elements();
  if (n > room) {
    fail(text("n ", n, " of 'topk' exceeds the ", room, " elements in ",
              limits.gpsimd_core_partitions, " partitions of operand 'src' (", src.describe(),
              ")."));
  }
  const int64_t most = std::min(n, limits.topk_results);
  if (results > most) {
    fail(text("operand 'val_dst' of 'topk' (", draft.operand(kValDst).describe(), ") asks for ",
              results, " results; n ", n, " and architecture ", architecture.name, " allow 1 to ",
              most, "."));
  }
}

void check(const Draft& draft, const Architecture& architecture) {
  checks::engine(kName, draft.engine, {EngineKind::kGpSimd}, architecture);
  const View& values = draft.operand(kValDst);
  const View& indices = draft.operand(kIdxDst);
  const View& src = draft.operand(kSrc);
  checks::compute_operand(kName, "src", src, draft.engine, architecture);
  checks::compute_operand(kName, "val_dst", values, draft.engine, architecture);
  checks::compute_operand(kName, "idx_dst", indices, draft.engine, architecture);
  checks::same_partitions(kName, "val_dst", values, "src", src);
  checks::same_partitions(kName, "val_dst", values, "idx_dst", indices);
  checks::same_free_elements(kName, "val_dst", values, "idx_dst", indices);
  const int64_t core = architecture.limits.gpsimd_core_partitions;
  if (src.partitions() % core != 0) {
    fail(text("number of partitions ", src.partitions(),
              " of operand 'src' of 'topk' must be a multiple of ", core,
              ", the partitions of a GpSimd core of architecture ", architecture.name, "."));
  }
  if (src.dtype() != Dtype::kBfloat16) checks::dtype_error(kName, "src", src, "bfloat16");
  if (values.dtype() != Dtype::kBfloat16) checks::dtype_error(kName, "val_dst", values, "bfloat16");
  if (indices.dtype() != Dtype::kUint32) checks::dtype_error(kName, "idx_dst", indices, "uint32");
  check_counts(draft, architecture);
}

/// The n elements of the snake that starts at partition `first`.
void read_snake(const Access& src, int64_t first, int64_t core, std::vector<float>& values) {
  const auto count = static_cast<int64_t>(values.size());
  for (int64_t p = 0; p < core; ++p) {
    const float* row = read_row(src, first + p, row_scratch().first);
    for (int64_t i = p; i < count; i += core) values[static_cast<size_t>(i)] = row[i / core];
  }
}

/// Indices of the largest values in ascending order of value.
void select_largest(const std::vector<float>& values, int64_t count,
                    std::vector<int64_t>& indices) {
  indices.resize(values.size());
  std::iota(indices.begin(), indices.end(), 0);
  const auto larger = [&](int64_t a, int64_t b) {
    const float left = values[static_cast<size_t>(a)], right = values[static_cast<size_t>(b)];
    if (std::isnan(left) || std::isnan(right)) {
      return std::isnan(left) == std::isnan(right) ? a < b : std::isnan(right);
    }
    return left != right ? left > right : a < b;
  };
  std::partial_sort(indices.begin(), indices.begin() + count, indices.end(), larger);
  indices.resize(static_cast<size_t>(count));
  std::reverse(indices.begin(), indices.end());
}

void run(const Instance& instance) {
  const Access& val_dst = instance.operand(kValDst);
  const Access& idx_dst = instance.operand(kIdxDst);
  const Access& src = instance.operand(kSrc);
  const int64_t core = instance.architecture->limits.gpsimd_core_partitions;
  const Pattern value_pattern = free_pattern(val_dst);
  const Pattern index_pattern = free_pattern(idx_dst);
  RowScratch& scratch = row_scratch();
  scratch.result.resize(static_cast<size_t>(instance.attribute(kN).integer()));
  for (int64_t first = 0; first < src.partitions; first += core) {
    read_snake(src, first, core, scratch.result);
    std::vector<int64_t>& indices = scratch.result_integers;
    select_largest(scratch.result, val_dst.elements(), indices);
    for (size_t j = 0; j < indices.size(); ++j) {
      const int64_t p = first + static_cast<int64_t>(j) % core;
      const int64_t column = static_cast<int64_t>(j) / core;
      const float value = scratch.result[static_cast<size_t>(indices[j])];
      store_floats(&value, val_dst.partition(p) + value_pattern.element_offset(column),
                   val_dst.dtype, 0, 1);
      store_integers(&indices[j], idx_dst.partition(p) + index_pattern.element_offset(column),
                     idx_dst.dtype, 0, 1);
    }
  }
}

/// Documented: 4 n + K cycles.
Demand demand(const Draft& draft, const Architecture&) {
  Demand demand;
  demand.add(
      {.unit = Unit::kElementwise,
       .rate = RateClass::kGpSimdStep,
       .strided = is_strided(draft.operand(kSrc)),
       .elements = 4 * draft.attribute(kN).integer() + draft.operand(kValDst).free_elements()});
  return demand;
}

}  // namespace

Draft Topk::draft() const { return draft_of(kTopk, *this); }

const InstructionType kTopk = {kName, kOperands, kAttributes, fixed_engine<EngineKind::kGpSimd>,
                               check, run,       demand};

}  // namespace neuron_sim
