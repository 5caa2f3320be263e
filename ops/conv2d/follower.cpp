#include "ops/conv2d/follower.h"

#include <algorithm>

#include "device/base/errors.h"
#include "device/isa/tensor/nc_transpose.h"
#include "ops/blocks/tiles.h"
#include "ops/pointwise/substitution.h"
#include "ops/pointwise/tile_loader.h"

namespace neuron_sim {
namespace {

std::vector<bool> partition_inputs(const std::vector<bool>& per_filter) {
  std::vector<bool> inputs{false};  // the sums
  inputs.insert(inputs.end(), per_filter.begin(), per_filter.end());
  return inputs;
}

}  // namespace

bool Conv2dFollowerOperands::is_per_filter(size_t i) const {
  const HbmTensor& tensor = tensors[i];
  for (const size_t d : {size_t{0}, size_t{2}, size_t{3}}) {
    if (tensor.shape[d] > 1 && tensor.strides[d] != 0) return false;
  }
  return tensor.dtype() == Dtype::kFloat32;
}

std::vector<bool> Conv2dFollowerOperands::per_filter() const {
  std::vector<bool> flags;
  for (size_t i = 0; i < tensors.size(); ++i) flags.push_back(is_per_filter(i));
  return flags;
}

int64_t Conv2dFollowerOperands::tile_bytes() const {
  int64_t bytes = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!is_per_filter(i)) bytes += itemsize(tensors[i].dtype());
  }
  return bytes;
}

Expression with_filter_values_last(const Expression& expression,
                                   const std::vector<bool>& per_filter) {
  const std::vector<ExpressionStep>& steps = expression.steps();
  const auto at = [&](int step) { return steps[static_cast<size_t>(step)]; };
  const auto is_filter_value = [&](int step) {
    const auto operand = static_cast<size_t>(at(step).input - 1);
    return at(step).kind == ExpressionKind::kInput && operand < per_filter.size() &&
           per_filter[operand];
  };
  const auto is_sum = [&](int step) {
    return at(step).kind == ExpressionKind::kAlu && at(step).alu == AluOp::kAdd;
  };
  Expression result;
  std::vector<ElementValue> values;
  const auto value = [&](int step) { return values[static_cast<size_t>(step)]; };
  for (int i = 0; i < static_cast<int>(steps.size()); ++i) {
    const ExpressionStep& step = at(i);
    // The sum with a value per filter, and what is added to it.
    const bool swapped = is_sum(i) && !is_sum(step.a);
    const int sum = swapped ? step.b : step.a, other = swapped ? step.a : step.b;
    const bool moves = is_sum(i) && is_sum(sum) && !is_filter_value(other) &&
                       at(other).kind != ExpressionKind::kConstant &&
                       is_filter_value(at(sum).a) != is_filter_value(at(sum).b);
    if (moves) {
      const bool first = is_filter_value(at(sum).a);
      const int base = first ? at(sum).b : at(sum).a, last = first ? at(sum).a : at(sum).b;
      values.push_back(value(base) + value(other) + value(last));
    } else {
      values.push_back(repeated(result, step, values));
    }
  }
  for (const int step : expression.results()) result.add_result(value(step));
  return result;
}

Conv2dFollower::Conv2dFollower(Builder& builder, const Conv2dPlan& plan,
                               const Expression& expression, const Conv2dFollowerOperands& operands)
    : builder_(builder),
      plan_(plan),
      emitter_(ExpressionEmitter(builder, expression, plan.filter_block,
                                 plan.bank_images * plan.bank_rows * plan.bank_columns)
                   .with_partition_inputs(partition_inputs(operands.per_filter()))),
      per_filter_(operands.per_filter()) {
  const int64_t pixels = plan.band_images * plan.band_rows() * plan.panel_columns();
  for (size_t i = 0; i < per_filter_.size(); ++i) {
    if (per_filter_[i]) {
      tiles_.emplace_back();
      continue;
    }
    tiles_.push_back(builder.sbuf(text("follower_operand", i), {plan.filter_block, pixels},
                                  operands.tensors[i].dtype(), kDoubleBuffer));
  }
  if (plan.shape.filter_values == 0) return;
  filter_values_ = builder.sbuf(
      "filter_values", {plan.filter_block, plan.shape.filter_values * plan.filter_blocks()},
      Dtype::kFloat32, static_cast<int>(plan.weight_sets));
  filter_rows_ = builder.sbuf("filter_rows", {builder.limits().vector_transpose, plan.filter_block},
                              Dtype::kFloat32, kDoubleBuffer);
}

