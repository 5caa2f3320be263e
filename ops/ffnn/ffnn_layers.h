#pragma once
// The layers of a feedforward network on chip; see ffnn.h.

#include <deque>
#include <optional>

#include "ops/blocks/contraction.h"
#include "ops/blocks/epilogue.h"

namespace neuron_sim {

/// HBM operands of a network, and its functions.
struct FfnnOperands {
  View x;
  std::vector<View> weights, biases;
  Activation hidden = Activation::kIdentity;
  OutputFunction output;
  size_t layers() const { return weights.size(); }
  int64_t width(size_t layer) const { return layer == 0 ? x.size(1) : weights[layer - 1].size(1); }
};

/// How a network is tiled.
struct FfnnPlan {
  int64_t batch_tile = 0;
  bool resident_weights = false;
  /// Tiles of x, of its staging and of every layer's activations; with one, x is not loaded ahead.
  int ring = 2;
};
FfnnPlan choose_ffnn_plan(const Limits& limits, const FfnnOperands& operands, int64_t batch_tile,
                          bool stream_weights);

/// Gets one tile of rows of the output, [P, classes]: fp32 in SBUF before softmax, final otherwise.
using FfnnSink =
    std::function<void(const View& values, const Affine& row, int64_t rows, const Affine& turn)>;

/// The weights of all layers, in SBUF or streaming.
class FfnnWeights {
 public:
  FfnnWeights(Builder& builder, const FfnnOperands& operands, Transposer* transposer,
              bool resident);
  /// Loads the resident weights; call it once, before the first use.
  void load();
  /// Calls body(panel, column in the panel, first row block, accumulate) for all row panels of the
  /// columns [column, column + columns) of a layer's weight. `turn` counts the calls of a layer.
  using Body = std::function<void(const BlockedMatrix& panel, const Affine& column,
                                  int64_t first_block, bool accumulate)>;
  void for_panels(size_t layer, const Affine& column, int64_t columns, const Affine& turn,
                  const Body& body);
  /// Bytes per partition.
  static int64_t bytes(const Limits& limits, const FfnnOperands& operands, bool resident);

 private:
  Builder& builder_;
  const FfnnOperands& operands_;
  std::deque<ContractionLoader> loaders_;  // not copied: staging tiles belong to each
  std::vector<BlockedMatrix> resident_;
  View stream_;
};

/// Emits the whole network, batch tile by batch tile.
class FfnnKernel {
 public:
  FfnnKernel(Builder& builder, const FfnnOperands& operands, const FfnnPlan& plan,
             Dtype output_dtype);
  void emit(const FfnnSink& sink);

 private:
  void emit_batch(const Affine& row, int64_t rows, const Affine& index, const FfnnSink& sink);
  void hidden_layer(size_t layer, int64_t rows, const Affine& index);
  void output_layer(int64_t first, int64_t rows, const Affine& turn);
  BlockedMatrix activations(size_t layer, int64_t rows, const Affine& index) const;

  Builder& builder_;
  const FfnnOperands& operands_;
  const FfnnPlan plan_;
  std::optional<Transposer> transposer_;
  std::optional<ContractionLoader> load_x_;
  std::optional<FfnnWeights> weights_;
  std::vector<View> activations_;  ///< rings of blocked tiles, [width, batch]
  std::vector<Epilogue> epilogues_;
  View psum_, output_;
  int64_t columns_ = 0;
  BlockedMatrix last_;  ///< input of the output layer
};

}  // namespace neuron_sim
