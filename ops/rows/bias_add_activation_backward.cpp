#include "ops/rows/bias_add_activation_backward.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "device/base/errors.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "ops/blocks/activation_gradient.h"
#include "ops/blocks/column_sums.h"
#include "ops/blocks/epilogue.h"
#include "ops/blocks/softmax_gradient.h"
#include "ops/blocks/tiles.h"
#include "ops/contract/named_kernel.h"
#include "ops/contract/operand_checks.h"
#include "ops/copies/zeros.h"
#include "ops/rows/collapsed_rows.h"
#include "ops/rows/streaming_softmax_backward.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kOp = "bias_add_activation_backward";
constexpr int64_t kElements = 2048;  // per partition and tile

/// HBM views [leading..., rows, features] and [features].
struct Tensors {
  View gradient, x, bias, x_gradient, bias_gradient;

  /// Some columns of the matrices.
  Tensors columns(const Affine& first, int64_t count) const {
    Tensors part = *this;
    for (View* view : {&part.gradient, &part.x, &part.x_gradient}) {
      *view = view->slice(view->rank() - 1, first, count);
    }
    part.bias = bias.slice(0, first, count);
    part.bias_gradient = bias_gradient.slice(0, first, count);
    return part;
  }
  Tensors select(const Affine& index) const {
    Tensors part = *this;
    for (View* view : {&part.gradient, &part.x, &part.x_gradient}) *view = view->select(0, index);
    return part;
  }
};

/// Tiles [P, group, columns] of the three matrices.
struct Windows {
  View gradient, x, x_gradient;
};

class BiasAddBackward {
 public:
  BiasAddBackward(Builder& builder, const Tensors& tensors, const OutputFunction& function)
      : builder_(builder), function_(function), dtype_(tensors.x.dtype()) {
    partitions_ = builder.limits().partitions;
    const int64_t features = tensors.bias.size(0);
    const int64_t rows = tensors.x.size(tensors.x.rank() - 2);
    columns_ = function.softmax ? features : std::min(features, kElements);
    if (!function.softmax) {
      const int64_t most = ColumnSums::group_limit(builder.limits(), columns_);
      group_ =
          std::clamp<int64_t>(kElements / columns_, 1, std::min(most, ceiling(rows, partitions_)));
    }
    ring_ = fitting_ring(features);
    const std::vector<int64_t> shape{partitions_, group_, columns_};
    bias_ = builder.sbuf("bias", {partitions_, columns_}, dtype_, columns_ < features ? 2 : 1);
    gradient_ = builder.sbuf("gradient_tile", shape, dtype_, ring_);
    if (!plain()) {
      x_ = builder.sbuf("x_tile", shape, dtype_, ring_);
      result_ = builder.sbuf("result", shape, dtype_, ring_);
      sum_ = builder.sbuf("sum", shape, Dtype::kFloat32, ring_);
    }
    if (function.softmax) {
      softmax_.emplace(builder, columns_, std::min(ring_, 2));
    } else if (!plain()) {
      activation_.emplace(builder, function.pointwise, shape, dtype_, std::min(ring_, 2));
    }
    sums_.emplace(builder, dtype_, group_, columns_);
  }

  /// Whether SBUF has room for whole rows of that many features, as softmax needs them.
  static bool holds_rows(const Limits& limits, int64_t features, Dtype dtype) {
    const int64_t line = ColumnSums::bytes(1, features) + features * itemsize(dtype);
    return bytes_of_rings(1, features, dtype, SoftmaxGradient::scratch_bytes()) + line <=
           limits.sbuf_usable.count;
  }

  void emit(const Tensors& tensors) {
    for_tiles(builder_, tensors.bias.size(0), columns_,
              [&](const Affine& column, int64_t columns, const Affine& index) {
                const Tensors part = tensors.columns(column, columns);
                bias_panel_ = bias_.turn(index).slice(1, 0, columns);
                load(builder_, bias_panel_, part.bias.expand(0).broadcast(0, partitions_));
                sums_->begin(columns);
                emit_leading(part);
                sums_->finish(part.bias_gradient);
              });
  }

