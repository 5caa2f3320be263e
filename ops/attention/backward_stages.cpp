// The stages of a step of attention's gradient.

#include <algorithm>

#include "device/isa/activation/activation.h"
#include "device/isa/elementwise/scalar_tensor_tensor.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/tensor/nc_matmul.h"
#include "ops/attention/backward_section.h"
#include "ops/blocks/contraction.h"
#include "ops/blocks/tiles.h"

namespace neuron_sim {

/// P and dS.
void AttentionBackwardSection::differentiate_scores(const Step& step) {
  const View product = of_keys(scores_, step), outer = of_keys(outer_, step);
  const int64_t block = step.row / row_tile_;
  multiply(builder_, product, {q_.turned(step.head, unit_), step.row, step.rows},
           {k_.turned(step.key_head, unit_), step.key, step.keys});
  mask_.apply(product, step.row, step.key);
  multiply(builder_, outer, {gradient_.turned(step.head, unit_), step.row, step.rows},
           {v_.turned(step.key_head, unit_), step.key, step.keys});
  const View scores = operands_.bias ? add_bias(step, product) : product;
  const View probabilities = of_keys(probabilities_, step);
  const View differences = of_keys(differences_, step);
  builder_.emit(Activate{
      .dst = probabilities,
      .data = scores,
      .op = Activation::kExp,
      .bias_tile =
          log_sums_.slice(0, 0, step.rows).slice(1, numbers_.column(unit_, step.head, block), 1),
      .scale = operands_.bias ? 1 : options_.scale});
  builder_.emit(ScalarTensorTensor{
      .dst = differences,
      .data = outer,
      .operand0 = inner_.turn(unit_).slice(0, 0, step.rows).select(1, step.head).slice(1, block, 1),
      .operand1 = probabilities,
      .op0 = AluOp::kSubtract,
      .op1 = AluOp::kMultiply});
  if (results_.bias) store(builder_, scores_view(*results_.bias, step), differences);
}

View AttentionBackwardSection::add_bias(const Step& step, const View& product) {
  const View loaded = of_keys(bias_tile_, step);
  View scores = of_keys(biased_, step);
  neuron_sim::load(builder_, loaded, scores_view(*operands_.bias, step));
  builder_.emit(ScalarTensorTensor{.dst = scores,
                                   .data = product,
                                   .operand1 = loaded,
                                   .op0 = AluOp::kMultiply,
                                   .constant0 = options_.scale});
  return scores;
}

/// [rows, keys] of a tensor of scores.
View AttentionBackwardSection::scores_view(const HbmTensor& tensor, const Step& step) const {
  const int64_t head = tensor.strides[units_.members > 1 ? 2 : 1] * step.head;
  return tensor.view({step.rows, step.keys}, {tensor.strides[3], tensor.strides[4]},
                     start(tensor, unit_) +
                         (head + step.row * tensor.strides[3] + step.key * tensor.strides[4]));
}

/// Accumulation groups must not interleave in a bank: blocks that share one have no product that
/// begins a group, they all add to zeros.
void AttentionBackwardSection::clear_key_gradients() {
  for (const View& psum : {v_psum_, k_psum_}) {
    builder_.emit(Memset{.dst = psum, .engine = EngineKind::kVector});
  }
}

/// dV += P' dO and dK += dS' Q, in PSUM, by blocks of 128 keys.
void AttentionBackwardSection::add_key_gradients(const Step& step) {
  const View outer = rows_of(gradient_, step), queries = rows_of(q_, step);
  const int64_t row_block = step.row / row_tile_;
  if (blocks_share_banks() && step.first_of_keys) clear_key_gradients();
  for (int64_t key = 0; key < step.keys; key += row_tile_) {
    const int64_t count = std::min(row_tile_, step.keys - key), block = key / row_tile_;
    // The diagonal is the first to reach a block.
    const int64_t first = options_.causal ? step.key / row_tile_ + block : 0;
    const bool adds = blocks_share_banks() || step.member > 0 || row_block > first;
    const auto add = [&](const View& psum, const View& weights, const View& moving) {
      builder_.emit(NcMatmul{psum.slice(0, 0, count).select(1, block),
                             of_keys(weights, step).slice(1, key, count), moving, adds});
    };
    add(v_psum_, probabilities_, outer);
    add(k_psum_, differences_, queries);
  }
  if (step.last_of_keys) empty_key_gradients(step);
}

void AttentionBackwardSection::empty_key_gradients(const Step& step) {
  const int64_t first = step.key / row_tile_, keys = operands_.k.shape[3];
  const int64_t end = std::min(step.key + key_tile_, mask_.keys(row_blocks_ * row_tile_, keys));
  const int64_t full = (end - step.key) / row_tile_, rest = (end - step.key) % row_tile_;
  const auto piece = [&](int64_t rows, int64_t block, int64_t blocks) {
    const auto result = [&](const View& tile) {
      return tile.turn(unit_)
          .slice(0, 0, rows)
          .select(1, step.key_head)
          .slice(1, first + block, blocks);
    };
    const auto sums = [&](const View& psum) {
      return psum.slice(0, 0, rows).slice(1, block, blocks);
    };
    builder_.emit(TensorCopy{.dst = result(v_result_), .src = sums(v_psum_)});
    builder_.emit(
        Activate{.dst = result(k_result_), .data = sums(k_psum_), .scale = options_.scale});
  };
  if (full > 0) piece(row_tile_, 0, full);
  if (rest > 0) piece(rest, full, 1);
}

void AttentionBackwardSection::turn_scores(const Step& step) {
  const View source = of_keys(differences_, step), target = turned_.turn(number_);
  const int64_t full = step.keys / row_tile_, rest = step.keys % row_tile_;
  if (full > 0) {
    transposer_.transpose(target.slice(1, 0, full).slice(2, 0, step.rows),
                          [&](int64_t j) { return source.slice(1, j * row_tile_, row_tile_); });
  }
  if (rest > 0) {
    transposer_.transpose(target.slice(0, 0, rest).slice(1, full, 1).slice(2, 0, step.rows),
                          [&](int64_t) { return source.slice(1, full * row_tile_, rest); });
  }
}

/// dQ += dS K.
void AttentionBackwardSection::add_query_gradient(const Step& step) {
  const BlockedMatrix turned{turned_.turn(number_), step.keys, step.rows};
  const BlockedMatrix all = k_.rows(step.key_head, unit_);
  const BlockedMatrix keys{all.tile.slice(1, step.key / row_tile_, ceiling(step.keys, row_tile_)),
                           step.keys, all.columns};
  const View product = q_psum_.slice(0, 0, step.rows);
  multiply(builder_, product, {turned, 0, step.rows}, {keys, 0, keys.columns});
  const auto place = [&](const View& tile) {
    return tile.slice(0, 0, step.rows).select(1, step.head).select(1, step.row / row_tile_);
  };
  const View sum = place(q_sum_);
  if (step.first_of_row && !step.last_of_row) {
    builder_.emit(TensorCopy{.dst = sum, .src = product, .engine = EngineKind::kScalar});
  } else if (!step.first_of_row) {
    builder_.emit(
        TensorTensor{.dst = sum, .data1 = sum, .data2 = product, .engine = EngineKind::kVector});
  }
  if (step.last_of_row) {
    builder_.emit(Activate{.dst = place(q_result_.turn(unit_)),
                           .data = step.first_of_row ? product : sum,
                           .scale = options_.scale});
  }
}

}  // namespace neuron_sim
