// im2col and col2im (nn.Unfold, nn.Fold): the windows of an image as columns, and their sums back;
// channel_shuffle. All of these move strided views; col2im adds tap by tap.

#include <ATen/TensorOperators.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/zeros.h>
#include <c10/core/DeviceGuard.h>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/indexing/operands.h"

namespace neuron_sim {
namespace {

using at::IntArrayRef;
using at::Tensor;

/// Windows over images of height and width; [0] is for the rows, [1] for the columns.
struct Windows {
  IntArrayRef kernel, dilation, padding, stride;

  int64_t reach(size_t axis) const { return dilation[axis] * (kernel[axis] - 1) + 1; }
  int64_t count(size_t axis, int64_t size) const {
    return (size + 2 * padding[axis] - reach(axis)) / stride[axis] + 1;
  }
  void check(int64_t height, int64_t width) const {
    for (const IntArrayRef& two : {kernel, dilation, padding, stride}) {
      TORCH_CHECK(two.size() == 2,
                  "It is expected kernel_size, dilation, padding and stride "
                  "equal to 2, but got size ",
                  two.size());
    }
    for (size_t axis = 0; axis < 2; ++axis) {
      TORCH_CHECK(kernel[axis] > 0 && dilation[axis] > 0 && stride[axis] > 0,
                  "kernel size, dilation and stride should be greater than zero");
      TORCH_CHECK(padding[axis] >= 0, "padding should be non-negative");
    }
    TORCH_CHECK(height + 2 * padding[0] >= reach(0) && width + 2 * padding[1] >= reach(1),
                "calculated shape of the array of sliding blocks is too small for the image (",
                height, ", ", width, ")");
  }
};

/// [N, C, kernel rows, kernel columns, window rows, window columns] of padded images, in place.
Tensor taps_of(const Tensor& images, const Windows& windows, int64_t down, int64_t across) {
  const IntArrayRef s = images.strides();
  return images.as_strided(
      {images.size(0), images.size(1), windows.kernel[0], windows.kernel[1], down, across},
      {s[0], s[1], s[2] * windows.dilation[0], s[3] * windows.dilation[1], s[2] * windows.stride[0],
       s[3] * windows.stride[1]});
}

Tensor& im2col_out(const Tensor& self, IntArrayRef kernel, IntArrayRef dilation,
                   IntArrayRef padding, IntArrayRef stride, Tensor& out) {
  check_movable(self);
  TORCH_CHECK(self.dim() == 3 || self.dim() == 4,
              "Expected 3D or 4D (batch mode) tensor for input, but got: ", self.sizes());
  TORCH_CHECK_NOT_IMPLEMENTED(!at::isIntegralType(self.scalar_type(), /*includeBool=*/false),
                              "unfold is not implemented for ", self.scalar_type());
  const c10::DeviceGuard guard(self.device());
  const Windows windows{kernel, dilation, padding, stride};
  const Tensor images = self.dim() == 3 ? self.unsqueeze(0) : self;
  TORCH_CHECK(c10::multiply_integers(self.sizes().slice(self.dim() - 3)) > 0,
              "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
              "dimensions for input, but got: ",
              self.sizes());
  windows.check(images.size(2), images.size(3));
  const int64_t down = windows.count(0, images.size(2)), across = windows.count(1, images.size(3));
  const Tensor padded =
      at::constant_pad_nd(images, {padding[1], padding[1], padding[0], padding[0]}, 0);
  const int64_t rows = images.size(1) * kernel[0] * kernel[1];
  const Tensor columns = taps_of(padded, windows, down, across)
                             .clone(at::MemoryFormat::Contiguous)
                             .view({images.size(0), rows, down * across});
  const Tensor result = self.dim() == 3 ? columns.squeeze(0) : columns;
  at::native::resize_output(out, result.sizes());
  return out.copy_(result);
}

Tensor im2col(const Tensor& self, IntArrayRef kernel, IntArrayRef dilation, IntArrayRef padding,
              IntArrayRef stride) {
  const c10::DeviceGuard guard(self.device());
  Tensor out = at::zeros({0}, self.options());
  return im2col_out(self, kernel, dilation, padding, stride, out);
}

Tensor& col2im_out(const Tensor& self, c10::SymIntArrayRef output, IntArrayRef kernel,
                   IntArrayRef dilation, IntArrayRef padding, IntArrayRef stride, Tensor& out) {
  check_computable(self.scalar_type());
  if (!self.is_floating_point()) throw Refusal{"the device adds floating dtypes here"};
  TORCH_CHECK(self.dim() == 2 || self.dim() == 3,
              "Expected 2D or 3D (batch mode) tensor for input, but got: ", self.sizes());
  const c10::DeviceGuard guard(self.device());
  const Windows windows{kernel, dilation, padding, stride};
  const int64_t height = output[0].expect_int(), width = output[1].expect_int();
  windows.check(height, width);
  const int64_t down = windows.count(0, height), across = windows.count(1, width);
  const Tensor columns = self.dim() == 2 ? self.unsqueeze(0) : self;
  const int64_t taps = kernel[0] * kernel[1], channels = columns.size(1) / taps;
  TORCH_CHECK(channels * taps == columns.size(1) && columns.size(2) == down * across,
              "Expected size of input's dimensions 1 and 2 to be a multiple of ", taps, " and ",
              down * across, ", but got: ", self.sizes());
  // Sums are in fp32, rounded once to a reduced precision.
  const Tensor sums =
      at::zeros({columns.size(0), channels, height + 2 * padding[0], width + 2 * padding[1]},
                self.options().dtype(at::kFloat));
  const Tensor places = taps_of(sums, windows, down, across);
  const Tensor parts =
      columns.reshape({columns.size(0), channels, kernel[0], kernel[1], down, across});
  for (int64_t i = 0; i < kernel[0]; ++i) {
    for (int64_t j = 0; j < kernel[1]; ++j) {
      places.select(2, i).select(2, j).add_(parts.select(2, i).select(2, j));
    }
  }
  const Tensor inner = sums.narrow(2, padding[0], height).narrow(3, padding[1], width);
  const Tensor result = self.dim() == 2 ? inner.squeeze(0) : inner;
  at::native::resize_output(out, result.sizes());
  return out.copy_(result);
}

Tensor col2im(const Tensor& self, c10::SymIntArrayRef output, IntArrayRef kernel,
              IntArrayRef dilation, IntArrayRef padding, IntArrayRef stride) {
  const c10::DeviceGuard guard(self.device());
  Tensor out = at::zeros({0}, self.options());
  return col2im_out(self, output, kernel, dilation, padding, stride, out);
}

/// The gradients of unfold's windows, added at their places.
Tensor unfold_backward(const Tensor& gradient, c10::SymIntArrayRef sizes, int64_t dimension,
                       int64_t size, int64_t step) {
  check_computable(gradient.scalar_type());
  if (!gradient.is_floating_point()) throw Refusal{"the device adds floating dtypes here"};
  const c10::DeviceGuard guard(gradient.device());
  at::DimVector shape;
  for (const c10::SymInt& length : sizes) shape.push_back(length.expect_int());
  if (shape.empty()) return gradient.sum();  // of a window of zero or one elements
  const int64_t at = at::maybe_wrap_dim(dimension, static_cast<int64_t>(shape.size()));
  const Tensor sums = at::zeros(shape, gradient.options().dtype(at::kFloat));
  const int64_t windows = gradient.size(at);
  for (int64_t i = 0; i < size && windows > 0; ++i) {
    sums.slice(at, i, i + (windows - 1) * step + 1, step).add_(gradient.select(-1, i));
  }
  return sums.to(gradient.scalar_type());
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("im2col", device_operator<im2col>());
  m.impl("im2col.out", device_operator<im2col_out>());
  m.impl("col2im", device_operator<col2im>());
  m.impl("col2im.out", device_operator<col2im_out>());
  m.impl("unfold_backward", device_operator<unfold_backward>());
}

}  // namespace neuron_sim
