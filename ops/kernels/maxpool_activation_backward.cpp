#include "ops/kernels/maxpool_activation_backward.h"

#include <algorithm>
#include <optional>

#include "device/base/errors.h"
#include "device/isa/activation.h"
#include "device/isa/memset.h"
#include "ops/activation_gradient.h"
#include "ops/collapse.h"
#include "ops/operand_checks.h"
#include "ops/tiles.h"
#include "ops/window_argmax.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kOp = "maxpool_activation_backward";
constexpr int64_t kElements = 4096;  // sums per partition and tile
constexpr int kRing = 2;

/// Rows of the result, the windows that touch them and the rows of sums that those read.
struct Band {
  int64_t row = 0, rows = 0;
  int64_t window = 0, windows = 0;
  int64_t first = 0, count = 0;
};

/// HBM views [leading..., planes, rows, columns].
struct Tensors {
  View gradient, sums, result;
  Tensors select(const Affine& index) const {
    return {gradient.select(0, index), sums.select(0, index), result.select(0, index)};
  }
  Tensors planes(const Affine& first, int64_t count) const {
    return {gradient.slice(0, first, count), sums.slice(0, first, count),
            result.slice(0, first, count)};
  }
};

class MaxpoolBackward {
 public:
  MaxpoolBackward(Builder& builder, const Tensors& tensors, const MaxpoolActivationOptions& options)
      : builder_(builder),
        activation_(options.activation),
        pool_{options.pool_kernel, options.pool_stride} {
    const auto sizes = [](const View& view) -> std::array<int64_t, 2> {
      return {view.size(view.rank() - 2), view.size(view.rank() - 1)};
    };
    outputs_ = sizes(tensors.gradient);
    inputs_ = sizes(tensors.sums);
    dtype_ = tensors.gradient.dtype();
    sums_dtype_ = tensors.sums.dtype();
    cut_bands();
    allocate();
  }

  void emit(const Tensors& tensors) {
    if (tensors.sums.rank() == 4) {
      builder_.loop(tensors.sums.size(0),
                    [&](const Affine& index) { emit(tensors.select(index)); });
      return;
    }
    for_tiles(builder_, tensors.sums.size(0), builder_.limits().partitions,
              [&](const Affine& plane, int64_t planes, const Affine& index) {
                for (size_t i = 0; i < bands_.size(); ++i) {
                  emit_band(tensors.planes(plane, planes), bands_[i],
                            index * static_cast<int64_t>(bands_.size()) + static_cast<int64_t>(i));
                }
              });
  }

 private:
  bool pools() const { return pool_.elements() > 1 || pool_.stride[0] * pool_.stride[1] > 1; }
  bool activates() const { return activation_ != Activation::kIdentity; }
  bool widens() const { return sums_dtype_ != Dtype::kFloat32; }

  Band band(int64_t row, int64_t rows) const {
    Band result{row, rows};
    const int64_t kernel = pool_.kernel[0], stride = pool_.stride[0];
    result.window = std::max<int64_t>(0, ceiling(row - kernel + 1, stride));
    if (row < kernel) result.window = 0;
    result.windows = std::max<int64_t>(0, std::min(outputs_[0] - 1, (row + rows - 1) / stride) -
                                              result.window + 1);
    result.first = row;
    int64_t end = row + rows;
    if (result.windows > 0) {
      result.first = std::min(row, result.window * stride);
      end = std::max(end, (result.window + result.windows - 1) * stride + kernel);
    }
    result.count = end - result.first;
    return result;
  }

