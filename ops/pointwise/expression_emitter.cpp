#include "ops/pointwise/expression_emitter.h"

#include "device/base/errors.h"
#include "device/isa/activation/activation.h"
#include "device/isa/elementwise/scalar_tensor_tensor.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/movement/tensor_copy_predicated.h"

namespace neuron_sim {
void ExpressionSlots::reserve(int count) {
  while (static_cast<int>(rings_.size()) < count) {
    rings_.push_back(builder_.sbuf(text("value", rings_.size()), {partitions_, elements_},
                                   Dtype::kFloat32, kRing));
  }
}

int64_t ExpressionEmitter::bytes_per_element(const ExpressionPlan& plan) {
  return int64_t{4} * ExpressionSlots::kRing * (plan.slots() + plan.scratch());
}

ExpressionEmitter::ExpressionEmitter(Builder& builder, const Expression& expression,
                                     int64_t partitions, int64_t elements)
    : ExpressionEmitter(builder, expression,
                        std::make_shared<ExpressionSlots>(builder, partitions, elements)) {}

ExpressionEmitter::ExpressionEmitter(Builder& builder, const Expression& expression,
                                     std::shared_ptr<ExpressionSlots> slots)
    : builder_(builder),
      plan_(expression, builder.architecture().features),
      slots_(std::move(slots)) {
  slots_->reserve(plan_.slots() + plan_.scratch());
  rows_ = slots_->partitions();
  set_constants();
}

ExpressionEmitter::ExpressionEmitter(const ExpressionEmitter& other, ExpressionPlan plan)
    : builder_(other.builder_),
      plan_(std::move(plan)),
      slots_(other.slots_),
      constants_(other.constants_) {}

ExpressionEmitter ExpressionEmitter::with_partition_inputs(
    std::vector<bool> partition_inputs) const {
  ExpressionPlan plan(plan_.expression(), builder_.architecture().features,
                      std::move(partition_inputs));
  const bool fits = plan.slots() + plan.scratch() <= plan_.slots() + plan_.scratch();
  return {*this, fits ? std::move(plan) : plan_};
}

void ExpressionEmitter::set_constants() {
  const int count = static_cast<int>(plan_.expression().steps().size());
  for (int i = 0; i < count; ++i) {
    if (!plan_.needs_tile(i)) continue;
    const Dtype dtype = in_integers() ? Dtype::kInt32 : Dtype::kFloat32;
    const View tile = builder_.sbuf(text("constant", i), {rows_, 1}, dtype);
    builder_.emit(Memset{.dst = tile, .value = plan_.at(i).constant});
    constants_.emplace(i, tile);
  }
}

View ExpressionEmitter::cut(const View& ring) const {
  return ring.turn(turn_).slice(0, 0, rows_).slice(1, 0, columns_);
}

View ExpressionEmitter::slot(int step) const {
  return cut(slots_->ring(plan_.slot(step), in_integers() ? Dtype::kInt32 : Dtype::kFloat32));
}

View ExpressionEmitter::constant(int step) const {
  return constants_.at(step).slice(0, 0, rows_).broadcast(1, columns_);
}

/// [P, 1] of a value per partition; absent for -1.
View ExpressionEmitter::number(int step) const {
  if (step < 0) return View();
  View view = value(step);
  for (int d = 1; d < view.rank(); ++d) view = view.slice(d, 0, 1);
  return view.flatten();
}

View ExpressionEmitter::value(int step) const {
  if (plan_.is_constant(step)) return constant(step);
  if (plan_.is_input(step)) return (*inputs_)[static_cast<size_t>(plan_.at(step).input)];
  return slot(step);
}

View ExpressionEmitter::scratch() {
  require(next_scratch_ < plan_.scratch(), "a step has the scratch slots it was planned with");
  return cut(slots_->ring(plan_.slots() + next_scratch_++,
                          in_integers() ? Dtype::kInt32 : Dtype::kFloat32));
}

View ExpressionEmitter::widened(int step) {
  View source = value(step);
  const Dtype dtype = in_integers() ? Dtype::kInt32 : Dtype::kFloat32;
  if (source.dtype() == dtype) return source;
  View wide = scratch();
  builder_.emit(TensorCopy{.dst = wide, .src = source});
  return wide;
}

/// tensor_copy_predicated takes unsigned integers.
View ExpressionEmitter::predicate(int step) {
  const View source = value(step);
  if (source.dtype() == Dtype::kBool) return source.reinterpret(Dtype::kUint8);
  if (in_integers()) return widened(step).reinterpret(Dtype::kUint32);
  View flags = scratch().reinterpret(Dtype::kUint32);
  builder_.emit(TensorScalar{.dst = flags, .data = source, .op0 = AluOp::kNotEqual});
  return flags;
}

void ExpressionEmitter::emit(const std::vector<View>& inputs, const std::vector<View>& results,
                             const Affine& turn) {
  inputs_ = &inputs;
  turn_ = turn;
  rows_ = results.front().partitions();
  columns_ = results.front().free_elements();
  const int count = static_cast<int>(plan_.expression().steps().size());
  for (int i = 0; i < count; ++i) {
    for (size_t r = 0; r < results.size() && plan_.is_direct(i); ++r) {
      if (plan_.expression().results()[r] == i) emit_step(i, results[r]);
    }
    if (plan_.slot(i) >= 0) emit_step(i, slot(i));
  }
  emit_results(results);
}

void ExpressionEmitter::emit_step(int step, const View& dst) {
  next_scratch_ = 0;
  const ExpressionStep& s = plan_.at(step);
  switch (s.kind) {
    case ExpressionKind::kAlu: return in_integers() ? emit_integers(s, dst) : emit_alu(step, dst);
    case ExpressionKind::kActivation: return emit_activation(s.activation, s.a, dst);
    case ExpressionKind::kSelect: return emit_select(s, dst);
    case ExpressionKind::kRound: return emit_round(s, dst);
    case ExpressionKind::kCopySign: return emit_copy_sign(s, dst);
    default: require(false, "a step with a slot has an instruction");
  }
}

void ExpressionEmitter::emit_alu(int step, const View& dst) {
  const ExpressionStep& s = plan_.at(step);
  const int number = plan_.number_of(step);
  if (plan_.is_relu(step)) {
    return emit_activation(Activation::kRelu, number == s.a ? s.b : s.a, dst);
  }
  if (!is_unary(s.alu) && number < 0) return emit_tiles(s, dst);
  const ExpressionChain chain = plan_.chain(step);
  if (!chain.links.empty()) return emit_links(chain, dst);
  // Power and rsqrt, which Vector does not have.
  const bool reversed = number >= 0 && number == s.a;
  const bool in_tile = number >= 0 && plan_.is_partition_value(number);
  builder_.emit(TensorScalar{.dst = dst,
                             .data = value(reversed ? s.b : s.a),
                             .operand0 = this->number(in_tile ? number : -1),
                             .op0 = s.alu,
                             .constant0 = number < 0 ? 0 : plan_.at(number).constant,
                             .reverse0 = reversed});
}

void ExpressionEmitter::emit_links(const ExpressionChain& chain, const View& dst) {
  const ExpressionLink& first = chain.links.front();
  TensorScalar instruction{.dst = dst,
                           .data = value(chain.base),
                           .operand0 = number(first.tile),
                           .op0 = first.op,
                           .constant0 = first.constant,
                           .reverse0 = first.reversed,
                           .engine = EngineKind::kVector};
  if (chain.links.size() == 2) {
    const ExpressionLink& second = chain.links.back();
    instruction.operand1 = number(second.tile);
    instruction.op1 = second.op;
    instruction.constant1 = second.constant;
    instruction.reverse1 = second.reversed;
  }
  builder_.emit(instruction);
}

void ExpressionEmitter::emit_tiles(const ExpressionStep& s, const View& dst) {
  const bool left = plan_.is_absorbed(s.a), right = plan_.is_absorbed(s.b);
  if (!left && !right) {
    builder_.emit(TensorTensor{.dst = dst, .data1 = value(s.a), .data2 = value(s.b), .op = s.alu});
    return;
  }
  const ExpressionChain chain = plan_.chain(left ? s.a : s.b);
  const ExpressionLink& link = chain.links.front();
  builder_.emit(ScalarTensorTensor{.dst = dst,
                                   .data = value(chain.base),
                                   .operand0 = number(link.tile),
                                   .operand1 = value(left ? s.b : s.a),
                                   .op0 = link.op,
                                   .constant0 = link.constant,
                                   .reverse0 = link.reversed,
                                   .op1 = s.alu,
                                   .reverse1 = !left});
}

void ExpressionEmitter::emit_integers(const ExpressionStep& s, const View& dst) {
  const View a = widened(s.a);
  if (is_unary(s.alu)) {
    builder_.emit(TensorScalar{.dst = dst, .data = a, .op0 = s.alu});
    return;
  }
  const View b = widened(s.b);
  builder_.emit(TensorTensor{.dst = dst, .data1 = a, .data2 = b, .op = s.alu});
}

void ExpressionEmitter::emit_activation(Activation function, int argument, const View& dst) {
  ExpressionChain chain{argument, {}};
  if (plan_.is_absorbed(argument)) chain = plan_.chain(argument);
  Activate instruction{.dst = dst, .data = value(chain.base), .op = function};
  for (const ExpressionLink& link : chain.links) {
    const bool scales = link.op == AluOp::kMultiply;
    if (link.tile >= 0) {
      (scales ? instruction.scale_tile : instruction.bias_tile) = number(link.tile);
    } else {
      (scales ? instruction.scale : instruction.bias) = link.constant;
    }
  }
  builder_.emit(instruction);
}

void ExpressionEmitter::emit_select(const ExpressionStep& s, const View& dst) {
  const View chosen = predicate(s.a);
  const View source = widened(s.b);
  builder_.emit(TensorCopy{.dst = dst, .src = value(s.c)});
  builder_.emit(TensorCopyPredicated{.dst = dst, .src = source, .predicate = chosen});
}

void ExpressionEmitter::emit_round(const ExpressionStep& s, const View& dst) {
  const View whole = dst.reinterpret(Dtype::kInt32);
  builder_.emit(TensorCopy{.dst = whole, .src = value(s.a)});
  builder_.emit(TensorCopy{.dst = dst, .src = whole});
}

void ExpressionEmitter::emit_copy_sign(const ExpressionStep& s, const View& dst) {
  constexpr double kSignBit = 0x80000000;
  const View magnitude = widened(s.a).reinterpret(Dtype::kUint32);
  const View sign = scratch().reinterpret(Dtype::kUint32);
  builder_.emit(TensorScalar{.dst = sign,
                             .data = widened(s.b).reinterpret(Dtype::kUint32),
                             .op0 = AluOp::kBitwiseAnd,
                             .constant0 = kSignBit});
  builder_.emit(TensorTensor{.dst = dst.reinterpret(Dtype::kUint32),
                             .data1 = magnitude,
                             .data2 = sign,
                             .op = AluOp::kBitwiseOr});
}

void ExpressionEmitter::emit_results(const std::vector<View>& results) {
  const std::vector<int>& steps = plan_.expression().results();
  for (size_t i = 0; i < results.size(); ++i) {
    if (plan_.is_direct(steps[i])) continue;
    const View source = value(steps[i]);
    const Dtype from = source.dtype(), to = results[i].dtype();
    const bool wraps = in_integers() && neuron_sim::is_integer(to) && from != Dtype::kBool &&
                       to != Dtype::kBool && from != to && itemsize(to) <= itemsize(from);
    if (wraps) {
      emit_low_bits(source, results[i]);
    } else {
      builder_.emit(TensorCopy{.dst = results[i], .src = source});
    }
  }
}

/// Torch's integers wrap, a copy's saturate.
void ExpressionEmitter::emit_low_bits(View source, const View& dst) {
  const int64_t size = itemsize(source.dtype()), ratio = size / itemsize(dst.dtype());
  if (ratio > 1 && (source.rank() != 2 || source.dimension(1).stride != size)) {
    next_scratch_ = 0;
    const View dense = scratch().reinterpret(source.dtype()).slice(1, 0, columns_);
    builder_.emit(TensorCopy{.dst = dense, .src = source});
    source = dense;
  }
  source = source.reinterpret(dst.dtype());
  if (ratio > 1) source = source.slice(1, 0, columns_, ratio);
  builder_.emit(TensorCopy{.dst = dst, .src = source});
}

}  // namespace neuron_sim
