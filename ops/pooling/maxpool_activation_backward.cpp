#include "ops/pooling/maxpool_activation_backward.h"

#include <optional>

#include "device/base/errors.h"
#include "device/isa/activation/activation.h"
#include "device/isa/movement/memset.h"
#include "ops/blocks/activation_gradient.h"
#include "ops/blocks/collapse.h"
#include "ops/blocks/epilogue.h"
#include "ops/blocks/tiles.h"
#include "ops/contract/named_kernel.h"
#include "ops/contract/operand_checks.h"
#include "ops/pooling/maxpool_activation_plan.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kOp = "maxpool_activation_backward";

/// HBM views [planes, rows, columns], or [images, channels, rows, columns].
struct Tensors {
  View gradient, sums, result;

  Tensors map(const std::function<View(const View&)>& change) const {
    return {change(gradient), change(sums), change(result)};
  }
};

class MaxpoolBackward {
 public:
  MaxpoolBackward(Builder& builder, const MaxpoolPlan& plan) : builder_(builder), plan_(plan) {
    const auto tile = [&](const char* label, const WindowArgmax::Shape& shape, Dtype dtype) {
      return builder.sbuf(label, sizes(shape), dtype, plan.ring);
    };
    gradient_ = tile("gradient_tile", plan.window_shape(), plan.dtype);
    loaded_ = tile("sums_tile", plan.sums_shape(), plan.sums_dtype);
    if (plan.widens()) sums_ = tile("wide_sums", plan.sums_shape(), Dtype::kFloat32);
    if (plan.rounds()) result_ = tile("result", plan.result_shape(), plan.dtype);
    if (plan.derives_sums()) {
      derivative_.emplace(builder, plan.activation, sizes(plan.result_shape()), plan.target_dtype(),
                          plan.ring);
    }
    if (!plan.pools()) return;
    target_ = tile("distributed", plan.sums_shape(), plan.target_dtype());
    if (plan.derives_sums()) values_ = tile("values", plan.sums_shape(), Dtype::kFloat32);
    if (plan.derives_windows()) {
      derivative_.emplace(builder, plan.activation, sizes(plan.window_shape()), plan.dtype,
                          plan.ring);
      if (plan.window_dtype() != plan.dtype) {
        weighted_ = tile("weighted_gradient", plan.window_shape(), plan.window_dtype());
      }
    }
    argmax_.emplace(builder, plan.pool, plan.window_shape(), plan.sums_shape(), plan.window_dtype(),
                    plan.ring);
  }

  void emit(const Tensors& tensors) {
    if (tensors.sums.rank() == 4) {
      builder_.loop(tensors.sums.size(0), [&](const Affine& image) {
        emit(tensors.map([&](const View& view) { return view.select(0, image); }));
      });
      return;
    }
    const int64_t partitions = builder_.limits().partitions, step = partitions * plan_.group;
    const int64_t planes = tensors.sums.size(0), full = planes / step * step;
    for_tiles(builder_, full, step, [&](const Affine& plane, int64_t count, const Affine& index) {
      emit_bands(tensors.map([&](const View& view) {
        return view.slice(0, plane, count).split(0, partitions, plan_.group);
      }),
                 index);
    });
    for_tiles(builder_, planes - full, partitions,
              [&](const Affine& plane, int64_t count, const Affine& index) {
                emit_bands(tensors.map([&](const View& view) {
                  return view.slice(0, plane + full, count).expand(1);
                }),
                           index);
              });
  }

 private:
  std::vector<int64_t> sizes(const WindowArgmax::Shape& shape) const {
    return {builder_.limits().partitions, shape[0], shape[1], shape[2]};
  }

  /// The part of a tile with the partitions and planes of `like` and `rows` rows.
  static View part(const View& tile, const View& like, int64_t rows, const Affine& turn) {
    return tile.turn(turn).slice(0, 0, like.size(0)).slice(1, 0, like.size(1)).slice(2, 0, rows);
  }

  /// Tensors [P, G, rows, columns].
  void emit_bands(const Tensors& tensors, const Affine& index) {
    const auto bands = static_cast<int64_t>(plan_.bands.size());
    for (int64_t i = 0; i < bands; ++i) {
      emit_band(tensors, plan_.bands[static_cast<size_t>(i)], index * bands + i);
    }
  }

  void emit_band(const Tensors& tensors, const PoolBand& band, const Affine& turn) {
    const View sums = load_sums(tensors.sums, band, turn);
    View target;
    if (band.windows > 0) {
      target = part(gradient_, sums, band.windows, turn);
      load(builder_, target, tensors.gradient.slice(2, band.window, band.windows),
           EngineKind::kScalar);
    }
    if (plan_.pools()) {
      target = distribute(target, sums, band, turn).slice(2, band.row - band.first, band.rows);
    }
    if (plan_.rounds()) {
      const View result = part(result_, sums, band.rows, turn);
      if (plan_.derives_sums()) {
        derivative_->emit(result, target, sums.slice(2, band.row - band.first, band.rows), turn);
      } else {
        builder_.emit(Activate{.dst = result, .data = target});
      }
      target = result;
    }
    store(builder_, tensors.result.slice(2, band.row, band.rows), target);
  }

