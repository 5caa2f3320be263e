#include "ops/pointwise/expression_plan.h"

#include <algorithm>
#include <utility>

namespace neuron_sim {
namespace {

constexpr int kNever = 1 << 30;

}  // namespace

ExpressionPlan::ExpressionPlan(const Expression& expression, const Features& features,
                               std::vector<bool> partition_inputs)
    : expression_(expression),
      features_(features),
      partition_inputs_(std::move(partition_inputs)),
      uses_(expression.steps().size(), 0),
      absorbed_(expression.steps().size(), false),
      relu_(expression.steps().size(), false),
      in_tile_(expression.steps().size(), false),
      direct_(expression.steps().size(), false),
      slot_(expression.steps().size(), -1) {
  count_uses();
  absorb();
  find_constant_tiles();
  find_direct_results();
  assign_slots();
}

void ExpressionPlan::count_uses() {
  const int count = static_cast<int>(uses_.size());
  for (const int result : expression_.results()) ++uses_[static_cast<size_t>(result)];
  for (int i = count - 1; i >= 0; --i) {
    if (uses_[static_cast<size_t>(i)] == 0) {
      absorbed_[static_cast<size_t>(i)] = true;  // nothing needs it
      continue;
    }
    for (const int operand : {at(i).a, at(i).b, at(i).c}) {
      if (operand >= 0) ++uses_[static_cast<size_t>(operand)];
    }
  }
}

int ExpressionPlan::number_of(int step) const {
  const ExpressionStep& s = at(step);
  if (s.kind != ExpressionKind::kAlu || is_unary(s.alu)) return -1;
  if (is_constant(s.a) != is_constant(s.b)) return is_constant(s.a) ? s.a : s.b;
  if (is_bitwise(s.alu) || is_partition_value(s.a) == is_partition_value(s.b)) return -1;
  return is_partition_value(s.a) ? s.a : s.b;
}

bool ExpressionPlan::is_link(int step) const {
  const ExpressionStep& s = at(step);
  if (s.kind != ExpressionKind::kAlu || !is_vector_operator(s.alu) || is_bitwise(s.alu))
    return false;
  if (is_relu(step)) return false;
  return is_unary(s.alu) ? !is_constant(s.a) : number_of(step) >= 0;
}

int ExpressionPlan::links_of(int step) const { return static_cast<int>(chain(step).links.size()); }

/// f(x * number + number), f(x * number), f(x + number).
bool ExpressionPlan::fits_activation(int step) const {
  const ExpressionChain links = chain(step);
  const size_t count = links.links.size();
  if (count == 0 || count > 2) return false;
  for (size_t i = 0; i < count; ++i) {
    const ExpressionLink& link = links.links[i];
    const bool product = link.op == AluOp::kMultiply && i == 0;
    const bool biased = link.tile >= 0 || features_.scalar_constant_bias;
    const bool sum = link.op == AluOp::kAdd && i + 1 == count && biased;
    if (!product && !sum) return false;
  }
  return true;
}

bool ExpressionPlan::absorbs(const ExpressionStep& user, int operand) const {
  if (!is_link(operand) || uses_[static_cast<size_t>(operand)] != 1) return false;
  if (user.kind == ExpressionKind::kActivation) {
    return user.activation != Activation::kReciprocal && fits_activation(operand);
  }
  if (user.kind != ExpressionKind::kAlu || links_of(operand) != 1) return false;
  return is_vector_operator(user.alu) && !is_bitwise(user.alu);
}

/// max(x * number + number, 0) with a value per partition among the numbers: Vector would take two
/// instructions for three operators, and it has the work on two tiles.
bool ExpressionPlan::absorbs_as_relu(const ExpressionStep& user, int operand) const {
  if (user.kind != ExpressionKind::kAlu || user.alu != AluOp::kMaximum) return false;
  const int other = operand == user.a ? user.b : user.a;
  if (!is_constant(other) || at(other).constant != 0) return false;
  if (!is_link(operand) || uses_[static_cast<size_t>(operand)] != 1) return false;
  const ExpressionChain links = chain(operand);
  return fits_activation(operand) &&
         std::any_of(links.links.begin(), links.links.end(),
                     [](const ExpressionLink& link) { return link.tile >= 0; });
}

void ExpressionPlan::absorb() {
  if (expression_.domain() == Domain::kInteger) return;
  for (size_t i = 0; i < uses_.size(); ++i) {
    if (uses_[i] == 0) continue;
    const ExpressionStep& user = at(static_cast<int>(i));
    for (const int operand : {user.a, user.b}) {
      if (operand < 0) continue;
      relu_[i] = absorbs_as_relu(user, operand);
      if (!relu_[i] && !absorbs(user, operand)) continue;
      absorbed_[static_cast<size_t>(operand)] = true;
      break;  // an instruction takes the chain of one operand
    }
  }
}

ExpressionChain ExpressionPlan::chain(int step) const {
  const ExpressionStep& s = at(step);
  if (!is_link(step)) return {step, {}};
  const int number = number_of(step);
  const bool reversed = number >= 0 && number == s.a;
  const int operand = reversed ? s.b : s.a;
  ExpressionChain result = is_absorbed(operand) ? chain(operand) : ExpressionChain{operand, {}};
  const bool in_tile = number >= 0 && !is_constant(number);
  const double constant = number >= 0 && !in_tile ? at(number).constant : 0;
  result.links.push_back({s.alu, constant, reversed, in_tile ? number : -1});
  return result;
}

void ExpressionPlan::collect_operands(int step, std::vector<int>& inputs) const {
  for (const int operand : {at(step).a, at(step).b, at(step).c}) {
    if (operand < 0 || is_constant(operand)) continue;
    if (is_absorbed(operand)) {
      collect_operands(operand, inputs);
    } else {
      inputs.push_back(operand);
    }
  }
}

std::vector<int> ExpressionPlan::operands(int step) const {
  std::vector<int> inputs;
  collect_operands(step, inputs);
  return inputs;
}

void ExpressionPlan::find_constant_tiles() {
  const auto read = [&](int step) {
    if (step >= 0 && is_constant(step)) in_tile_[static_cast<size_t>(step)] = true;
  };
  for (const int result : expression_.results()) read(result);
  for (int i = 0; i < static_cast<int>(uses_.size()); ++i) {
    const ExpressionStep& s = at(i);
    if (uses_[static_cast<size_t>(i)] == 0) continue;
    const bool in_instruction = s.kind == ExpressionKind::kAlu &&
                                expression_.domain() == Domain::kFloat &&
                                (is_unary(s.alu) || is_constant(s.a) != is_constant(s.b));
    if (in_instruction) continue;
    for (const int operand : {s.a, s.b, s.c}) read(operand);
  }
}

void ExpressionPlan::find_direct_results() {
  if (expression_.domain() == Domain::kInteger) return;
  const std::vector<int>& results = expression_.results();
  for (const int step : results) {
    const ExpressionKind kind = at(step).kind;
    const auto users = std::count(results.begin(), results.end(), step);
    if (uses_[static_cast<size_t>(step)] != users) continue;
    if (kind != ExpressionKind::kAlu && kind != ExpressionKind::kActivation) continue;
    direct_[static_cast<size_t>(step)] = true;
  }
}

void ExpressionPlan::assign_slots() {
  const int count = static_cast<int>(uses_.size());
  std::vector<int> last(uses_.size(), -1);
  for (int i = 0; i < count; ++i) {
    if (is_absorbed(i)) continue;
    for (const int operand : operands(i)) last[static_cast<size_t>(operand)] = i;
  }
  for (const int result : expression_.results()) last[static_cast<size_t>(result)] = kNever;
  std::vector<int> free_at;  // of each slot: the step after which it is free
  for (int i = 0; i < count; ++i) {
    if (is_absorbed(i) || is_constant(i) || is_input(i) || is_direct(i)) continue;
    // A selection reads its operands after it starts writing, so it shares no slot with them.
    const bool in_place = at(i).kind != ExpressionKind::kSelect;
    const auto free = std::find_if(free_at.begin(), free_at.end(),
                                   [&](int end) { return in_place ? end <= i : end < i; });
    const size_t slot = static_cast<size_t>(free - free_at.begin());
    if (free == free_at.end()) free_at.push_back(0);
    free_at[slot] = last[static_cast<size_t>(i)];
    slot_[static_cast<size_t>(i)] = static_cast<int>(slot);
  }
  slots_ = static_cast<int>(free_at.size());
  assign_scratch();
}

void ExpressionPlan::assign_scratch() {
  const int count = static_cast<int>(uses_.size());
  for (int i = 0; i < count; ++i) {
    if (is_absorbed(i)) continue;
    const ExpressionKind kind = at(i).kind;
    const bool widens = kind == ExpressionKind::kSelect ||
                        (kind == ExpressionKind::kAlu && expression_.domain() == Domain::kInteger);
    if (widens) scratch_ = std::max(scratch_, 2);
    if (kind == ExpressionKind::kCopySign) scratch_ = 3;
  }
  // The low bits of a result that is an operand or a constant.
  const bool bare = std::any_of(expression_.results().begin(), expression_.results().end(),
                                [&](int result) { return slot(result) < 0; });
  if (bare && expression_.domain() == Domain::kInteger) scratch_ = std::max(scratch_, 1);
}

}  // namespace neuron_sim
