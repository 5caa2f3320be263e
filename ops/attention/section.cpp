#include "ops/attention/section.h"

#include <algorithm>
#include <limits>

#include "device/isa/activation/activation.h"
#include "device/isa/activation/activation_reduce.h"
#include "device/isa/elementwise/reciprocal.h"
#include "device/isa/elementwise/scalar_tensor_tensor.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/reduction/tensor_reduce.h"
#include "ops/blocks/contraction.h"
#include "ops/blocks/tiles.h"

namespace neuron_sim {
namespace {

// Transposes and products with v lag their scores by this many steps: the work in between hides
// the latency of the chain of scores, maximum, exponential and transpose.
constexpr int64_t kTurnLag = 2;
constexpr int64_t kValueLag = 3;
constexpr int kScoreBanks = 4;  // of PSUM, for scores

}  // namespace

AttentionSection::AttentionSection(Builder& builder, const AttentionTensors& tensors,
                                   const AttentionOptions& options, const AttentionUnits& units,
                                   const RowNumbers& numbers, const AttentionRowState& state,
                                   const CausalMask& mask)
    : builder_(builder),
      tensors_(tensors),
      options_(options),
      units_(units),
      numbers_(numbers),
      state_(state),
      mask_(mask),
      row_tile_(builder.limits().partitions),
      key_tile_(
          std::min(kAttentionScoreBanks * product_columns(builder.limits()), tensors.k.shape[3])),
      steps_(steps()),
      transposer_(builder, tensors.q.dtype(), kDoubleBuffer,
                  options.exact_transposes ? EngineKind::kAuto : EngineKind::kTensor),
      stacked_(units.members == 1 &&
               HeadOperand::lies_stacked(builder.limits(), tensors.q, units.heads()) &&
               HeadOperand::lies_stacked(builder.limits(), tensors.k, units.key_heads)),
      q_(operand(tensors.q, units.heads(), {.turned = true, .stacked = stacked_})),
      k_(operand(tensors.k, units.key_heads, {.turned = true, .stacked = stacked_})),
      v_(operand(tensors.v, units.key_heads, {.rows = true})) {
  const int64_t width = tensors.v.shape[4];
  const Dtype dtype = tensors.q.dtype();
  turned_ =
      blocked_tile(builder, "exponentials_turned", key_tile_, row_tile_, dtype, kDoubleBuffer);
  exponentials_ = tile("exponentials", key_tile_, dtype, kTurnLag + 1);
  if (tensors.bias) {
    bias_tile_ = tile("bias", key_tile_, tensors.bias->dtype(), kDoubleBuffer);
    biased_ = tile("scores", key_tile_, Dtype::kFloat32, kDoubleBuffer);
  }
  sums_ = tile("weighted_sums", width, Dtype::kFloat32, kDoubleBuffer);
  out_ = builder.sbuf("out_rows",
                      {row_tile_, units.heads(), ceiling(tensors.q.shape[3], row_tile_), width},
                      tensors.out.dtype(), kDoubleBuffer);
  largest_ = tile("largest_negated", 1, Dtype::kFloat32, kDoubleBuffer);
  part_ = tile("part", 1, Dtype::kFloat32, kTurnLag + 1);
  inverse_ = tile("inverse", 1, Dtype::kFloat32, kDoubleBuffer);
  decay_ = tile("decay", 1, Dtype::kFloat32, kValueLag + 1);
  const bool takes_one_bank = key_tile_ <= product_columns(builder.limits());
  scores_ = builder.psum("scores", {row_tile_, key_tile_}, Dtype::kFloat32,
                         takes_one_bank ? kScoreBanks : kScoreBanks / 2);
  weighted_ = builder.psum("weighted", {row_tile_, width}, Dtype::kFloat32, kDoubleBuffer);
}

void AttentionSection::emit(const Affine& image, const Affine& first_unit) {
  const auto start = [&](const HbmTensor& tensor, const Affine& unit) {
    return units_.start(tensor, image, first_unit + unit);
  };
  const auto at = [this](const Affine& unit, int64_t step) {
    number_ = unit * static_cast<int64_t>(steps_.size()) + step;
    unit_ = unit;
    return steps_[static_cast<size_t>(step)];
  };
  emit_pipeline(
      builder_,
      {.units = units_.units,
       .steps = static_cast<int64_t>(steps_.size()),
       .stages = {{0,
                   [&](const Affine& unit, int64_t i) {
                     const Step step = at(unit, i);
                     score(step, tensors_.bias ? start(*tensors_.bias, unit) : Affine(0));
                   }},
                  {kTurnLag,
                   [&](const Affine& unit, int64_t i) { turn_exponentials(at(unit, i)); }},
                  {0, [&](const Affine& unit, int64_t i) { exponentiate(at(unit, i)); }},
                  {kValueLag, [&](const Affine& unit, int64_t i) { add_values(at(unit, i)); }}},
       .load =
           [&](const Affine& unit) {
             q_.load(start(tensors_.q, unit), unit);
             k_.load(start(tensors_.k, unit), unit);
             v_.load(start(tensors_.v, unit), unit);
           },
       .prepare =
           [&](const Affine& unit) {
             q_.prepare(unit);
             k_.prepare(unit);
           },
       .finish =
           [&](const Affine& unit) {
             store_heads(builder_, out_.turn(unit), tensors_.out, start(tensors_.out, unit));
           }});
}

View AttentionSection::tile(const char* label, int64_t columns, Dtype dtype, int ring) {
  return builder_.sbuf(label, {row_tile_, columns}, dtype, ring);
}
HeadOperand AttentionSection::operand(const HbmTensor& tensor, int64_t heads,
                                      HeadOperand::Form form) {
  const int ring = pipeline_ring(units_.units, static_cast<int64_t>(steps_.size()), kValueLag);
  return {builder_, tensor, heads, form, ring, transposer_};
}

std::vector<AttentionSection::Step> AttentionSection::steps() const {
  std::vector<Step> result;
  const int64_t queries = tensors_.q.shape[3];
  for (int64_t head = 0; head < units_.heads(); ++head) {
    for (int64_t row = 0; row < queries; row += row_tile_) {
      const int64_t rows = std::min(row_tile_, queries - row);
      const int64_t keys = mask_.keys(row + rows, tensors_.k.shape[3]);
      const int64_t tiles = ceiling(keys, key_tile_);
      for (int64_t i = 0; i < tiles; ++i) {
        const int64_t key = i * key_tile_;
        result.push_back({head, row, rows, key, std::min(key_tile_, keys - key), i, tiles});
      }
    }
  }
  return result;
}

View AttentionSection::total(const Step& step) const {
  return state_.totals.slice(0, 0, step.rows).slice(1, column(step), 1);
}
/// The largest score, negated, after key tile `index` of the rows.
View AttentionSection::negated(const Step& step, int64_t index) const {
  return state_.negated.select(1, (step.tiles - 1 - index) % 2)
      .slice(0, 0, step.rows)
      .slice(1, column(step), 1);
}

void AttentionSection::score(const Step& step, const Affine& bias) {
  const View product = of_keys(scores_, step);
  const int64_t bank = product_columns(builder_.limits());
  for (int64_t key = 0; key < step.keys; key += bank) {
    const int64_t count = std::min(bank, step.keys - key);
    multiply(builder_, product.slice(1, key, count),
             {q_.turned(step.head, unit_), step.row, step.rows},
             {k_.turned(key_head(step), unit_), step.key + key, count});
  }
  mask_.apply(product, step.row, step.key);
  if (tensors_.bias) add_bias(step, bias, product);
  builder_.emit(TensorReduce{
      .dst = of_rows(largest_, step), .data = scores(step), .op = AluOp::kMaximum, .negate = true});
}

void AttentionSection::add_bias(const Step& step, const Affine& start, const View& product) {
  const HbmTensor& bias = *tensors_.bias;
  const View loaded = of_keys(bias_tile_, step);
  const int64_t head = step.head * bias.strides[units_.members > 1 ? 2 : 1];
  load(builder_, loaded,
       bias.view({step.rows, step.keys}, {bias.strides[3], bias.strides[4]},
                 start + (head + step.row * bias.strides[3] + step.key * bias.strides[4])));
  builder_.emit(ScalarTensorTensor{.dst = scores(step),
                                   .data = product,
                                   .operand1 = loaded,
                                   .op0 = AluOp::kMultiply,
                                   .constant0 = options_.scale});
}

/// Exponentials relative to the largest score so far, and exp(now - before) to rescale what was
/// summed relative to the previous one.
void AttentionSection::exponentiate(const Step& step) {
  const View largest = of_rows(largest_, step), now = negated(step, step.tile);
  if (step.is_first()) {
    // Finite, so that differences are finite too, even in a row without any key.
    builder_.emit(TensorScalar{.dst = now,
                               .data = largest,
                               .op0 = AluOp::kMultiply,
                               .constant0 = scale(),
                               .op1 = AluOp::kMinimum,
                               .constant1 = std::numeric_limits<float>::max(),
                               .engine = EngineKind::kVector});
  } else {
    const View before = negated(step, step.tile - 1);
    builder_.emit(ScalarTensorTensor{.dst = now,
                                     .data = largest,
                                     .operand1 = before,
                                     .op0 = AluOp::kMultiply,
                                     .constant0 = scale(),
                                     .op1 = AluOp::kMinimum});
    builder_.emit(Activate{.dst = of_rows(decay_, step),
                           .data = before,
                           .op = Activation::kExp,
                           .bias_tile = now,
                           .scale = -1});
  }
  builder_.emit(ActivationReduce{.dst = of_keys(exponentials_, step),
                                 .data = scores(step),
                                 .op = Activation::kExp,
                                 .reduce_res = step.is_first() ? total(step) : of_rows(part_, step),
                                 .bias_tile = now,
                                 .scale = scale()});
}

void AttentionSection::turn_exponentials(const Step& step) {
  const View source = of_keys(exponentials_, step), target = turned_.turn(number_);
  const int64_t full = step.keys / row_tile_, rest = step.keys % row_tile_;
  if (full > 0) {
    transposer_.transpose(target.slice(1, 0, full).slice(2, 0, step.rows),
                          [&](int64_t j) { return source.slice(1, j * row_tile_, row_tile_); });
  }
  if (rest > 0) {
    transposer_.transpose(target.slice(0, 0, rest).slice(1, full, 1).slice(2, 0, step.rows),
                          [&](int64_t) { return source.slice(1, full * row_tile_, rest); });
  }
  if (step.is_first()) return;
  builder_.emit(ScalarTensorTensor{.dst = total(step),
                                   .data = total(step),
                                   .operand0 = of_rows(decay_, step),
                                   .operand1 = of_rows(part_, step),
                                   .op0 = AluOp::kMultiply});
}

void AttentionSection::add_values(const Step& step) {
  const BlockedMatrix turned{turned_.turn(number_), step.keys, step.rows};
  const BlockedMatrix all = v_.rows(key_head(step), unit_);
  const BlockedMatrix v{all.tile.slice(1, step.key / row_tile_, ceiling(step.keys, row_tile_)),
                        step.keys, all.columns};
  const View product = of_rows(weighted_, step), sums = sums_.slice(0, 0, step.rows);
  multiply(builder_, product, {turned, 0, step.rows}, {v, 0, v.columns});
  if (!step.is_first()) {
    builder_.emit(ScalarTensorTensor{.dst = sums,
                                     .data = sums,
                                     .operand0 = of_rows(decay_, step),
                                     .operand1 = product,
                                     .op0 = AluOp::kMultiply});
  } else if (!step.is_last()) {
    builder_.emit(TensorCopy{.dst = sums, .src = product, .engine = EngineKind::kScalar});
  }
  if (step.is_last()) divide(step, step.is_first() ? product : sums);
}

void AttentionSection::divide(const Step& step, const View& sums) {
  const View inverse = of_rows(inverse_, step);
  View sum = total(step);
  if (tensors_.bias) {  // which may leave a row without keys
    builder_.emit(TensorScalar{.dst = inverse,
                               .data = sum,
                               .op0 = AluOp::kMaximum,
                               .constant0 = kAttentionSmallestSum,
                               .engine = EngineKind::kVector});
    sum = inverse;
  }
  builder_.emit(Reciprocal{.dst = inverse, .data = sum});
  const View out =
      out_.turn(unit_).slice(0, 0, step.rows).select(1, step.head).select(1, step.row / row_tile_);
  builder_.emit(
      Activate{.dst = out, .data = sums, .op = Activation::kIdentity, .scale_tile = inverse});
}

}  // namespace neuron_sim
