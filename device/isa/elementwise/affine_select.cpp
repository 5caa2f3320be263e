#include "device/isa/elementwise/affine_select.h"

#include <algorithm>

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/elementwise.h"
#include "device/instruction/rows.h"
#include "device/numerics/alu.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kName = "affine_select";

using enum AffineSelect::OperandIndex;
using enum AffineSelect::AttributeIndex;
constexpr auto kOperands = operand_table<AffineSelect>();
constexpr auto kAttributes = attribute_table<AffineSelect>();

void check(const Draft& draft, const Architecture& architecture) {
  checks::engine(kName, draft.engine, {EngineKind::kGpSimd}, architecture);
  const View& dst = draft.operand(kDst);
  const View& on_true = draft.operand(kOnTrue);
  checks::source_and_dst(kName, "on_true_tile", on_true, dst, draft.engine, architecture);
  const auto comparison = draft.attribute(kComparison).as<AluOp>();
  if (comparison < AluOp::kEqual || comparison > AluOp::kLess) {
    fail(text("cmp_op '", name(comparison),
              "' of 'affine_select' is not supported; expected one of: equal, not_equal, "
              "greater_equal, greater, less_equal, less."));
  }
  AffinePattern(draft.attributes).check(kName, "dst", dst);
}

/// 1 where the element of a partition is taken from the tile, 0 where not.
void compare_row(const Instance& instance, int64_t partition, const std::vector<int64_t>& indices,
                 std::vector<int64_t>& taken) {
  const AffinePattern pattern(instance.attributes);
  const auto comparison = instance.attribute(kComparison).as<AluOp>();
  taken.resize(indices.size());
  const auto compare = [&](auto function) {
    for (size_t i = 0; i < indices.size(); ++i) {
      taken[i] = function(int64_t{pattern.value(partition, indices[i])}, int64_t{0});
    }
  };
  alu::with_integer_operator(comparison, compare);
}

/// Integers of one dtype, which fp32 might round.
void select_integers(const Instance& instance, int64_t partition,
                     const std::vector<int64_t>& taken) {
  const Access& dst = instance.operand(kDst);
  RowScratch& scratch = row_scratch();
  std::vector<int64_t>& row = scratch.second_integers;
  const int64_t* values = read_integer_row(instance.operand(kOnTrue), partition, row);
  std::byte stored[sizeof(int64_t)]{};
  const auto constant = static_cast<float>(instance.attribute(kOnFalse).real());
  int64_t on_false = 0;
  store_floats(&constant, stored, dst.dtype, 0, 1);
  load_integers(stored, dst.dtype, 0, &on_false, 1);
  for (size_t i = 0; i < taken.size(); ++i) row[i] = taken[i] != 0 ? values[i] : on_false;
  write_integer_row(dst, partition, row.data());
}

void select_floats(const Instance& instance, int64_t partition, const std::vector<int64_t>& taken) {
  const Access& dst = instance.operand(kDst);
  RowScratch& scratch = row_scratch();
  const float* values = read_row(instance.operand(kOnTrue), partition, scratch.first);
  float* result = row_target(dst, partition, scratch.result);
  const auto on_false = static_cast<float>(instance.attribute(kOnFalse).real());
  for (size_t i = 0; i < taken.size(); ++i) result[i] = taken[i] != 0 ? values[i] : on_false;
  write_row(dst, partition, result);
}

void run(const Instance& instance) {
  const Access& dst = instance.operand(kDst);
  const bool integers = is_integer(dst.dtype) && dst.dtype == instance.operand(kOnTrue).dtype;
  RowScratch& scratch = row_scratch();
  std::vector<int64_t>& indices = scratch.first_integers;
  std::vector<int64_t>& taken = scratch.result_integers;
  AffinePattern(instance.attributes).fill(indices);
  for (int64_t p = 0; p < dst.partitions; ++p) {
    compare_row(instance, p, indices, taken);
    integers ? select_integers(instance, p, taken) : select_floats(instance, p, taken);
  }
}

Demand demand(const Draft& draft, const Architecture&) {
  const View& dst = draft.operand(kDst);
  const View& on_true = draft.operand(kOnTrue);
  return elementwise::demand(RateClass::kGpSimdOneInput, on_true, {&dst, &on_true});
}

}  // namespace

Draft AffineSelect::draft() const {
  const auto numbers = AffinePattern::attributes(kName, pattern, offset, channel_multiplier);
  Draft draft = draft_of(kAffineSelect, *this);
  std::copy(numbers.begin(), numbers.end(), draft.attributes.begin());
  return draft;
}

constinit const InstructionType kAffineSelect = {
    kName, kOperands, kAttributes, fixed_engine<EngineKind::kGpSimd>, check, run, demand};

}  // namespace neuron_sim