 private:
  bool plain() const { return !function_.softmax && function_.pointwise == Activation::kIdentity; }

  /// Bytes per partition of tiles of `elements`, including rounding by the allocator.
  static int64_t bytes_of_rings(int ring, int64_t elements, Dtype dtype, int64_t scratch) {
    const int64_t each = int64_t{ring} * (3 * itemsize(dtype) + itemsize(Dtype::kFloat32));
    return elements * (each + std::min(ring, 2) * scratch) + 4096;
  }

  /// Tiles of each kind that fit SBUF; long softmax rows leave room for one.
  int fitting_ring(int64_t features) const {
    const int64_t scratch = function_.softmax
                                ? SoftmaxGradient::scratch_bytes()
                                : ActivationGradient::scratch_bytes(function_.pointwise, dtype_);
    const int64_t others = ColumnSums::bytes(group_, columns_) +
                           (columns_ < features ? 2 : 1) * columns_ * itemsize(dtype_);
    int ring = kTripleBuffer;
    while (ring > 1 && bytes_of_rings(ring, columns_ * group_, dtype_, scratch) + others >
                           builder_.limits().sbuf_usable.count) {
      --ring;
    }
    return ring;
  }

  void emit_leading(const Tensors& tensors) {
    if (tensors.x.rank() == 2) return emit_rows(tensors);
    builder_.loop(tensors.x.size(0),
                  [&](const Affine& index) { emit_leading(tensors.select(index)); });
  }

  void emit_rows(const Tensors& tensors) {
    const int64_t rows = tensors.x.size(0), step = partitions_ * group_;
    const int64_t full = rows / step * step;
    emit_tiles(tensors, full, step, [&](const View& view, const Affine& row, int64_t count) {
      return view.slice(0, row, count).split(0, partitions_, group_);
    });
    emit_tiles(tensors, rows - full, partitions_,
               [&](const View& view, const Affine& row, int64_t count) {
                 return view.slice(0, row + full, count).expand(1);
               });
  }

  /// `cut` gives the window [P, group, columns] of a matrix. The start of a tile is emitted before
  /// the end of the previous one, where rings allow.
  void emit_tiles(const Tensors& tensors, int64_t rows, int64_t step,
                  const std::function<View(const View&, const Affine&, int64_t)>& cut) {
    const auto windows = [&](const Affine& row, int64_t count) {
      return Windows{cut(tensors.gradient, row, count), cut(tensors.x, row, count),
                     cut(tensors.x_gradient, row, count)};
    };
    const TileBody start = [&](const Affine& row, int64_t count, const Affine& turn) {
      start_tile(windows(row, count), turn);
    };
    const TileBody finish = [&](const Affine& row, int64_t count, const Affine& turn) {
      finish_tile(windows(row, count), turn);
    };
    if (ring_ > 1) return for_tiles_ahead(builder_, rows, step, start, finish);
    for_tiles(builder_, rows, step, [&](const Affine& row, int64_t count, const Affine& turn) {
      start(row, count, turn);
      finish(row, count, turn);
    });
  }

  View tile(const View& ring, const View& window, const Affine& turn) const {
    View result = ring.turn(turn);
    for (int i = 0; i < 3; ++i) result = result.slice(i, 0, window.size(i));
    return result;
  }

  /// Vector is busier than GpSimd, which therefore adds the bias.
  void start_tile(const Windows& windows, const Affine& turn) {
    load(builder_, tile(gradient_, windows.x, turn), windows.gradient);
    if (plain()) return;
    const View x = tile(x_, windows.x, turn), sum = tile(sum_, windows.x, turn);
    const View bias = bias_panel_.slice(0, 0, x.size(0)).expand(1).broadcast(1, windows.x.size(1));
    load(builder_, x, windows.x);
    builder_.emit(
        TensorTensor{.dst = sum, .data1 = x, .data2 = bias, .engine = EngineKind::kGpSimd});
    if (function_.softmax) softmax_->start(sum.select(1, 0), turn);
  }

