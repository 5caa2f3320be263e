#include "ops/rows/bias_add_activation.h"

#include <algorithm>
#include <optional>

#include "device/base/errors.h"
#include "device/isa/activation/activation.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "ops/blocks/epilogue.h"
#include "ops/blocks/softmax.h"
#include "ops/blocks/tiles.h"
#include "ops/contract/named_kernel.h"
#include "ops/contract/operand_checks.h"
#include "ops/rows/collapsed_rows.h"
#include "ops/rows/streaming_softmax.h"

namespace neuron_sim {
namespace {

constexpr int64_t kElements = 2048;  // per partition and tile

class BiasAdd {
 public:
  BiasAdd(Builder& builder, const View& x, const View& bias, const View& out,
          const OutputFunction& function)
      : builder_(builder), bias_(bias), function_(function) {
    partitions_ = builder.limits().partitions;
    const int64_t features = bias.size(0);
    columns_ = function.softmax ? features : std::min(features, kElements);
    const int64_t rows = x.size(x.rank() - 2);
    group_ = function.softmax
                 ? 1
                 : std::clamp<int64_t>(kElements / columns_, 1, ceiling(rows, partitions_));
    const std::vector<int64_t> shape{partitions_, group_, columns_};
    ring_ = fitting_ring(x.dtype());
    bias_tile_ = builder.sbuf("bias", {partitions_, columns_}, bias.dtype(), bias_tiles());
    input_ = builder.sbuf("x_tile", shape, x.dtype(), ring_);
    sum_ = builder.sbuf("sum", shape, Dtype::kFloat32, sum_ring(ring_));
    output_ = builder.sbuf("result", shape, out.dtype(), ring_);
    if (function.softmax) softmax_.emplace(builder);
  }

  /// Whether SBUF has room for whole rows of that many features, as softmax needs them.
  static bool holds_rows(const Limits& limits, int64_t features, Dtype dtype) {
    return bytes_of_rings(1, 1, features, 1, dtype) <= limits.sbuf_usable.count;
  }

  /// x and out are [leading..., rows, features].
  void emit(const View& x, const View& out) {
    for_tiles(builder_, bias_.size(0), columns_,
              [&](const Affine& column, int64_t columns, const Affine& index) {
                bias_panel_ = bias_tile_.turn(index).slice(1, 0, columns);
                load(builder_, bias_panel_,
                     bias_.slice(0, column, columns).expand(0).broadcast(0, partitions_));
                emit_leading(x.slice(x.rank() - 1, column, columns),
                             out.slice(out.rank() - 1, column, columns));
              });
  }

 private:
  /// Vector writes the sums of a tile while Scalar still reads those of the previous two.
  static int sum_ring(int ring) { return ring > 1 ? 3 : 1; }
  /// Bytes per partition that rings of that many tiles need; 4 KiB cover the small rings.
  static int64_t bytes_of_rings(int ring, int64_t group, int64_t columns, int bias_tiles,
                                Dtype dtype) {
    const int64_t element = itemsize(dtype);
    const int64_t sum_bytes = int64_t{sum_ring(ring)} * itemsize(Dtype::kFloat32);
    const int64_t bytes = int64_t{2} * ring * element + sum_bytes;
    return columns * (group * bytes + bias_tiles * element) + 4096;
  }
  int bias_tiles() const { return columns_ < bias_.size(0) ? 2 : 1; }
  /// Tiles of each kind that fit SBUF, at most three; long softmax rows leave room for one.
  int fitting_ring(Dtype dtype) const {
    int ring = kTripleBuffer;
    while (ring > 1 && bytes_of_rings(ring, group_, columns_, bias_tiles(), dtype) >
                           builder_.limits().sbuf_usable.count) {
      --ring;
    }
    return ring;
  }

  void emit_leading(const View& x, const View& out) {
    if (x.rank() == 2) return emit_rows(x, out);
    builder_.loop(x.size(0), [&](const Affine& index) {
      emit_leading(x.select(0, index), out.select(0, index));
    });
  }

