// Padding by mirrored or repeated elements.

#include <ATen/TensorOperators.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/DeviceGuard.h>

#include <algorithm>
#include <cstdlib>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/shared/device_copies.h"

namespace neuron_sim {
namespace {

using at::IntArrayRef;
using at::Tensor;

/// Places before, inside and after a dimension, mirrored or repeated at its edges.
std::vector<int64_t> edge_places(int64_t size, int64_t before, int64_t after, bool mirrored) {
  std::vector<int64_t> places;
  const int64_t last = size - 1;
  for (int64_t place = -before; place < size + after; ++place) {
    const int64_t inside = mirrored ? last - std::abs(last - std::abs(place)) : place;
    places.push_back(std::clamp<int64_t>(inside, 0, last));
  }
  return places;
}

/// The sizes with padding. Refusal or RuntimeError for what cannot be padded.
at::DimVector padded_sizes(const Tensor& self, IntArrayRef padding, bool mirrored) {
  check_floating(self);
  if (self.numel() == 0) throw Refusal{"there are no elements"};
  at::DimVector sizes(self.sizes());
  for (size_t i = 0; 2 * i < padding.size(); ++i) {
    const int64_t dimension = self.dim() - 1 - static_cast<int64_t>(i);
    const int64_t before = padding[2 * i], after = padding[2 * i + 1], size = self.size(dimension);
    if (before < 0 || after < 0) throw Refusal{"a padding is negative"};
    TORCH_CHECK(!mirrored || (before < size && after < size),
                "Argument #4: Padding size should be less than the corresponding input dimension, "
                "but got: padding (",
                before, ", ", after, ") at dimension ", dimension, " of input ", self.sizes());
    sizes[static_cast<size_t>(dimension)] += before + after;
  }
  return sizes;
}

constexpr int64_t kOneByOne = 4;  // copies: a selection by index takes as many launches
/// Elements that a gather moves in the 8.5 us that a launch takes at least (9 ns for each).
constexpr int64_t kElementsOfLaunch = 900;

/// Whether a gather of single elements takes less time than copies of rows at the edges, of which
/// a few cost the host less than the places of the elements.
bool takes_elements(IntArrayRef padding, int64_t elements) {
  int64_t copies = 0;
  for (const int64_t size : padding) copies += std::min(size, kOneByOne);
  const bool few = copies <= static_cast<int64_t>(padding.size());
  return !few && elements < kElementsOfLaunch * copies;
}

void gather_mirrored(const Tensor& self, IntArrayRef padding, const Tensor& out) {
  const auto places = [&](int64_t dimension) {
    const auto from_last = static_cast<size_t>(self.dim() - 1 - dimension);
    const bool pads = 2 * from_last < padding.size();
    return edge_places(self.size(dimension), pads ? padding[2 * from_last] : 0,
                       pads ? padding[2 * from_last + 1] : 0, true);
  };
  gather_selected(self, places, out);
}

/// target = source from its end to its start, along a dimension.
void copy_mirrored(const Tensor& target, const Tensor& source, int64_t dimension) {
  const int64_t size = target.size(dimension);
  if (size > kOneByOne) {
    target.copy_(source.flip(dimension));
    return;
  }
  for (int64_t i = 0; i < size; ++i) {
    target.narrow(dimension, i, 1).copy_(source.narrow(dimension, size - 1 - i, 1));
  }
}

/// Copies the inside of a dimension to its edges.
void pad_edges(const Tensor& whole, int64_t dimension, int64_t before, int64_t after,
               bool mirrored) {
  const int64_t end = whole.size(dimension) - after;
  const auto range = [&](int64_t start, int64_t size) {
    return whole.narrow(dimension, start, size);
  };
  if (mirrored) {
    copy_mirrored(range(0, before), range(before + 1, before), dimension);
    copy_mirrored(range(end, after), range(end - 1 - after, after), dimension);
    return;
  }
  if (before > 0) range(0, before).copy_(range(before, 1).expand_as(range(0, before)));
  if (after > 0) range(end, after).copy_(range(end - 1, 1).expand_as(range(end, after)));
}

/// The inside is copied once, then each dimension's edges, the last dimension's first.
Tensor& pad_into(const Tensor& self, IntArrayRef padding, bool mirrored, Tensor& out) {
  const at::DimVector sizes = padded_sizes(self, padding, mirrored);
  if (out.scalar_type() != self.scalar_type() || out.is_alias_of(self)) {
    Tensor result = at::empty({0}, self.options());
    return give_result(pad_into(self, padding, mirrored, result), out);
  }
  at::native::resize_output(out, sizes);
  if (mirrored && takes_elements(padding, out.numel())) {
    gather_mirrored(self, padding, out);
    return out;
  }
  const int64_t first = self.dim() - static_cast<int64_t>(padding.size() / 2);
  const auto inside = [&](int64_t end) {
    Tensor part = out;
    for (int64_t i = first; i < end; ++i) {
      const auto at = static_cast<size_t>(2 * (self.dim() - 1 - i));
      part = part.narrow(i, padding[at], self.size(i));
    }
    return part;
  };
  inside(self.dim()).copy_(self);
  for (int64_t i = self.dim() - 1; i >= first; --i) {
    const auto at = static_cast<size_t>(2 * (self.dim() - 1 - i));
    pad_edges(inside(i), i, padding[at], padding[at + 1], mirrored);
  }
  return out;
}

template <bool mirrored>
Tensor& pad_out(const Tensor& self, IntArrayRef padding, Tensor& out) {
  return pad_into(self, padding, mirrored, out);
}

Tensor reflection_pad2d(const Tensor& self, IntArrayRef padding) {
  const c10::DeviceGuard guard(self.device());
  Tensor out = at::empty({0}, self.options());
  return pad_into(self, padding, true, out);
}

/// Sums the gradients of the padded places, dimension by dimension.
template <bool mirrored>
Tensor pad_backward(const Tensor& gradient, const Tensor& self, IntArrayRef padding) {
  check_floating(self);
  Tensor result = gradient;
  for (size_t i = 0; 2 * i < padding.size(); ++i) {
    const int64_t dimension = self.dim() - 1 - static_cast<int64_t>(i), size = self.size(dimension);
    if (padding[2 * i] < 0 || padding[2 * i + 1] < 0) throw Refusal{"a padding is negative"};
    at::DimVector shape(result.sizes());
    shape[static_cast<size_t>(dimension)] = size;
    const Tensor sums = at::zeros(shape, result.options());
    const Tensor places =
        at::tensor(edge_places(size, padding[2 * i], padding[2 * i + 1], mirrored), at::kLong);
    result = sums.index_add(dimension, places.to(self.device()), result);
  }
  return result;
}

template <bool mirrored>
Tensor& pad_backward_out(const Tensor& gradient, const Tensor& self, IntArrayRef padding,
                         Tensor& out) {
  return give_result(pad_backward<mirrored>(gradient, self, padding), out);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("reflection_pad1d.out", device_operator<pad_out<true>>());
  m.impl("reflection_pad2d", device_operator<reflection_pad2d>());
  m.impl("reflection_pad2d.out", device_operator<pad_out<true>>());
  m.impl("reflection_pad2d_backward", device_operator<pad_backward<true>>());
  m.impl("reflection_pad2d_backward.grad_input", device_operator<pad_backward_out<true>>());
  m.impl("reflection_pad3d.out", device_operator<pad_out<true>>());
  m.impl("reflection_pad3d_backward.grad_input", device_operator<pad_backward_out<true>>());
  m.impl("replication_pad3d.out", device_operator<pad_out<false>>());
  m.impl("replication_pad3d_backward", device_operator<pad_backward<false>>());
  m.impl("replication_pad1d.out", device_operator<pad_out<false>>());
  m.impl("replication_pad2d.out", device_operator<pad_out<false>>());
  m.impl("reflection_pad1d_backward.grad_input", device_operator<pad_backward_out<true>>());
  m.impl("replication_pad1d_backward.grad_input", device_operator<pad_backward_out<false>>());
  m.impl("replication_pad2d_backward", device_operator<pad_backward<false>>());
}

}  // namespace neuron_sim
