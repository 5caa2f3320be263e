#include "ops/attention/backward.h"

#include "device/base/errors.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/movement/memset.h"
#include "ops/attention/backward_section.h"
#include "ops/blocks/tiles.h"

namespace neuron_sim {
namespace {

/// Bytes of the operands, results and sums of a unit of one key head.
int64_t gradient_unit_bytes(const Limits& limits, const AttentionSizes& s) {
  const auto bytes = [&](int64_t length, int64_t width, bool turned, Dtype dtype) {
    return HeadOperand::bytes(limits, length, width, dtype, {.rows = true, .turned = turned});
  };
  const Dtype wide = Dtype::kFloat32;  // sums, and results that are added up elsewhere
  const int64_t member =
      bytes(s.queries, s.depth, true, s.dtype) + bytes(s.queries, s.width, true, s.dtype) +
      bytes(s.queries, s.width, false, s.dtype) + bytes(s.queries, s.width, false, wide) +
      2 * bytes(s.queries, s.depth, false, wide);
  const int64_t keys = bytes(s.keys, s.depth, true, s.dtype) +
                       bytes(s.keys, s.width, true, s.dtype) + bytes(s.keys, s.depth, false, wide) +
                       bytes(s.keys, s.width, false, wide);
  return s.members * member + keys;
}
/// Bytes that all units on chip may take in SBUF.
int64_t gradient_unit_budget(const Limits& limits) { return limits.sbuf_usable.count * 3 / 4; }

void check_widths(const Builder& builder, const AttentionSizes& sizes) {
  const int64_t widest = product_columns(builder.limits());
  const int64_t width = std::max(sizes.depth, sizes.width);
  if (width <= widest) return;
  fail(text("attention_backward: rows of ", width, " elements exceed the ", widest,
            " of a PSUM bank on ", builder.architecture().name, "."));
}

}  // namespace

bool attention_backward_fits(const Limits& limits, const AttentionSizes& sizes) {
  return gradient_unit_bytes(limits, sizes) <= gradient_unit_budget(limits);
}

void emit_attention_backward(Builder& builder, HbmTensors given, HbmTensors targets,
                             const AttentionOptions& options) {
  const AttentionGradientOperands operands{
      given[0], given[1], given[2], given[3], given[4], given[5], optional_tensor(given, 6)};
  const AttentionGradientResults results{targets[0], targets[1], targets[2],
                                         optional_tensor(targets, 3)};
  const HbmTensor& q = operands.q;
  const Limits& limits = builder.limits();
  const AttentionSizes sizes{q.shape[2], q.shape[3],          operands.k.shape[3],
                             q.shape[4], operands.v.shape[4], q.dtype()};
  check_widths(builder, sizes);
  require(options.scale > 0, "scores are scaled up or down");
  require(!(options.causal && results.bias), "the gradient of a bias leaves out no scores");
  std::vector<HbmTensor> all{q,         operands.k, operands.v, operands.gradient, operands.out,
                             results.q, results.k,  results.v};
  if (operands.bias) all.push_back(*operands.bias);
  if (results.bias) all.push_back(*results.bias);
  const int64_t blocks = ceiling(sizes.queries, limits.partitions);
  const int64_t tiles = ceiling(sizes.keys, AttentionBackwardSection::key_tile(limits, sizes));
  const AttentionUnits units =
      plan_units(all, sizes.members * blocks * tiles, gradient_unit_bytes(limits, sizes),
                 gradient_unit_budget(limits), sizes.members * blocks);
  builder.scope([&] {
    const CausalMask mask(builder, options.causal);
    builder.loop(units.images, [&](const Affine& image) {
      builder.loop(units.sections, [&](const Affine& section) {
        RowNumbers numbers(builder, units, sizes.queries);
        const Affine first = section * units.units;
        const View log_sums = builder.sbuf("log_sums_of_rows",
                                           {limits.partitions, numbers.columns()}, Dtype::kFloat32);
        builder.emit(Memset{.dst = log_sums, .engine = EngineKind::kGpSimd});
        numbers.load(log_sums, operands.log_sums, image, first);
        builder.emit(TensorScalar{
            .dst = log_sums, .data = log_sums, .op0 = AluOp::kMultiply, .constant0 = -1});
        builder.scope([&] {
          AttentionBackwardSection(builder, operands, results, options, units, numbers, log_sums,
                                   mask)
              .emit(image, first);
        });
      });
    });
  });
}

}  // namespace neuron_sim