/// A vector would take a descriptor for each of its elements to lie across partitions: it is loaded
/// in rows of a filter block, which Vector transposes bit by bit.
void Conv2dFollower::load_filters(const std::vector<View>& operands, const Conv2dPass& pass) {
  std::vector<View> values;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!per_filter_[i]) continue;
    values.push_back(
        operands[i].select(3, 0).select(2, 0).select(1, 0).slice(0, pass.first, pass.count));
  }
  if (values.empty()) return;
  const int64_t edge = builder_.limits().vector_transpose;
  const int64_t total = static_cast<int64_t>(values.size()) * plan_.filter_blocks();
  const int64_t filters = std::min(plan_.filter_block, pass.count);
  for (int64_t first = 0; first < total; first += edge) {
    const int64_t count = std::min(edge, total - first);
    const View rows = filter_rows_.turn(first / edge);
    load_rows(rows, first, count, values);
    for (int64_t filter = 0; filter < filters; filter += edge) {
      const int64_t size = std::min(edge, filters - filter);
      builder_.emit(NcTranspose{
          .dst = filter_values_.turn(pass.set).slice(0, filter, size).slice(1, first, count),
          .data = rows.slice(0, 0, count).slice(1, filter, size),
          .engine = EngineKind::kVector});
    }
  }
}

/// Rows [first, first + count) of all filter blocks of all values, from partition 0 on.
void Conv2dFollower::load_rows(const View& rows, int64_t first, int64_t count,
                               const std::vector<View>& values) const {
  const int64_t blocks = plan_.filter_blocks(), size = plan_.filter_block;
  for (int64_t row = first; row < first + count;) {
    const View& vector = values[static_cast<size_t>(row / blocks)];
    const int64_t block = row % blocks;
    const int64_t full =
        std::min({vector.size(0) / size - block, blocks - block, first + count - row});
    if (full > 0) {
      load(builder_, rows.slice(0, row - first, full),
           vector.slice(0, block * size, full * size).split(0, full, size));
      row += full;
      continue;
    }
    const int64_t rest = vector.size(0) - block * size;
    if (rest > 0) {
      load(builder_, rows.slice(0, row - first, 1).slice(1, 0, rest),
           vector.slice(0, block * size, rest).expand(0));
    }
    ++row;
  }
}

void Conv2dFollower::begin_block(const std::vector<View>& operands, const Conv2dPass& pass,
                                 const Affine& first, int64_t filters, const Affine& number,
                                 const Conv2dBand& band, const Affine& index) {
  inputs_.clear();
  int64_t column = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (per_filter_[i]) {
      inputs_.push_back(filter_values_.turn(pass.set)
                            .slice(0, 0, filters)
                            .slice(1, number + column * plan_.filter_blocks(), 1));
      ++column;
      continue;
    }
    const View source = operands[i]
                            .slice(0, first, filters)
                            .slice(1, band.image, band.images)
                            .slice(2, band.row, band.rows)
                            .slice(3, band.column, band.columns);
    inputs_.push_back(load_repeating(builder_, tiles_[i], source, index));
  }
}

void Conv2dFollower::evacuate(const View& psum, const Part& part, const std::vector<View>& targets,
                              const Affine& turn) {
  std::vector<View> inputs{psum};
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (per_filter_[i]) {
      inputs.push_back(inputs_[i].broadcast(1, psum.free_elements()));
    } else {
      inputs.push_back(inputs_[i]
                           .slice(1, part.image, part.images)
                           .slice(2, part.row, part.rows)
                           .slice(3, part.column, part.columns));
    }
  }
  emitter_.emit(inputs, targets, turn);
}

}  // namespace neuron_sim