  void emit_rows(const View& x, const View& out) {
    const int64_t step = partitions_ * group_;
    const int64_t full = x.size(0) / step * step;
    emit_tiles(full, step, [&](bool output, const Affine& row, int64_t rows) {
      return (output ? out : x).slice(0, row, rows).split(0, partitions_, group_);
    });
    emit_tiles(x.size(0) - full, partitions_, [&](bool output, const Affine& row, int64_t rows) {
      return (output ? out : x).slice(0, row + full, rows).expand(1);
    });
  }

  /// `cut` gives the window [P, group, columns] of x or of the output.
  void emit_tiles(int64_t rows, int64_t step,
                  const std::function<View(bool output, const Affine&, int64_t)>& cut) {
    const TileBody start = [&](const Affine& row, int64_t count, const Affine& turn) {
      start_tile(cut(false, row, count), turn);
    };
    const TileBody finish = [&](const Affine& row, int64_t count, const Affine& turn) {
      finish_tile(cut(true, row, count), turn);
    };
    if (ring_ > 1) return for_tiles_ahead(builder_, rows, step, start, finish);
    for_tiles(builder_, rows, step, [&](const Affine& row, int64_t count, const Affine& turn) {
      start(row, count, turn);
      finish(row, count, turn);
    });
  }

  bool plain() const { return !function_.softmax && function_.pointwise == Activation::kIdentity; }
  static View cut(const View& ring, const View& window, const Affine& turn) {
    return ring.turn(turn)
        .slice(0, 0, window.size(0))
        .slice(1, 0, window.size(1))
        .slice(2, 0, window.size(2));
  }

  void start_tile(const View& x, const Affine& turn) {
    const View input = cut(input_, x, turn), sum = cut(plain() ? output_ : sum_, x, turn);
    const View bias = bias_panel_.slice(0, 0, x.size(0)).expand(1).broadcast(1, x.size(1));
    load(builder_, input, x);
    builder_.emit(TensorTensor{.dst = sum, .data1 = input, .data2 = bias});
    if (function_.softmax) softmax_->start(sum.select(1, 0), turn);
  }

  void finish_tile(const View& out, const Affine& turn) {
    const View sum = cut(sum_, out, turn), output = cut(output_, out, turn);
    if (function_.softmax) {
      softmax_->finish(output.select(1, 0), sum.select(1, 0), turn);
    } else if (!plain()) {
      builder_.emit(Activate{.dst = output, .data = sum, .op = function_.pointwise});
    }
    store(builder_, out, output);
  }

  Builder& builder_;
  const View bias_;
  const OutputFunction function_;
  int64_t partitions_ = 0, columns_ = 0, group_ = 1;
  int ring_ = 1;
  View bias_tile_, bias_panel_, input_, sum_, output_;
  std::optional<Softmax> softmax_;
};

constexpr std::string_view kOp = "bias_add_activation";

std::vector<TensorSpec> results_of(std::span<const TensorSpec> operands,
                                   const BiasAddActivationOptions& options) {
  const TensorSpec &x = operands[0], &bias = operands[1];
  parse_output_function(kOp, options.activation);
  check_last_dimension(kOp, "x", x);
  check_rank(kOp, "bias", bias, 1);
  check_float_operand(kOp, "x", x);
  check_same_dtype(kOp, "x", x, "bias", bias);
  check_size(kOp, "bias", bias, 0, x.shape.back());
  return {{x.shape, {}, x.dtype}};
}

void emit_bias_add_activation(Builder& builder, HbmTensors operands, HbmTensors results,
                              const BiasAddActivationOptions& options) {
  const OutputFunction function = parse_output_function(kOp, options.activation);
  const std::vector<View> matrices = collapsed_rows(std::array{operands[0], results[0]});
  const View &x = matrices[0], bias = operands[1].view(), &out = matrices[1];
  if (function.softmax && !BiasAdd::holds_rows(builder.limits(), bias.size(0), x.dtype())) {
    return emit_streaming_softmax(builder, x, bias, out);
  }
  BiasAdd(builder, x, bias, out, function).emit(x, out);
}

}  // namespace

const KernelDefinition<BiasAddActivationOptions> kBiasAddActivation{
    "bias_add_activation", "x bias -> out", results_of, emit_bias_add_activation};
const NamedKernel kBiasAddActivationByName{kBiasAddActivation};

}  // namespace neuron_sim
