#pragma once
// Which steps of an expression share an instruction, and which slot holds each value.

#include <algorithm>
#include <vector>

#include "device/arch/architecture.h"
#include "ops/pointwise/expression.h"

namespace neuron_sim {

/// One operator with a number that an instruction applies in passing; unary ones have none.
struct ExpressionLink {
  AluOp op = AluOp::kNone;
  double constant = 0;
  bool reversed = false;  ///< number op value
  int tile = -1;          ///< step whose value of each partition is the number; -1: `constant`
};

/// The value of step `base` with the links applied in order.
struct ExpressionChain {
  int base = -1;
  std::vector<ExpressionLink> links;
};

/// Fused where the engines can: (x op number) op number is one tensor_scalar, (x op number) op tile
/// one scalar_tensor_tensor, f(x * number + number) one activation, also where f is a maximum with
/// zero. A number is a constant, or a value per partition. The values equal the unfused ones: the
/// engines round each operator to fp32 as well.
class ExpressionPlan {
 public:
  /// `partition_inputs`: the inputs (none after its end) that are fp32 and have one value for all
  /// elements of a partition.
  ExpressionPlan(const Expression& expression, const Features& features,
                 std::vector<bool> partition_inputs = {});

  const Expression& expression() const { return expression_; }
  const ExpressionStep& at(int step) const {
    return expression_.steps()[static_cast<size_t>(step)];
  }
  bool is_constant(int step) const { return at(step).kind == ExpressionKind::kConstant; }
  bool is_input(int step) const { return at(step).kind == ExpressionKind::kInput; }
  /// An input with one value per partition.
  bool is_partition_value(int step) const {
    const auto input = static_cast<size_t>(at(step).input);
    return is_input(step) && input < partition_inputs_.size() && partition_inputs_[input];
  }
  /// The operand of an operator on two that an instruction takes as a number; -1: neither.
  int number_of(int step) const;
  /// A maximum with zero that the Scalar engine computes with what it absorbs.
  bool is_relu(int step) const { return relu_[static_cast<size_t>(step)]; }
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
  /// Whether only results need the step: it is computed into each of them, without a slot.
  bool is_direct(int step) const { return direct_[static_cast<size_t>(step)]; }
  /// The value of `step` as a chain over one that is not absorbed.
  ExpressionChain chain(int step) const;

 private:
  void count_uses();
  void absorb();
  bool absorbs(const ExpressionStep& user, int operand) const;
  bool absorbs_as_relu(const ExpressionStep& user, int operand) const;
  bool is_link(int step) const;
  int links_of(int step) const;
  bool fits_activation(int step) const;
  void find_constant_tiles();
  void find_direct_results();
  void assign_slots();
  void assign_scratch();
  std::vector<int> operands(int step) const;
  void collect_operands(int step, std::vector<int>& inputs) const;

  const Expression expression_;
  const Features features_;
  const std::vector<bool> partition_inputs_;
  std::vector<int> uses_;
  std::vector<bool> absorbed_, relu_, in_tile_, direct_;
  std::vector<int> slot_;
  int slots_ = 0, scratch_ = 0;
};

}  // namespace neuron_sim