  void finish_tile(const Windows& windows, const Affine& turn) {
    const View gradient = tile(gradient_, windows.x, turn);
    View result = gradient;
    if (!plain()) {
      result = tile(result_, windows.x, turn);
      const View sum = tile(sum_, windows.x, turn);
      if (function_.softmax) {
        softmax_->finish(result.select(1, 0), gradient.select(1, 0), sum.select(1, 0), turn);
      } else {
        activation_->emit(result, gradient, sum, turn);
      }
    }
    sums_->add(result);
    // Tensor waits for the result anyway; GpSimd would be late with the bias of the tile after
    // next, which softmax has no slack for.
    store(builder_, windows.x_gradient, result,
          function_.softmax ? EngineKind::kTensor : kStoreQueue);
  }

  Builder& builder_;
  const OutputFunction function_;
  const Dtype dtype_;
  int64_t partitions_ = 0, columns_ = 0, group_ = 1;
  int ring_ = 1;
  View bias_, bias_panel_, gradient_, x_, result_, sum_;
  std::optional<SoftmaxGradient> softmax_;
  std::optional<ActivationGradient> activation_;
  std::optional<ColumnSums> sums_;
};

void check_arguments(const TensorSpec& gradient, const TensorSpec& x, const TensorSpec& bias) {
  check_last_dimension(kOp, "x", x);
  check_rank(kOp, "bias", bias, 1);
  check_float_operand(kOp, "x", x);
  check_same_dtype(kOp, "x", x, "bias", bias);
  check_same_dtype(kOp, "x", x, "gradient", gradient);
  check_size(kOp, "bias", bias, 0, x.shape.back());
  check_rank(kOp, "gradient", gradient, static_cast<int64_t>(x.shape.size()));
  for (size_t i = 0; i < x.shape.size(); ++i) {
    check_size(kOp, "gradient", gradient, static_cast<int64_t>(i), x.shape[i]);
  }
}

std::vector<TensorSpec> results_of(std::span<const TensorSpec> operands,
                                   const BiasAddActivationOptions& options) {
  const TensorSpec &x = operands[1], &bias = operands[2];
  parse_output_function(kOp, options.activation);
  check_arguments(operands[0], x, bias);
  return {{x.shape, {}, x.dtype}, {bias.shape, {}, x.dtype}};
}

void emit_backward(Builder& builder, HbmTensors operands, HbmTensors results,
                   const BiasAddActivationOptions& options) {
  const OutputFunction function = parse_output_function(kOp, options.activation);
  const View bias = operands[2].view(), bias_gradient = results[1].view();
  if (results[0].elements() == 0) return emit_zeros(builder, bias_gradient.expand(0));
  const std::vector<View> matrices =
      collapsed_rows(std::array{operands[0], operands[1], results[0]});
  const Tensors tensors{matrices[0], matrices[1], bias, matrices[2], bias_gradient};
  if (function.softmax &&
      !BiasAddBackward::holds_rows(builder.limits(), bias.size(0), bias.dtype())) {
    return emit_streaming_softmax_backward(builder, {tensors.gradient, tensors.x, tensors.bias,
                                                     tensors.x_gradient, tensors.bias_gradient});
  }
  BiasAddBackward(builder, tensors, function).emit(tensors);
}

}  // namespace

const KernelDefinition<BiasAddActivationOptions> kBiasAddActivationBackward{
    "bias_add_activation_backward", "gradient x bias -> grad_x grad_bias", results_of,
    emit_backward};
const NamedKernel kBiasAddActivationBackwardByName{kBiasAddActivationBackward};

}  // namespace neuron_sim
