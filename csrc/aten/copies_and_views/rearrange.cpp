// cat, flip and roll: parts of tensors at other places.

#include <ATen/MemoryOverlap.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/WrapDimUtilsMulti.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/pixel_shuffle_native.h>
#include <ATen/ops/pixel_unshuffle_native.h>
#include <c10/core/DeviceGuard.h>

#include <algorithm>
#include <numeric>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/indexing/operands.h"
#include "csrc/aten/shared/device_copies.h"
#include "csrc/aten/shared/memory_format.h"
#include "ops/copies/copy.h"

namespace neuron_sim {
namespace {

using at::Tensor;

/// Tensors of one dimension and no elements are skipped, as torch does.
bool is_skipped(const Tensor& tensor) { return tensor.dim() == 1 && tensor.numel() == 0; }

/// Whether one is int64 and the other has a dtype of the chip: a cast of indices.
bool is_index_cast(const Tensor& source, const Tensor& target) {
  if (source.scalar_type() != at::kLong && target.scalar_type() != at::kLong) return false;
  check_computable(source.scalar_type() == at::kLong ? target.scalar_type() : source.scalar_type());
  return source.device() == target.device();
}

template <typename List>
at::DimVector cat_shape(const List& list, int64_t dimension) {
  at::DimVector shape{0};
  int64_t total = 0;
  bool all_skipped = true;
  for (const Tensor& tensor : list) {
    if (is_skipped(tensor)) continue;
    all_skipped = false;
    shape = at::DimVector(tensor.sizes());
    total += tensor.size(at::maybe_wrap_dim(dimension, tensor.dim()));
  }
  if (all_skipped) return shape;  // whatever the dimension, as in torch
  shape[static_cast<size_t>(at::maybe_wrap_dim(dimension, static_cast<int64_t>(shape.size())))] =
      total;
  return shape;
}

Tensor& cat_out(const at::ITensorListRef& tensors, int64_t dimension, Tensor& out) {
  const auto list = tensors.materialize();
  at::native::resize_output(out, cat_shape(list, dimension));
  for (const Tensor& tensor : list) {
    if (!copies_on_device(tensor, out) && !is_index_cast(tensor, out)) {
      throw Refusal{"a tensor is not of a dtype to cast here"};
    }
  }
  at::assert_no_internal_overlap(out);
  for (const Tensor& tensor : list) at::assert_no_overlap(out, tensor);
  int64_t start = 0;
  for (const Tensor& tensor : list) {
    if (is_skipped(tensor)) continue;
    const int64_t wrapped_dimension = at::maybe_wrap_dim(dimension, out.dim());
    const int64_t size = tensor.size(wrapped_dimension);
    if (tensor.numel() > 0) {
      out.narrow(wrapped_dimension, start, size).copy_(tensor);
    }
    start += size;
  }
  return out;
}

/// A few elements one by one.
Tensor flip_elements(const Tensor& self, at::IntArrayRef dimensions) {
  const auto turned = at::dim_list_to_bitset(dimensions, static_cast<size_t>(self.dim()));
  const Tensor result = at::empty(self.sizes(), self.options());
  const auto places = [&](int64_t dimension) {
    std::vector<int64_t> order(static_cast<size_t>(self.size(dimension)));
    std::iota(order.begin(), order.end(), 0);
    if (turned[static_cast<size_t>(dimension)]) std::reverse(order.begin(), order.end());
    return order;
  };
  gather_selected(self, places, result);
  return result;
}

/// Copies rows or columns from the end to the start: the chip has no negative steps.
Tensor flip(const Tensor& self, at::IntArrayRef dimensions) {
  check_movable(self);
  const c10::DeviceGuard guard(self.device());
  at::dim_list_to_bitset(dimensions, static_cast<size_t>(self.dim()));  // refuses repeated ones
  if (self.numel() == 0 || self.dim() == 0 || dimensions.empty()) return self.clone();
  if (self.numel() < kTransposedElements) {
    return with_strides_of(flip_elements(self, dimensions), self);
  }
  Tensor result = self;
  for (const int64_t dimension : dimensions) {
    const int64_t size = self.size(dimension);
    const Tensor backwards = at::arange(size - 1, -1, -1, at::kLong).to(self.device());
    if (size > 1) result = result.index_select(dimension, backwards);
  }
  return with_strides_of(result.is_same(self) ? self.clone() : result, self);
}

/// In the format of the input, as from the CPU kernels.
Tensor pixel_shuffle(const Tensor& self, int64_t factor) {
  const c10::DeviceGuard guard(self.device());
  const Tensor result = at::native::math_pixel_shuffle(self, factor);
  return in_format(result, expected_format(self.suggest_memory_format()));
}

Tensor pixel_unshuffle(const Tensor& self, int64_t factor) {
  const c10::DeviceGuard guard(self.device());
  const Tensor result = at::native::math_pixel_unshuffle(self, factor);
  if (self.numel() == 0) return self.clone();  // as on the CPU
  return in_format(result, self.suggest_memory_format());
}

Tensor roll(const Tensor& self, at::IntArrayRef shifts, at::IntArrayRef dimensions) {
  check_movable(self);
  const c10::DeviceGuard guard(self.device());
  TORCH_CHECK(!shifts.empty(), "`shifts` required");
  if (dimensions.empty() && shifts.size() == 1) {
    return self.reshape(-1).roll(shifts, 0).view(self.sizes());
  }
  TORCH_CHECK(shifts.size() == dimensions.size(),
              "shifts and dimensions must align. shifts: ", shifts.size(),
              ", dims:", dimensions.size());
  if (self.numel() == 0 && dimensions.size() == 1) return self.clone();
  Tensor result = self;
  for (size_t i = 0; i < shifts.size(); ++i) {
    const int64_t size = self.size(dimensions[i]);
    if (size == 0) continue;
    const int64_t shift = ((shifts[i] % size) + size) % size;
    result = at::cat({result.narrow(dimensions[i], size - shift, shift),
                      result.narrow(dimensions[i], 0, size - shift)},
                     dimensions[i]);
  }
  return result.is_same(self) ? self.clone() : result;
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("cat.out", device_operator<cat_out>());
  m.impl("flip", device_operator<flip>());
  m.impl("pixel_shuffle", pixel_shuffle);
  m.impl("pixel_unshuffle", pixel_unshuffle);
  m.impl("roll", device_operator<roll>());
}

}  // namespace neuron_sim
