#include "ops/rows/row_results.h"

#include "ops/pointwise/compose.h"

namespace neuron_sim {

size_t input_of(const Expression& operand) {
  const auto step = static_cast<size_t>(operand.results().front());
  return static_cast<size_t>(operand.steps()[step].input);
}

RowResults classify_results(const RowProgram& program, size_t operands,
                            const std::vector<bool>& single, const std::vector<Dtype>& dtypes,
                            bool row_per_partition) {
  RowResults found;
  const size_t first_number = operands + program.prepared.size();
  const auto kind_of = [&](size_t i) {
    const Expression& result = program.results[i];
    if (single[i]) return RowResultKind::kSingle;
    if (result.is_operand()) {
      const size_t input = input_of(result);
      const bool prepared = input >= operands && input < first_number;
      return prepared && dtypes[i] == Dtype::kFloat32 ? RowResultKind::kPrepared
                                                      : RowResultKind::kOther;
    }
    const auto row = row_per_partition ? normalised_row(result) : std::nullopt;
    const bool by_numbers = row && row->shift.value_or(first_number) >= first_number &&
                            row->factor >= first_number && row->value < first_number;
    if (!by_numbers || (found.normalised && !(*found.normalised == *row))) {
      return RowResultKind::kOther;
    }
    found.normalised = row;
    return RowResultKind::kNormalised;
  };
  std::vector<const Expression*> others;
  for (size_t i = 0; i < program.results.size(); ++i) {
    found.kinds.push_back(kind_of(i));
    if (found.kinds.back() == RowResultKind::kOther) others.push_back(&program.results[i]);
  }
  found.others = together(others, first_number + program.stages.size());
  return found;
}

}  // namespace neuron_sim
