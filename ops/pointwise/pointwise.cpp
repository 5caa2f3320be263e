#include "ops/pointwise/pointwise.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "device/base/errors.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/random/rng.h"
#include "device/isa/random/set_rng_seed.h"
#include "ops/blocks/collapse.h"
#include "ops/blocks/tiles.h"
#include "ops/pointwise/expression_emitter.h"
#include "ops/pointwise/layout.h"
#include "ops/pointwise/tile_loader.h"

namespace neuron_sim {
namespace {

constexpr int64_t kTileBytes = 4096;  // per partition, of the widest tensor

class Pointwise {
 public:
  Pointwise(Builder& builder, const Expression& expression, std::span<const HbmTensor> operands,
            std::span<const HbmTensor> results)
      : builder_(builder),
        tensors_(joined(operands, results)),
        operands_(operands.size()),
        layout_(builder.limits(), tensors_, tile_elements(expression)),
        emitter_(builder, expression, layout_.partitions(), layout_.tile_elements()) {
    for (size_t i = 0; i < tensors_.size(); ++i) {
      rings_.push_back(builder.sbuf(
          i < operands_ ? text("operand_tile", i) : text("result_tile", i),
          {layout_.partitions(), layout_.tile_elements()}, tensors_[i].dtype(), kTripleBuffer));
    }
  }

  /// Adds an input of random numbers.
  void seed(const HbmTensor& seed) {
    const View tile = builder_.sbuf("seed", {1, 1}, seed.dtype());
    load(builder_, tile, seed.view({1, 1}, {1, 1}));
    builder_.emit(SetRngSeed{.src_seeds = tile});
    random_ = builder_.sbuf("random_tile", {layout_.partitions(), layout_.tile_elements()},
                            Dtype::kUint32, kTripleBuffer);
  }

  void emit() {
    layout_.for_each(
        builder_, [&](const PointwisePiece& piece) { begin_run(piece); },
        [&](const PointwisePiece& piece) { emit_piece(piece); });
  }

 private:
  static std::vector<HbmTensor> joined(std::span<const HbmTensor> operands,
                                       std::span<const HbmTensor> results) {
    std::vector<HbmTensor> tensors(operands.begin(), operands.end());
    tensors.insert(tensors.end(), results.begin(), results.end());
    return tensors;
  }

  /// Elements per partition of the largest tile for which everything fits SBUF.
  int64_t tile_elements(const Expression& expression) const {
    const ExpressionPlan plan(expression, builder_.architecture().features);
    // The ring of random numbers is always counted.
    int64_t bytes = ExpressionEmitter::bytes_per_element(plan) + int64_t{4} * kTripleBuffer;
    int64_t widest = 1;
    for (const HbmTensor& tensor : tensors_) {
      bytes += int64_t{kTripleBuffer} * itemsize(tensor.dtype());
      widest = std::max<int64_t>(widest, itemsize(tensor.dtype()));
    }
    const int64_t reserved = int64_t{64} * (plan.constant_tiles() + 16);
    const int64_t fitting = (builder_.limits().sbuf_usable.count - reserved) / bytes;
    if (fitting < 1) {
      fail(text("a pointwise expression of ", expression.steps().size(), " steps needs ", bytes,
                " bytes per element and ", reserved, " bytes of constants, more than the ",
                builder_.limits().sbuf_usable.count, " bytes of an SBUF partition of ",
                builder_.architecture().name, "."));
    }
    return std::min(fitting, kTileBytes / widest);
  }

  /// Operands that do not change from one piece of the run to the next are loaded before it.
  void begin_run(const PointwisePiece& piece) {
    inputs_.assign(operands_, View());
    std::vector<bool> partition_inputs;
    for (size_t i = 0; i < operands_; ++i) {
      if (piece.is_invariant(i)) inputs_[i] = load_piece(i, piece);
      partition_inputs.push_back(is_partition_value(i, piece));
    }
    run_emitter_.emplace(emitter_.with_partition_inputs(std::move(partition_inputs)));
  }

  /// Whether the operand has one value for all elements of a partition, as instructions take it.
  bool is_partition_value(size_t i, const PointwisePiece& piece) const {
    for (size_t d = 1; d < piece.sizes.size(); ++d) {
      if (piece.sizes[d] > 1 && piece.steps[i][d] != 0) return false;
    }
    return tensors_[i].dtype() == Dtype::kFloat32;
  }

  View load_piece(size_t i, const PointwisePiece& piece) {
    return load_repeating(builder_, rings_[i], piece.view(tensors_[i], i), piece.turn);
  }

  void emit_piece(const PointwisePiece& piece) {
    std::vector<View> inputs, results;
    for (size_t i = 0; i < operands_; ++i) {
      inputs.push_back(piece.is_invariant(i) ? inputs_[i].slice(0, 0, piece.sizes[0])
                                             : load_piece(i, piece));
    }
    for (size_t i = operands_; i < tensors_.size(); ++i) {
      const View hbm = piece.view(tensors_[i], i);
      results.push_back(rings_[i]
                            .turn(piece.turn)
                            .slice(0, 0, hbm.partitions())
                            .slice(1, 0, hbm.free_elements()));
    }
    if (random_.present()) inputs.push_back(random_numbers(results.front(), piece.turn));
    run_emitter_->emit(inputs, results, piece.turn);
    for (size_t i = operands_; i < tensors_.size(); ++i) {
      store(builder_, piece.view(tensors_[i], i), results[i - operands_]);
    }
  }

  /// The upper 24 of 32 random bits.
  View random_numbers(const View& like, const Affine& turn) {
    View tile = random_.turn(turn).slice(0, 0, like.partitions()).slice(1, 0, like.free_elements());
    builder_.emit(Rng{.dst = tile, .engine = EngineKind::kVector});
    builder_.emit(TensorScalar{.dst = tile,
                               .data = tile,
                               .op0 = AluOp::kRightShift,
                               .constant0 = 8,
                               .engine = EngineKind::kVector});
    return tile;
  }

  Builder& builder_;
  std::vector<HbmTensor> tensors_;  ///< operands, then results
  const size_t operands_;
  const PointwiseLayout layout_;
  const ExpressionEmitter emitter_;
  std::optional<ExpressionEmitter> run_emitter_;  ///< for the operands of the run
  std::vector<View> rings_, inputs_;
  View random_;  ///< absent: the expression has no random input
};

}  // namespace

void emit_pointwise(Builder& builder, HbmTensors operands, HbmTensors results,
                    const Expression& expression) {
  builder.scope([&] { Pointwise(builder, expression, operands, results).emit(); });
}

void emit_random_pointwise(Builder& builder, HbmTensors operands, HbmTensors results,
                           const Expression& expression) {
  builder.scope([&] {
    Pointwise kernel(builder, expression, operands.first(operands.size() - 1), results);
    kernel.seed(operands.back());
    kernel.emit();
  });
}

}  // namespace neuron_sim