  /// The sums of a band in fp32.
  View load_sums(const View& source, const PoolBand& band, const Affine& turn) {
    View loaded = part(loaded_, source, band.count, turn);
    load(builder_, loaded, source.slice(2, band.first, band.count));
    if (!plan_.widens()) return loaded;
    View sums = part(sums_, source, band.count, turn);
    builder_.emit(Activate{.dst = sums, .data = loaded});
    return sums;
  }

  /// Gradients at the maxima of their windows, [P, G, band.count, columns].
  View distribute(const View& gradients, const View& sums, const PoolBand& band,
                  const Affine& turn) {
    View target = part(target_, sums, band.count, turn);
    // Windows start at the first row that one of them reads.
    const int64_t offset =
        band.windows > 0 ? band.window * plan_.pool.stride[0] - band.first : band.count;
    if (offset > 0) {
      builder_.emit(Memset{.dst = target.slice(2, 0, offset), .engine = EngineKind::kGpSimd});
    }
    if (band.windows == 0) return target;
    View values = sums;
    if (values_.present()) {
      values = part(values_, sums, band.count, turn);
      builder_.emit(Activate{.dst = values, .data = sums, .op = plan_.activation});
    }
    const View maxima =
        argmax_->find(values.slice(2, offset, band.count - offset), gradients, turn);
    View weighted = gradients;
    if (plan_.derives_windows()) {
      if (weighted_.present()) weighted = part(weighted_, sums, band.windows, turn);
      derivative_->emit(weighted, gradients, maxima, turn);
    }
    argmax_->distribute(target.slice(2, offset, band.count - offset), weighted, turn);
    return target;
  }

  Builder& builder_;
  const MaxpoolPlan& plan_;
  View gradient_, loaded_, sums_, values_, weighted_, target_, result_;
  std::optional<WindowArgmax> argmax_;
  std::optional<ActivationGradient> derivative_;
};

/// [planes, rows, columns], or [N, C, rows, columns] where N and C of one tensor do not merge.
Tensors make_tensors(const std::array<HbmTensor, 3>& given) {
  std::vector<std::vector<int64_t>> leading;
  leading.reserve(given.size());
  for (const HbmTensor& tensor : given) leading.push_back({tensor.strides[0], tensor.strides[1]});
  const auto dimensions = collapse({given[1].shape[0], given[1].shape[1]}, leading);
  View views[3];
  for (size_t i = 0; i < 3; ++i) {
    std::vector<int64_t> sizes = sizes_of(dimensions), strides = strides_of(dimensions, i);
    sizes.insert(sizes.end(), given[i].shape.begin() + 2, given[i].shape.end());
    strides.insert(strides.end(), given[i].strides.begin() + 2, given[i].strides.end());
    views[i] = given[i].view(sizes, strides);
  }
  return {views[0], views[1], views[2]};
}

void check_arguments(const TensorSpec& gradient, const TensorSpec& sums,
                     const MaxpoolActivationOptions& options) {
  check_rank(kOp, "gradient", gradient, 4);
  check_rank(kOp, "sums", sums, 4);
  check_float_operand(kOp, "gradient", gradient);
  if (sums.dtype != Dtype::kFloat32) check_same_dtype(kOp, "gradient", gradient, "sums", sums);
  for (size_t i = 0; i < 2; ++i) {
    const int64_t kernel = options.pool_kernel[i], stride = options.pool_stride[i];
    if (kernel < 1 || stride < 1 || sums.shape[2 + i] < kernel) {
      fail(text(kOp, ": a pooling window of ", kernel, " with stride ", stride,
                " does not fit dimension ", 2 + i, " of ", describe("sums", sums), "."));
    }
    check_size(kOp, "gradient", gradient, static_cast<int64_t>(2 + i),
               (sums.shape[2 + i] - kernel) / stride + 1);
    check_size(kOp, "gradient", gradient, static_cast<int64_t>(i), sums.shape[i]);
  }
}

std::vector<TensorSpec> results_of(std::span<const TensorSpec> operands,
                                   const MaxpoolActivationOptions& options) {
  check_arguments(operands[0], operands[1], options);
  return {{operands[1].shape, {}, operands[0].dtype}};
}

void emit_backward(Builder& builder, HbmTensors operands, HbmTensors results,
                   const MaxpoolActivationOptions& options) {
  const HbmTensor &gradient = operands[0], &sums = operands[1];
  const Tensors tensors = make_tensors({gradient, sums, results[0]});
  MaxpoolPlan plan;
  plan.activation = options.activation;
  plan.pool = {options.pool_kernel, options.pool_stride};
  plan.outputs = {gradient.shape[2], gradient.shape[3]};
  plan.inputs = {sums.shape[2], sums.shape[3]};
  plan.dtype = gradient.dtype();
  plan.sums_dtype = sums.dtype();
  cut_bands(builder.architecture(), tensors.sums.size(tensors.sums.rank() - 3), plan);
  MaxpoolBackward(builder, plan).emit(tensors);
}

}  // namespace

const KernelDefinition<MaxpoolActivationOptions> kMaxpoolActivationBackward{
    "maxpool_activation_backward", "gradient sums -> result", results_of, emit_backward};
const NamedKernel kMaxpoolActivationBackwardByName{kMaxpoolActivationBackward};

}  // namespace neuron_sim