  /// Bands of whole windows, as high as SBUF and kElements allow.
  void cut_bands() {
    const int64_t step = pool_.stride[0];
    int64_t rows = std::max<int64_t>(1, kElements / inputs_[1] / step) * step;
    for (rows = std::min(rows, inputs_[0]);;
         rows = rows > step ? ceiling(rows / step, 2) * step : ceiling(rows, 2)) {
      bands_.clear();
      for (int64_t row = 0; row < inputs_[0]; row += rows) {
        bands_.push_back(band(row, std::min(rows, inputs_[0] - row)));
      }
      if (bytes() <= builder_.limits().sbuf_usable.count) return;
      if (rows == 1) break;
    }
    fail(text(kOp, ": a row of ", inputs_[1], " sums with windows of ", pool_.kernel[0], " rows ",
              "needs ", bytes(), " bytes per partition, sbuf has ",
              builder_.limits().sbuf_usable.count, " on ", builder_.architecture().name, "."),
         ErrorKind::kOutOfMemory);
  }

  Band largest() const {
    Band result;
    for (const Band& band : bands_) {
      result.rows = std::max(result.rows, band.rows);
      result.windows = std::max(result.windows, band.windows);
      result.count = std::max(result.count, band.count);
    }
    return result;
  }

  int64_t bytes() const {
    const Band most = largest();
    const int64_t wide = itemsize(Dtype::kFloat32), element = itemsize(dtype_);
    const int64_t per_sum = itemsize(sums_dtype_) + (widens() ? wide : 0) +
                            (activates() ? wide : 0) +
                            (pools() ? itemsize(WindowArgmax::result_dtype(pool_, dtype_)) : 0);
    const int64_t per_result =
        element + ActivationGradient::scratch_bytes(activation_, target_dtype());
    const int64_t each = most.count * inputs_[1] * per_sum + most.rows * inputs_[1] * per_result +
                         most.windows * outputs_[1] * element;
    const int64_t argmax = pools() ? WindowArgmax::bytes(pool_, {most.windows, outputs_[1]},
                                                         {most.count, inputs_[1]}, dtype_)
                                   : 0;
    return kRing * each + argmax + 1024;
  }

  Dtype target_dtype() const {
    return pools() ? WindowArgmax::result_dtype(pool_, dtype_) : dtype_;
  }

  void allocate() {
    const Band most = largest();
    const int64_t partitions = builder_.limits().partitions;
    const std::vector<int64_t> whole{partitions, most.count, inputs_[1]};
    const std::vector<int64_t> part{partitions, most.rows, inputs_[1]};
    gradient_ =
        builder_.sbuf("gradient_tile",
                      {partitions, std::max<int64_t>(most.windows, 1), outputs_[1]}, dtype_, kRing);
    loaded_ = builder_.sbuf("sums_tile", whole, sums_dtype_, kRing);
    if (widens()) sums_ = builder_.sbuf("wide_sums", whole, Dtype::kFloat32, kRing);
    if (activates() && pools()) values_ = builder_.sbuf("values", whole, Dtype::kFloat32, kRing);
    result_ = builder_.sbuf("result", part, dtype_, kRing);
    if (pools()) {
      target_ = builder_.sbuf("distributed", whole, target_dtype(), kRing);
      argmax_.emplace(builder_, pool_,
                      std::array<int64_t, 2>{std::max<int64_t>(most.windows, 1), outputs_[1]},
                      std::array<int64_t, 2>{most.count, inputs_[1]}, dtype_);
    }
    derivative_.emplace(builder_, activation_, part, target_dtype(), kRing);
  }

  static View rows_of(const View& tile, int64_t planes, int64_t first, int64_t count) {
    return tile.slice(0, 0, planes).slice(1, first, count);
  }

  /// The sums of a band in fp32.
  View load_sums(const View& source, const Band& band, const Affine& turn) {
    const int64_t planes = source.size(0);
    const View loaded = rows_of(loaded_.turn(turn), planes, 0, band.count);
    load(builder_, loaded, source.slice(1, band.first, band.count));
    if (!widens()) return loaded;
    const View sums = rows_of(sums_.turn(turn), planes, 0, band.count);
    builder_.emit(Activate{.dst = sums, .data = loaded});
    return sums;
  }

