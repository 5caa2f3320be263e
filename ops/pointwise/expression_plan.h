#pragma once
// Which steps of an expression share an instruction, and which slot holds each value.

#include <algorithm>
#include <vector>

#include "device/arch/architecture.h"
#include "ops/pointwise/expression.h"

namespace neuron_sim {

/// One operator with a constant that an instruction applies in passing; unary ones do not.
struct ExpressionLink {
  AluOp op = AluOp::kNone;
  double constant = 0;
  bool reversed = false;  ///< constant op value
};

/// The value of step `base` with the links applied in order.
struct ExpressionChain {
  int base = -1;
  std::vector<ExpressionLink> links;
};

/// Fused where the engines can: (x op constant) op constant is one tensor_scalar, (x op constant)
/// op tile one scalar_tensor_tensor, f(x * constant + constant) one activation. The values equal
/// the unfused ones: the engines round each operator to fp32 as well.
class ExpressionPlan {
 public:
  ExpressionPlan(const Expression& expression, const Features& features);

  const Expression& expression() const { return expression_; }
  const ExpressionStep& at(int step) const {
    return expression_.steps()[static_cast<size_t>(step)];
  }
  bool is_constant(int step) const { return at(step).kind == ExpressionKind::kConstant; }
  bool is_input(int step) const { return at(step).kind == ExpressionKind::kInput; }
  /// A constant that an instruction reads from a tile; others are part of the instruction.
  bool needs_tile(int step) const { return in_tile_[static_cast<size_t>(step)]; }
  /// Constants that need a tile.
  int constant_tiles() const {
    return static_cast<int>(std::count(in_tile_.begin(), in_tile_.end(), true));
  }
  /// Emitted as part of its only user, or never used.
  bool is_absorbed(int step) const { return absorbed_[static_cast<size_t>(step)]; }
  /// Slot of a value that has an instruction; -1 for inputs, constants and absorbed steps.
  int slot(int step) const { return slot_[static_cast<size_t>(step)]; }
  int slots() const { return slots_; }
  /// Further slots that one step needs for predicates, widened operands and low bits.
  int scratch() const { return scratch_; }
  /// The result that the step's instruction writes itself, without a slot; -1: no result.
  int direct_result(int step) const { return direct_[static_cast<size_t>(step)]; }
  /// The value of `step` as a chain over one that is not absorbed.
  ExpressionChain chain(int step) const;

 private:
  void count_uses();
  void absorb();
  bool absorbs(const ExpressionStep& user, int operand) const;
  bool is_link(int step) const;
  int links_of(int step) const;
  bool fits_activation(int step) const;
  void find_constant_tiles();
  void find_direct_results();
  void assign_slots();
  void assign_scratch();
  std::vector<int> operands(int step) const;
  void collect_operands(int step, std::vector<int>& found) const;

  const Expression expression_;
  const Features features_;
  std::vector<int> uses_;
  std::vector<bool> absorbed_, in_tile_;
  std::vector<int> slot_, direct_;
  int slots_ = 0, scratch_ = 0;
};

}  // namespace neuron_sim
