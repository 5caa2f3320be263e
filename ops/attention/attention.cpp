#include "ops/attention/attention.h"

#include "device/base/errors.h"
#include "device/isa/activation/activation.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/memset.h"
#include "ops/attention/few_rows.h"
#include "ops/attention/section.h"
#include "ops/blocks/tiles.h"
#include "ops/contract/fusion_traits.h"

namespace neuron_sim {
namespace {

/// Operands of a unit of one key head, per turn.
int64_t unit_bytes(const Limits& limits, const AttentionSizes& s) {
  const auto bytes = [&](int64_t length, int64_t width, bool turned) {
    return HeadOperand::bytes(limits, length, width, s.dtype, {.rows = true, .turned = turned});
  };
  return s.members * (bytes(s.queries, s.depth, true) + bytes(s.queries, s.width, false)) +
         bytes(s.keys, s.depth, true) + bytes(s.keys, s.width, false);
}
/// Bytes that the operands of all units on chip may take in SBUF.
int64_t unit_budget(const Limits& limits) { return limits.sbuf_usable.count * 5 / 8; }

/// totals = log(totals) - negated: the logarithm of the sum of exponentials of all scores.
void take_logarithms(Builder& builder, const AttentionRowState& state) {
  builder.emit(TensorScalar{.dst = state.totals,
                            .data = state.totals,
                            .op0 = AluOp::kMaximum,
                            .constant0 = kAttentionSmallestSum,
                            .engine = EngineKind::kVector});
  builder.emit(Activate{.dst = state.totals, .data = state.totals, .op = Activation::kLog});
  builder.emit(TensorTensor{.dst = state.totals,
                            .data1 = state.totals,
                            .data2 = state.negated.select(1, 0),
                            .op = AluOp::kSubtract,
                            .engine = EngineKind::kVector});
}

}  // namespace

bool attention_fits(const Limits& limits, const AttentionSizes& sizes) {
  return unit_bytes(limits, sizes) <= unit_budget(limits);
}

void emit_attention(Builder& builder, HbmTensors operands, HbmTensors results,
                    const AttentionOptions& options) {
  const HbmTensor &q = operands[0], &k = operands[1], &v = operands[2], &out = results[0];
  const int64_t widest = product_columns(builder.limits());
  if (v.shape[4] > widest) {
    fail(text("attention: values of ", v.shape[4], " elements exceed the ", widest,
              " of a PSUM bank on ", builder.architecture().name, "."));
  }
  require(options.scale > 0, "scores are scaled up or down");
  if (has_few_rows(builder.limits(), operands, options)) {
    return emit_attention_of_few_rows(builder, operands, results, options);
  }
  const int64_t rows = q.shape[3];
  const int64_t blocks = ceiling(rows, builder.limits().partitions);
  const AttentionSizes sizes{q.shape[2], rows, k.shape[3], q.shape[4], v.shape[4], q.dtype()};
  const auto bias = optional_tensor(operands, 3);
  std::vector<HbmTensor> all{q, k, v, out};
  if (bias) all.push_back(*bias);
  const int64_t tiles = ceiling(sizes.keys, kAttentionScoreBanks * widest);
  const AttentionUnits units =
      plan_units(all, sizes.members * blocks * tiles, unit_bytes(builder.limits(), sizes),
                 unit_budget(builder.limits()), sizes.members * blocks);
  const AttentionTensors tensors{q, k, v, bias, out};
  builder.scope([&] {
    const CausalMask mask(builder, options.causal);
    builder.loop(units.images, [&](const Affine& image) {
      builder.loop(units.sections, [&](const Affine& section) {
        RowNumbers numbers(builder, units, rows);
        const std::vector<int64_t> shape{builder.limits().partitions, numbers.columns()};
        const AttentionRowState state{
            builder.sbuf("largest_of_rows", {shape[0], 2, shape[1]}, Dtype::kFloat32),
            builder.sbuf("totals_of_rows", shape, Dtype::kFloat32)};
        builder.emit(Memset{.dst = state.negated, .engine = EngineKind::kGpSimd});
        builder.emit(Memset{.dst = state.totals, .value = 1, .engine = EngineKind::kGpSimd});
        const Affine first = section * units.units;
        builder.scope([&] {
          AttentionSection(builder, tensors, options, units, numbers, state, mask)
              .emit(image, first);
        });
        if (results.size() == 1) return;
        take_logarithms(builder, state);
        numbers.store(state.totals, results[1], image, first);
      });
    });
  });
}

const KernelDefinition<AttentionOptions> kAttention{
    .name = "attention",
    .emit = emit_attention,
    .traits = [](std::span<const TensorSpec> operands, const AttentionOptions&) {
      FusionTraits traits{.rounds_result = true, .needed_results = 1};
      traits.operands.resize(operands.size(), {.batched = true});
      traits.operands[0].contracted = traits.operands[1].contracted = true;  // query and key
      return traits;
    }};

}  // namespace neuron_sim
