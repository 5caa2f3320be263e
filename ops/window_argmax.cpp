#include "ops/window_argmax.h"

#include "device/isa/memset.h"
#include "device/isa/tensor_copy.h"
#include "device/isa/tensor_scalar.h"
#include "device/isa/tensor_tensor.h"

namespace neuron_sim {
namespace {

constexpr int kRing = 2;
// Largest run of integers that float16 holds exactly.
constexpr int64_t kLargestHalf = 2048;

Dtype number_dtype(const PoolWindows& pool) {
  return pool.elements() <= kLargestHalf ? Dtype::kFloat16 : Dtype::kFloat32;
}
Dtype integers_like(Dtype dtype) { return itemsize(dtype) == 4 ? Dtype::kInt32 : Dtype::kInt16; }

View part(const View& tile, const View& like, const Affine& turn) {
  View result = tile.turn(turn);
  for (int i = 0; i < like.rank(); ++i) result = result.slice(i, 0, like.size(i));
  return result;
}

}  // namespace

bool PoolWindows::cover(const std::array<int64_t, 2>& windows,
                        const std::array<int64_t, 2>& sizes) const {
  for (size_t i = 0; i < 2; ++i) {
    if (kernel[i] < stride[i] || (windows[i] - 1) * stride[i] + kernel[i] < sizes[i]) return false;
  }
  return true;
}

View PoolWindows::element(const View& tile, int64_t index,
                          const std::array<int64_t, 2>& windows) const {
  return tile.slice(1, index / kernel[1], windows[0], stride[0])
      .slice(2, index % kernel[1], windows[1], stride[1]);
}

WindowArgmax::WindowArgmax(Builder& builder, const PoolWindows& pool,
                           const std::array<int64_t, 2>& windows,
                           const std::array<int64_t, 2>& sizes, Dtype dtype)
    : builder_(builder), pool_(pool) {
  const int64_t partitions = builder.limits().partitions;
  const auto tile = [&](const char* label, const std::array<int64_t, 2>& shape, Dtype type) {
    return builder.sbuf(label, {partitions, shape[0], shape[1]}, type, kRing);
  };
  if (pool.overlap()) selected_ = tile("selected", windows, dtype);
  if (pool.elements() == 1) return;
  not_a_number_ = tile("not_a_number", sizes, number_dtype(pool));
  maximum_ = tile("maximum", windows, Dtype::kFloat32);
  beats_ = tile("beats", windows, number_dtype(pool));
  number_ = tile("number", windows, number_dtype(pool));
  mask_ = tile("mask", windows, integers_like(dtype));
}

int64_t WindowArgmax::bytes(const PoolWindows& pool, const std::array<int64_t, 2>& windows,
                            const std::array<int64_t, 2>& sizes, Dtype dtype) {
  const int64_t element = itemsize(dtype), number = itemsize(number_dtype(pool));
  int64_t each = pool.overlap() ? element : 0;
  int64_t whole = 0;
  if (pool.elements() > 1) {
    each += itemsize(Dtype::kFloat32) + 2 * number + element;
    whole = number;
  }
  constexpr int64_t kRounding = 64 * 6;
  return kRing * (windows[0] * windows[1] * each + sizes[0] * sizes[1] * whole + kRounding);
}

Dtype WindowArgmax::result_dtype(const PoolWindows& pool, Dtype dtype) {
  return pool.overlap() ? Dtype::kFloat32 : dtype;
}

/// number = of the element that wins its window. A later one wins if it is larger than the maximum
/// so far, which a NaN before it prevents for ever, or if it is NaN.
void WindowArgmax::find(const View& values, const View& number, const Affine& turn) {
  const std::array<int64_t, 2> windows{number.size(1), number.size(2)};
  const View nan = part(not_a_number_, values, turn);
  const View maximum = part(maximum_, number, turn), beats = part(beats_, number, turn);
  const auto combine = [&](const View& dst, const View& left, const View& right, AluOp op) {
    builder_.emit(TensorTensor{
        .dst = dst, .data1 = left, .data2 = right, .op = op, .engine = EngineKind::kVector});
  };
  builder_.emit(TensorTensor{.dst = nan,
                             .data1 = values,
                             .data2 = values,
                             .op = AluOp::kNotEqual,
                             .engine = EngineKind::kGpSimd});
  builder_.emit(TensorCopy{
      .dst = maximum, .src = pool_.element(values, 0, windows), .engine = EngineKind::kGpSimd});
  builder_.emit(Memset{.dst = number, .engine = EngineKind::kGpSimd});
  for (int64_t i = 1; i < pool_.elements(); ++i) {
    const View value = pool_.element(values, i, windows);
    combine(beats, value, maximum, AluOp::kGreater);
    combine(beats, beats, pool_.element(nan, i, windows), AluOp::kMaximum);
    if (i + 1 < pool_.elements()) combine(maximum, maximum, value, AluOp::kMaximum);
    builder_.emit(TensorScalar{
        .dst = beats, .data = beats, .op0 = AluOp::kMultiply, .constant0 = static_cast<double>(i)});
    combine(number, number, beats, AluOp::kMaximum);
  }
}

void WindowArgmax::distribute(const View& target, const View& gradients, const View& values,
                              const Affine& turn) {
  const std::array<int64_t, 2> windows{gradients.size(1), gradients.size(2)};
  if (pool_.overlap() || !pool_.cover(windows, {target.size(1), target.size(2)})) {
    builder_.emit(Memset{.dst = target, .engine = EngineKind::kGpSimd});
  }
  if (pool_.elements() == 1) {
    builder_.emit(TensorCopy{.dst = pool_.element(target, 0, windows), .src = gradients});
    return;
  }
  const View number = part(number_, gradients, turn), mask = part(mask_, gradients, turn);
  const View bits = gradients.reinterpret(mask.dtype());
  find(values, number, turn);
  for (int64_t i = 0; i < pool_.elements(); ++i) {
    const View place = pool_.element(target, i, windows);
    const View selected = pool_.overlap() ? part(selected_, gradients, turn) : place;
    builder_.emit(TensorScalar{.dst = mask,
                               .data = number,
                               .op0 = AluOp::kEqual,
                               .constant0 = static_cast<double>(i),
                               .op1 = AluOp::kMultiply,
                               .constant1 = -1});
    builder_.emit(TensorTensor{.dst = selected.reinterpret(mask.dtype()),
                               .data1 = bits,
                               .data2 = mask,
                               .op = AluOp::kBitwiseAnd});
    if (!pool_.overlap()) continue;
    builder_.emit(TensorTensor{.dst = place, .data1 = place, .data2 = selected});
  }
}

}  // namespace neuron_sim
