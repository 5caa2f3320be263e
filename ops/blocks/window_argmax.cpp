#include "ops/blocks/window_argmax.h"

#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"

namespace neuron_sim {
namespace {

// Largest integer up to which float16 holds all integers exactly.
constexpr int64_t kLargestHalf = 2048;

Dtype number_dtype(const PoolWindows& pool) {
  return pool.elements() <= kLargestHalf ? Dtype::kFloat16 : Dtype::kFloat32;
}
Dtype integers_like(Dtype dtype) { return itemsize(dtype) == 4 ? Dtype::kInt32 : Dtype::kInt16; }

int64_t count(const WindowArgmax::Shape& shape) { return shape[0] * shape[1] * shape[2]; }

/// Whether a ring of maxima and one of masks share PSUM.
bool fits_psum(const Limits& limits, const WindowArgmax::Shape& windows, int ring) {
  const int64_t bank = limits.psum_bank.count;
  const int64_t banks = (count(windows) * itemsize(Dtype::kFloat32) + bank - 1) / bank;
  return 2 * banks * ring <= limits.psum_banks;
}

View part(const View& tile, const View& like, const Affine& turn) {
  View result = tile.turn(turn);
  for (int i = 0; i < like.rank(); ++i) result = result.slice(i, 0, like.size(i));
  return result;
}

}  // namespace

bool PoolWindows::cover(const View& windows, const View& tile) const {
  for (int i = 0; i < 2; ++i) {
    const auto axis = static_cast<size_t>(i);
    const int64_t end = (windows.size(2 + i) - 1) * stride[axis] + kernel[axis];
    if (kernel[axis] < stride[axis] || end < tile.size(2 + i)) return false;
  }
  return true;
}

View PoolWindows::element(const View& tile, int64_t index, const View& windows) const {
  return tile.slice(2, index / kernel[1], windows.size(2), stride[0])
      .slice(3, index % kernel[1], windows.size(3), stride[1]);
}

WindowArgmax::WindowArgmax(Builder& builder, const PoolWindows& pool, const Shape& windows,
                           const Shape& tile, Dtype dtype, int ring)
    : builder_(builder), pool_(pool) {
  const bool in_psum = fits_psum(builder.limits(), windows, ring);
  const auto allocate = [&](const char* label, const Shape& shape, Dtype type, bool psum) {
    const std::vector<int64_t> sizes{builder.limits().partitions, shape[0], shape[1], shape[2]};
    return psum ? builder.psum(label, sizes, type, ring) : builder.sbuf(label, sizes, type, ring);
  };
  maximum_ = allocate("maximum", windows, Dtype::kFloat32, in_psum);
  if (pool.overlap()) selected_ = allocate("selected", windows, dtype, false);
  if (pool.elements() == 1) return;
  not_a_number_ = allocate("not_a_number", tile, number_dtype(pool), false);
  beats_ = allocate("beats", windows, number_dtype(pool), false);
  number_ = allocate("number", windows, number_dtype(pool), false);
  mask_ = allocate("mask", windows, integers_like(dtype), in_psum);
}

int64_t WindowArgmax::bytes(const Limits& limits, const PoolWindows& pool, const Shape& windows,
                            const Shape& tile, Dtype dtype, int ring) {
  const int64_t element = itemsize(dtype), number = itemsize(number_dtype(pool));
  int64_t each = pool.overlap() ? element : 0;
  int64_t whole = 0;
  if (!fits_psum(limits, windows, ring)) each += itemsize(Dtype::kFloat32) + element;
  if (pool.elements() > 1) {
    each += 2 * number;
    whole = number;
  }
  constexpr int64_t kRounding = 384;  // six tiles to allocation steps of 64
  return ring * (count(windows) * each + count(tile) * whole + kRounding);
}

/// A later element wins if it is larger than the maximum so far, which an earlier NaN prevents for
/// good, or if it is NaN.
View WindowArgmax::find(const View& values, const View& windows, const Affine& turn) {
  View maximum = part(maximum_, windows, turn);
  builder_.emit(TensorCopy{.dst = maximum, .src = pool_.element(values, 0, windows)});
  if (pool_.elements() == 1) return maximum;
  const View nan = part(not_a_number_, values, turn);
  const View beats = part(beats_, windows, turn), number = part(number_, windows, turn);
  const auto combine = [&](const View& dst, const View& left, const View& right, AluOp op) {
    builder_.emit(TensorTensor{
        .dst = dst, .data1 = left, .data2 = right, .op = op, .engine = EngineKind::kVector});
  };
  builder_.emit(TensorTensor{.dst = nan,
                             .data1 = values,
                             .data2 = values,
                             .op = AluOp::kNotEqual,
                             .engine = EngineKind::kGpSimd});
  builder_.emit(Memset{.dst = number, .engine = EngineKind::kGpSimd});
  for (int64_t i = 1; i < pool_.elements(); ++i) {
    const View value = pool_.element(values, i, windows);
    combine(beats, value, maximum, AluOp::kGreater);
    combine(maximum, maximum, value, AluOp::kMaximum);
    combine(beats, beats, pool_.element(nan, i, windows), AluOp::kMaximum);
    builder_.emit(TensorScalar{
        .dst = beats, .data = beats, .op0 = AluOp::kMultiply, .constant0 = static_cast<double>(i)});
    combine(number, number, beats, AluOp::kMaximum);
  }
  return maximum;
}

void WindowArgmax::distribute(const View& target, const View& gradients, const Affine& turn) {
  if (pool_.overlap() || !pool_.cover(gradients, target)) {
    builder_.emit(Memset{.dst = target, .engine = EngineKind::kGpSimd});
  }
  if (pool_.elements() == 1) {
    builder_.emit(TensorCopy{.dst = pool_.element(target, 0, gradients), .src = gradients});
    return;
  }
  const View number = part(number_, gradients, turn), mask = part(mask_, gradients, turn);
  const View bits = gradients.reinterpret(mask.dtype());
  for (int64_t i = 0; i < pool_.elements(); ++i) {
    const View place = pool_.element(target, i, gradients);
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
