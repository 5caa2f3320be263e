#pragma once
// Emits the steps of an expression for tiles on chip.

#include <map>
#include <memory>
#include <vector>

#include "device/builder/builder.h"
#include "ops/pointwise/expression_plan.h"

namespace neuron_sim {

/// Rings of tiles [partitions, elements] of four bytes per element for values that live within one
/// expression. Emitters that never run at the same time share them.
class ExpressionSlots {
 public:
  ExpressionSlots(Builder& builder, int64_t partitions, int64_t elements)
      : builder_(builder), partitions_(partitions), elements_(elements) {}
  static constexpr int kRing = 2;

  /// Makes sure that there are `count`; call it outside the loops that use them.
  void reserve(int count);
  View ring(int index, Dtype dtype) const {
    return rings_[static_cast<size_t>(index)].reinterpret(dtype);
  }
  int64_t partitions() const { return partitions_; }

 private:
  Builder& builder_;
  int64_t partitions_, elements_;
  std::vector<View> rings_;
};

/// Emits one expression for tile after tile. Constants that need a tile are set once, when the
/// emitter is made; intermediate values lie in slots.
class ExpressionEmitter {
 public:
  /// Tiles of at most [partitions, elements].
  ExpressionEmitter(Builder& builder, const Expression& expression, int64_t partitions,
                    int64_t elements);
  /// Tiles at most as large as those of `slots`.
  ExpressionEmitter(Builder& builder, const Expression& expression,
                    std::shared_ptr<ExpressionSlots> slots);
  /// An emitter for which some inputs have one fp32 value per partition (ExpressionPlan): fewer
  /// instructions, with the constants and slots of this emitter, also inside of loops.
  ExpressionEmitter with_partition_inputs(std::vector<bool> partition_inputs) const;
  /// Bytes per partition and element that an emitter takes for `plan`.
  static int64_t bytes_per_element(const ExpressionPlan& plan);

  /// inputs[i]: operand i, [P, f...] in SBUF or PSUM of any dtype, strides of 0 included;
  /// results[i]: [P, F] in SBUF, dense, whose dtype the result is rounded to (kInteger: its low
  /// bits). P * F agree. `turn` counts calls.
  void emit(const std::vector<View>& inputs, const std::vector<View>& results, const Affine& turn);

 private:
  ExpressionEmitter(const ExpressionEmitter& other, ExpressionPlan plan);
  bool in_integers() const { return plan_.expression().domain() == Domain::kInteger; }
  void set_constants();
  View cut(const View& ring) const;
  View slot(int step) const;
  View value(int step) const;
  View constant(int step) const;
  View number(int step) const;
  View scratch();
  /// The value in the dtype of the domain: needed by GpSimd's integers and selections.
  View widened(int step);
  View predicate(int step);
  void emit_step(int step, const View& dst);
  void emit_alu(int step, const View& dst);
  void emit_tiles(const ExpressionStep& step, const View& dst);
  void emit_links(const ExpressionChain& chain, const View& dst);
  void emit_integers(const ExpressionStep& step, const View& dst);
  void emit_activation(Activation function, int argument, const View& dst);
  void emit_select(const ExpressionStep& step, const View& dst);
  void emit_round(const ExpressionStep& step, const View& dst);
  void emit_copy_sign(const ExpressionStep& step, const View& dst);
  void emit_results(const std::vector<View>& results);
  void emit_low_bits(View source, const View& dst);

  Builder& builder_;
  const ExpressionPlan plan_;
  std::shared_ptr<ExpressionSlots> slots_;
  std::map<int, View> constants_;  ///< [partitions, 1]
  // The tile being emitted:
  const std::vector<View>* inputs_ = nullptr;
  int64_t rows_ = 0, columns_ = 0;
  int next_scratch_ = 0;
  Affine turn_ = 0;
};

}  // namespace neuron_sim
