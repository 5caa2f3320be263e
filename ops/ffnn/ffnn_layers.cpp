#include "ops/ffnn/ffnn_layers.h"

#include <algorithm>

#include "ops/blocks/tiles.h"

namespace neuron_sim {
namespace {

constexpr int64_t kPanelRows = 4096;  // of a streamed weight
constexpr int kStreamRing = 2;
constexpr int kResultRing = 4;
constexpr int64_t kLargestBatchTile = 512;
constexpr int64_t kWideOutput = 4096;  // classes beyond which one output tile is enough

int output_ring(int64_t classes) { return classes > kWideOutput ? 1 : 2; }

int64_t deepest(const FfnnOperands& operands) {
  int64_t depth = 0;
  for (size_t i = 0; i < operands.layers(); ++i) depth = std::max(depth, operands.width(i));
  return depth;
}

/// Bytes of everything but the weights.
int64_t other_bytes(const Limits& limits, const FfnnOperands& operands, const FfnnPlan& plan) {
  const Dtype dtype = operands.x.dtype();
  const int64_t classes = operands.width(operands.layers());
  // staging_bytes is for a ring of two.
  int64_t bytes = plan.ring *
                  ContractionLoader::staging_bytes(operands.x.permute({1, 0}), operands.width(0)) /
                  2;
  for (size_t i = 0; i < operands.layers(); ++i) {
    bytes += plan.ring * blocked_bytes(limits, operands.width(i), plan.batch_tile, dtype);
    bytes += blocked_bytes(limits, operands.width(i), 1, dtype) + 64;
  }
  // Logits (fp32 probabilities take their place), probabilities, the bias in every partition.
  const int64_t probabilities = dtype == Dtype::kFloat32 ? 0 : itemsize(dtype);
  return bytes + 4096 +
         classes *
             (output_ring(classes) * (itemsize(Dtype::kFloat32) + probabilities) + itemsize(dtype));
}

}  // namespace

FfnnPlan choose_ffnn_plan(const Limits& limits, const FfnnOperands& operands, int64_t batch_tile,
                          bool stream_weights) {
  const int64_t most = std::min(operands.x.size(0), kLargestBatchTile);
  const auto rows = [&](int64_t batch) {
    return std::min(batch_tile > 0 ? batch_tile : batch, most);
  };
  for (const bool resident : {true, false}) {
    if (resident && stream_weights) continue;
    const int64_t weights = FfnnWeights::bytes(limits, operands, resident);
    for (int64_t batch = kLargestBatchTile; batch >= 32; batch /= 2) {
      // Weights that stream by are loaded once per tile: more rows are worth more than loading x
      // ahead.
      for (int ring = 2; ring > (resident ? 1 : 0); --ring) {
        const FfnnPlan plan{rows(batch), resident, ring};
        if (weights + other_bytes(limits, operands, plan) <= limits.sbuf_usable.count) return plan;
      }
    }
  }
  return {rows(32), false, 1};
}

int64_t FfnnWeights::bytes(const Limits& limits, const FfnnOperands& operands, bool resident) {
  const Dtype dtype = operands.x.dtype();
  const int64_t panel = std::min(deepest(operands), kPanelRows);
  int64_t total =
      resident ? 0 : kStreamRing * blocked_bytes(limits, panel, limits.partitions, dtype);
  for (size_t i = 0; i < operands.layers(); ++i) {
    const View& weight = operands.weights[i];
    const int64_t rows = resident ? weight.size(0) : std::min(weight.size(0), kPanelRows);
    total += ContractionLoader::staging_bytes(weight, rows);
    if (resident) total += blocked_bytes(limits, weight.size(0), weight.size(1), dtype) + 64;
  }
  return total;
}

FfnnWeights::FfnnWeights(Builder& builder, const FfnnOperands& operands, Transposer* transposer,
                         bool resident)
    : builder_(builder), operands_(operands) {
  const Dtype dtype = operands.x.dtype();
  const int64_t panel = std::min(deepest(operands), kPanelRows);
  if (!resident) {
    stream_ = blocked_tile(builder, "weight_panel", panel, builder.limits().partitions, dtype,
                           kStreamRing);
  }
  for (const View& weight : operands.weights) {
    const int64_t rows = resident ? weight.size(0) : std::min(weight.size(0), kPanelRows);
    loaders_.emplace_back(builder, weight, rows, transposer, kLoadQueue);
    if (!resident) continue;
    resident_.push_back({blocked_tile(builder, "weight", weight.size(0), weight.size(1), dtype),
                         weight.size(0), weight.size(1)});
  }
}

void FfnnWeights::load() {
  for (size_t i = 0; i < resident_.size(); ++i) {
    loaders_[i].load(operands_.weights[i], resident_[i]);
  }
}

void FfnnWeights::for_panels(size_t layer, const Affine& column, int64_t columns,
                             const Affine& turn, const Body& body) {
  if (!resident_.empty()) return body(resident_[layer], column, 0, false);
  const View& weight = operands_.weights[layer];
  const int64_t partitions = builder_.limits().partitions;
  const int64_t panels = ceiling(weight.size(0), kPanelRows);
  int64_t panel = 0;
  for (int64_t row = 0; row < weight.size(0); row += kPanelRows, ++panel) {
    const int64_t rows = std::min(kPanelRows, weight.size(0) - row);
    const View tile = stream_.turn(turn * panels + panel).slice(2, 0, columns);
    const BlockedMatrix target{tile, rows, columns};
    loaders_[layer].load(weight.slice(0, row, rows).slice(1, column, columns), target,
                         turn * panels + panel);
    body(target, 0, row / partitions, row > 0);
  }
}

FfnnKernel::FfnnKernel(Builder& builder, const FfnnOperands& operands, const FfnnPlan& plan,
                       Dtype output_dtype)
    : builder_(builder), operands_(operands), plan_(plan) {
  const Limits& limits = builder.limits();
  const Dtype dtype = operands.x.dtype();
  const View x = operands.x.permute({1, 0});
  bool transposes = needs_transposing(x);
  for (const View& weight : operands.weights) transposes |= needs_transposing(weight);
  if (transposes) transposer_.emplace(builder, dtype);
  Transposer* transposer = transposes ? &*transposer_ : nullptr;
  load_x_.emplace(builder, x, x.size(0), transposer, EngineKind::kScalar, plan.ring);
  for (size_t i = 0; i < operands.layers(); ++i) {
    activations_.push_back(
        blocked_tile(builder, "activations", operands.width(i), plan.batch_tile, dtype, plan.ring));
    const bool output = i + 1 == operands.layers();
    Epilogue epilogue;
    epilogue.activation = output ? operands.output.pointwise : operands.hidden;
    if (output) {
      epilogue.column_bias = load_column_bias(builder, operands.biases[i]);
    } else {
      epilogue.partition_bias = load_partition_bias(builder, operands.biases[i]);
    }
    epilogues_.push_back(epilogue);
  }
  weights_.emplace(builder, operands, transposer, plan.resident_weights);
  const int64_t classes = operands.width(operands.layers());
  columns_ = plan.resident_weights ? product_columns(limits) : limits.partitions;
  psum_ = builder.psum("product", {limits.partitions, product_columns(limits)}, Dtype::kFloat32,
                       kResultRing);
  output_ =
      builder.sbuf("logits", {limits.partitions, classes}, output_dtype, output_ring(classes));
}

BlockedMatrix FfnnKernel::activations(size_t layer, int64_t rows, const Affine& index) const {
  return {activations_[layer].turn(index).slice(2, 0, rows), operands_.width(layer), rows};
}

void FfnnKernel::emit(const FfnnSink& sink) {
  const TileBody prepare = [&](const Affine& row, int64_t rows, const Affine& index) {
    load_x_->load(operands_.x.permute({1, 0}).slice(1, row, rows), activations(0, rows, index),
                  index);
    // The weights come after the first rows, which are needed first.
    if (index.is_constant() && index.constant() == 0) weights_->load();
  };
  const TileBody body = [&](const Affine& row, int64_t rows, const Affine& index) {
    emit_batch(row, rows, index, sink);
  };
  const int64_t batch = operands_.x.size(0);
  if (plan_.ring > 1) return for_tiles_ahead(builder_, batch, plan_.batch_tile, prepare, body);
  for_tiles(builder_, batch, plan_.batch_tile,
            [&](const Affine& row, int64_t rows, const Affine& index) {
              prepare(row, rows, index);
              body(row, rows, index);
            });
}

void FfnnKernel::emit_batch(const Affine& row, int64_t rows, const Affine& index,
                            const FfnnSink& sink) {
  for (size_t layer = 0; layer + 1 < operands_.layers(); ++layer) {
    hidden_layer(layer, rows, index);
  }
  last_ = activations(operands_.layers() - 1, rows, index);
  const int64_t partitions = builder_.limits().partitions;
  const int64_t tiles = ceiling(plan_.batch_tile, partitions);
  for (int64_t first = 0; first < rows; first += partitions) {
    const int64_t count = std::min(partitions, rows - first);
    const Affine turn = index * tiles + first / partitions;
    output_layer(first, count, turn);
    sink(output_.turn(turn).slice(0, 0, count), row + first, count, turn);
  }
}

namespace {

/// Rows of a blocked matrix that belong to a row panel of the weight.
BlockedMatrix row_panel(const BlockedMatrix& matrix, int64_t first_block, int64_t rows) {
  const int64_t blocks = ceiling(rows, matrix.tile.size(0));
  return {matrix.tile.slice(1, first_block, blocks), rows, matrix.columns};
}

}  // namespace

void FfnnKernel::hidden_layer(size_t layer, int64_t rows, const Affine& index) {
  const BlockedMatrix input = activations(layer, rows, index);
  const BlockedMatrix output = activations(layer + 1, rows, index);
  for_tiles(
      builder_, output.rows, builder_.limits().partitions,
      [&](const Affine& feature, int64_t features, const Affine& block) {
        const View psum = psum_.turn(block).slice(0, 0, features).slice(1, 0, rows);
        weights_->for_panels(
            layer, feature, features, block,
            [&](const BlockedMatrix& panel, const Affine& column, int64_t first, bool accumulate) {
              multiply(builder_, psum, {panel, column, features},
                       {row_panel(input, first, panel.rows), 0, rows}, accumulate);
            });
        evacuate(builder_, psum, output.part(block, features, 0, rows), epilogues_[layer], block);
      });
}

void FfnnKernel::output_layer(int64_t first, int64_t rows, const Affine& turn) {
  const size_t layer = operands_.layers() - 1;
  const View output = output_.turn(turn).slice(0, 0, rows);
  for_tiles(
      builder_, operands_.width(layer + 1), columns_,
      [&](const Affine& start, int64_t columns, const Affine& block) {
        const View psum = psum_.turn(block).slice(0, 0, rows).slice(1, 0, columns);
        weights_->for_panels(layer, start, columns, block,
                             [&](const BlockedMatrix& panel, const Affine& column,
                                 int64_t first_block, bool accumulate) {
                               multiply(builder_, psum,
                                        {row_panel(last_, first_block, panel.rows), first, rows},
                                        {panel, column, columns}, accumulate);
                             });
        evacuate(builder_, psum, output.slice(1, start, columns), epilogues_[layer], 0, start);
      });
}

}  // namespace neuron_sim
