#include "ops/attention/backward_section.h"

#include <algorithm>

#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/memset.h"
#include "device/isa/reduction/tensor_reduce.h"
#include "ops/blocks/tiles.h"

namespace neuron_sim {
namespace {

constexpr int64_t kKeyLag = 2;    // products with P and dS
constexpr int64_t kQueryLag = 3;  // products with dS transposed

AttentionSizes sizes_of(const AttentionGradientOperands& operands) {
  const HbmTensor& q = operands.q;
  return {q.shape[2], q.shape[3], operands.k.shape[3], q.shape[4], operands.v.shape[4], q.dtype()};
}

}  // namespace

int64_t AttentionBackwardSection::key_tile(const Limits& limits, const AttentionSizes& sizes) {
  // dK and dV of a tile take one bank each.
  const int64_t widest = std::max({sizes.depth, sizes.width, limits.partitions});
  return std::min(product_columns(limits) / widest * limits.partitions, sizes.keys);
}

AttentionBackwardSection::AttentionBackwardSection(Builder& builder,
                                                   const AttentionGradientOperands& operands,
                                                   const AttentionGradientResults& results,
                                                   const AttentionOptions& options,
                                                   const AttentionUnits& units,
                                                   const RowNumbers& numbers, const View& log_sums,
                                                   const CausalMask& mask)
    : builder_(builder),
      operands_(operands),
      results_(results),
      options_(options),
      units_(units),
      numbers_(numbers),
      log_sums_(log_sums),
      mask_(mask),
      row_tile_(builder.limits().partitions),
      row_blocks_(ceiling(operands.q.shape[3], row_tile_)),
      key_tile_(key_tile(builder.limits(), sizes_of(operands))),
      steps_(steps()),
      ring_(pipeline_ring(units.units, static_cast<int64_t>(steps_.size()), kQueryLag)),
      transposer_(builder, operands.q.dtype(), kDoubleBuffer),
      gradient_(operand(operands.gradient, units.heads(), {.rows = true, .turned = true})),
      q_(operand(operands.q, units.heads(), {.rows = true, .turned = true})),
      k_(operand(operands.k, units.key_heads, {.rows = true, .turned = true})),
      v_(operand(operands.v, units.key_heads, {.turned = true})),
      out_(operand(operands.out, units.heads(), {.rows = true})) {
  const int64_t depth = operands.q.shape[4], width = operands.v.shape[4], heads = units.heads();
  const Dtype dtype = operands.q.dtype(), wide = Dtype::kFloat32;
  products_ = builder.sbuf("inner_products", {row_tile_, heads, row_blocks_, width}, wide);
  inner_ = builder.sbuf("inner", {row_tile_, heads, row_blocks_}, wide, ring_);
  probabilities_ = tile("probabilities", key_tile_, dtype, kKeyLag + 1);
  differences_ = tile("score_gradients", key_tile_, dtype, kKeyLag + 1);
  turned_ =
      blocked_tile(builder, "score_gradients_turned", key_tile_, row_tile_, dtype, kDoubleBuffer);
  if (operands.bias) {
    bias_tile_ = tile("bias", key_tile_, operands.bias->dtype(), kDoubleBuffer);
    biased_ = tile("scores", key_tile_, wide, kDoubleBuffer);
  }
  q_sum_ = builder.sbuf("q_sums", {row_tile_, heads, row_blocks_, depth}, wide);
  q_result_ = result_tile("q_gradient", results.q, heads);
  k_result_ = result_tile("k_gradient", results.k, units.key_heads);
  v_result_ = result_tile("v_gradient", results.v, units.key_heads);
  const int64_t blocks = ceiling(key_tile_, row_tile_);
  scores_ = builder.psum("scores", {row_tile_, key_tile_}, wide, kDoubleBuffer);
  outer_ = builder.psum("outer_products", {row_tile_, key_tile_}, wide);
  q_psum_ = builder.psum("q_products", {row_tile_, depth}, wide);
  k_psum_ = builder.psum("k_products", {row_tile_, blocks, depth}, wide);
  v_psum_ = builder.psum("v_products", {row_tile_, blocks, width}, wide);
}

View AttentionBackwardSection::tile(const char* label, int64_t columns, Dtype dtype, int ring) {
  return builder_.sbuf(label, {row_tile_, columns}, dtype, ring);
}

View AttentionBackwardSection::result_tile(const char* label, const HbmTensor& result,
                                           int64_t heads) {
  return builder_.sbuf(label,
                       {row_tile_, heads, ceiling(result.shape[3], row_tile_), result.shape[4]},
                       result.dtype(), ring_);
}

HeadOperand AttentionBackwardSection::operand(const HbmTensor& tensor, int64_t heads,
                                              HeadOperand::Form form) {
  return {builder_, tensor, heads, form, ring_, transposer_};
}

std::vector<AttentionBackwardSection::Step> AttentionBackwardSection::steps() const {
  std::vector<Step> result;
  const int64_t queries = operands_.q.shape[3], keys = operands_.k.shape[3];
  for (int64_t key_head = 0; key_head < units_.key_heads; ++key_head) {
    for (int64_t key = 0; key < keys; key += key_tile_) {
      const size_t first = result.size();
      for (int64_t member = 0; member < units_.members; ++member) {
        for (int64_t row = 0; row < queries; row += row_tile_) {
          const int64_t end = mask_.keys(row + row_tile_, keys);
          if (end <= key) continue;
          const int64_t count = std::min(key_tile_, end - key);
          result.push_back({key_head, member, key_head * units_.members + member, row,
                            std::min(row_tile_, queries - row), key, count, key == 0,
                            key + count == end, result.size() == first, false});
        }
      }
      if (result.size() > first) result.back().last_of_keys = true;
    }
  }
  return result;
}

void AttentionBackwardSection::emit(const Affine& image, const Affine& first_unit) {
  image_ = image;
  first_unit_ = first_unit;
  const auto at = [this](const Affine& unit, int64_t step) -> const Step& {
    number_ = unit * static_cast<int64_t>(steps_.size()) + step;
    unit_ = unit;
    return steps_[static_cast<size_t>(step)];
  };
  emit_pipeline(
      builder_,
      {.units = units_.units,
       .steps = static_cast<int64_t>(steps_.size()),
       .stages = {{0, [&](const Affine& unit, int64_t i) { differentiate_scores(at(unit, i)); }},
                  {kKeyLag,
                   [&](const Affine& unit, int64_t i) {
                     const Step& step = at(unit, i);
                     add_key_gradients(step);
                     turn_scores(step);
                   }},
                  {kQueryLag,
                   [&](const Affine& unit, int64_t i) { add_query_gradient(at(unit, i)); }}},
       .load = [&](const Affine& unit) { load(unit); },
       .prepare = [&](const Affine& unit) { prepare(unit); },
       .finish = [&](const Affine& unit) { finish(unit); }});
}

void AttentionBackwardSection::load(const Affine& unit) {
  q_.load(start(operands_.q, unit), unit);
  k_.load(start(operands_.k, unit), unit);
  gradient_.load(start(operands_.gradient, unit), unit);
  v_.load(start(operands_.v, unit), unit);
  out_.load(start(operands_.out, unit), unit);
}

void AttentionBackwardSection::prepare(const Affine& unit) {
  q_.prepare(unit);
  k_.prepare(unit);
  gradient_.prepare(unit);
  v_.prepare(unit);
  sum_products(unit);
}

/// sum(dO * O) of every row.
void AttentionBackwardSection::sum_products(const Affine& unit) {
  const int64_t rows = operands_.q.shape[3], full = rows / row_tile_, rest = rows % row_tile_;
  const auto piece = [&](int64_t count, int64_t block, int64_t blocks) {
    const auto of = [&](const View& tile) {
      return tile.slice(0, 0, count).slice(2, block, blocks);
    };
    builder_.emit(TensorTensor{.dst = of(products_),
                               .data1 = of(gradient_.all_rows(unit)),
                               .data2 = of(out_.all_rows(unit)),
                               .op = AluOp::kMultiply,
                               .engine = EngineKind::kVector});
    builder_.emit(TensorReduce{.dst = of(inner_.turn(unit)), .data = of(products_)});
  };
  if (full > 0) piece(row_tile_, 0, full);
  if (rest > 0) piece(rest, full, 1);
}

void AttentionBackwardSection::finish(const Affine& unit) {
  const int64_t blocks = ceiling(operands_.k.shape[3], row_tile_);
  if (options_.causal && blocks > row_blocks_) {  // keys that no row sees
    for (const View& tile : {k_result_, v_result_}) {
      builder_.emit(Memset{.dst = tile.turn(unit).slice(2, row_blocks_, blocks - row_blocks_),
                           .engine = EngineKind::kGpSimd});
    }
  }
  store_heads(builder_, q_result_.turn(unit), results_.q, start(results_.q, unit));
  store_heads(builder_, k_result_.turn(unit), results_.k, start(results_.k, unit));
  store_heads(builder_, v_result_.turn(unit), results_.v, start(results_.v, unit));
}

}  // namespace neuron_sim