  void emit_band(const Tensors& tensors, const Band& band, const Affine& turn) {
    const int64_t planes = tensors.sums.size(0);
    const View sums = load_sums(tensors.sums, band, turn);
    View target;
    if (band.windows > 0) {
      target = rows_of(gradient_.turn(turn), planes, 0, band.windows);
      load(builder_, target, tensors.gradient.slice(1, band.window, band.windows),
           EngineKind::kScalar);
    }
    if (pools()) target = distribute(target, sums, band, turn);
    const View result = rows_of(result_.turn(turn), planes, 0, band.rows);
    const int64_t first = pools() ? band.row - band.first : 0;
    derivative_->emit(result, rows_of(target, planes, first, band.rows),
                      rows_of(sums, planes, band.row - band.first, band.rows), turn);
    store(builder_, tensors.result.slice(1, band.row, band.rows), result);
  }

  View distribute(const View& gradients, const View& sums, const Band& band, const Affine& turn) {
    const View target = rows_of(target_.turn(turn), sums.size(0), 0, band.count);
    if (band.windows == 0) {
      builder_.emit(Memset{.dst = target, .engine = EngineKind::kGpSimd});
      return target;
    }
    View values = sums;
    if (activates()) {
      values = rows_of(values_.turn(turn), sums.size(0), 0, band.count);
      builder_.emit(Activate{.dst = values, .data = sums, .op = activation_});
    }
    // Windows start at the first row that one of them reads.
    const int64_t offset = band.window * pool_.stride[0] - band.first;
    if (offset > 0) {
      builder_.emit(Memset{.dst = target.slice(1, 0, offset), .engine = EngineKind::kGpSimd});
    }
    argmax_->distribute(target.slice(1, offset, band.count - offset), gradients,
                        values.slice(1, offset, band.count - offset), turn);
    return target;
  }

  Builder& builder_;
  const Activation activation_;
  const PoolWindows pool_;
  std::array<int64_t, 2> outputs_{}, inputs_{};
  Dtype dtype_ = Dtype::kFloat32, sums_dtype_ = Dtype::kFloat32;
  std::vector<Band> bands_;
  View gradient_, loaded_, sums_, values_, target_, result_;
  std::optional<WindowArgmax> argmax_;
  std::optional<ActivationGradient> derivative_;
};

/// [planes, rows, columns], or [N, C, rows, columns] where one tensor does not let N and C merge.
Tensors make_tensors(Builder& builder, const TensorSpec& gradient, const TensorSpec& sums) {
  const TensorSpec dense{sums.shape, {}, gradient.dtype};
  const std::array<const TensorSpec*, 3> specs{&gradient, &sums, &dense};
  const char* const labels[] = {"gradient", "sums", "result"};
  std::vector<std::vector<int64_t>> leading;
  for (const TensorSpec* spec : specs) {
    const std::vector<int64_t> strides = strides_of(*spec);
    leading.push_back({strides[0], strides[1]});
  }
  const auto dimensions = collapse({sums.shape[0], sums.shape[1]}, leading);
  View views[3];
  for (size_t i = 0; i < 3; ++i) {
    std::vector<int64_t> sizes = sizes_of(dimensions), strides = strides_of(dimensions, i);
    const std::vector<int64_t> all = strides_of(*specs[i]);
    for (size_t d = 2; d < 4; ++d) {
      sizes.push_back(specs[i]->shape[d]);
      strides.push_back(all[d]);
    }
    views[i] = builder.argument(labels[i], sizes, specs[i]->dtype, strides);
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

}  // namespace

BuiltOp build_maxpool_activation_backward(const Architecture& architecture,
                                          const TensorSpec& gradient, const TensorSpec& sums,
                                          const MaxpoolActivationOptions& options) {
  check_arguments(gradient, sums, options);
  BuiltOp built;
  built.output = {sums.shape, {}, gradient.dtype};
  if (built.output.elements() == 0) return built;
  Builder builder(std::string(kOp), architecture);
  const Tensors tensors = make_tensors(builder, gradient, sums);
  MaxpoolBackward(builder, tensors, options).emit(tensors);
  built.program = builder.finish();
  return built;
}

}  // namespace neuron_sim
