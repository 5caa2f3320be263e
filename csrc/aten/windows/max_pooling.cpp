// Max pooling with indices, and its gradient; windows of equal size or adaptive ones.

#include <ATen/native/Pool.h>
#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/windows/planes.h"
#include "csrc/launch/kernel_call.h"

namespace neuron_sim {
namespace {

using at::IntArrayRef;
using at::Tensor;

/// The words of int64 indices [N, C, H, W].
void add_words(KernelCall& call, const Tensor& indices, bool is_result) {
  at::DimVector sizes(indices.sizes()), strides;
  for (const int64_t stride : indices.strides()) strides.push_back(2 * stride);
  sizes.push_back(2);
  strides.push_back(1);
  call.words(indices, at::kInt, sizes, strides, is_result);
}

void launch_max_pool(const Tensor& input, const Tensor& output, const Tensor& indices,
                     const PoolingWindows& windows) {
  if (output.numel() == 0) return;
  const c10::DeviceGuard guard(input.device());
  KernelCall call(kMaxPool.name, input.device());
  call.operand(planes_of(input)).result(planes_of(output));
  if (indices.defined()) add_words(call, indices.dim() == 3 ? indices.unsqueeze(0) : indices, true);
  call.launch(kMaxPool, windows);
}

void launch_backward(const Tensor& gradient, const Tensor& indices, const Tensor& result,
                     const PoolingWindows& windows) {
  if (result.numel() == 0) return;
  if (gradient.numel() == 0) {
    result.zero_();
    return;
  }
  const c10::DeviceGuard guard(result.device());
  KernelCall call(kMaxPoolBackward.name, result.device());
  call.operand(planes_of(gradient));
  add_words(call, indices.dim() == 3 ? indices.unsqueeze(0) : indices, false);
  call.result(planes_of(result)).launch(kMaxPoolBackward, windows);
}

PoolingWindows windows_of(const Tensor& input, IntArrayRef kernel, IntArrayRef stride,
                          IntArrayRef padding, IntArrayRef dilation, bool ceil_mode) {
  const auto axis = [&](size_t i) {
    const int64_t extent = input.size(static_cast<int64_t>(i) - 2);
    const int64_t size = of_axis(kernel, i, 1), step = of_axis(stride, i, size);
    const int64_t pad = of_axis(padding, i, 0), gap = of_axis(dilation, i, 1);
    const int64_t outputs =
        at::native::pooling_output_shape<int64_t>(extent, size, pad, step, gap, ceil_mode);
    return pooling_windows(extent, outputs, size, step, pad, gap);
  };
  return {axis(0), axis(1)};
}

PoolingWindows adaptive(const Tensor& input, int64_t rows, int64_t columns) {
  return {adaptive_windows(input.size(-2), rows), adaptive_windows(input.size(-1), columns)};
}

void pool_into(const Tensor& input, const PoolingWindows& windows, const Tensor& out,
               const Tensor& indices) {
  planes_of(input);  // refuses dtypes before anything is resized
  at::DimVector sizes(input.sizes());
  sizes[sizes.size() - 2] = windows.rows.outputs();
  sizes[sizes.size() - 1] = windows.columns.outputs();
  resize_planes(out, sizes);
  resize_planes(indices, sizes);
  launch_max_pool(input, out, indices, windows);
}

std::tuple<Tensor&, Tensor&> max_pool_out(const Tensor& self, IntArrayRef kernel,
                                          IntArrayRef stride, IntArrayRef padding,
                                          IntArrayRef dilation, bool ceil_mode, Tensor& out,
                                          Tensor& indices) {
  pool_into(self, windows_of(self, kernel, stride, padding, dilation, ceil_mode), out, indices);
  return {out, indices};
}

/// The maxima alone, of a compiled graph that reads no indices.
Tensor max_pool_values(const Tensor& self, IntArrayRef kernel, IntArrayRef stride,
                       IntArrayRef padding, IntArrayRef dilation, bool ceil_mode) {
  const PoolingWindows windows = windows_of(self, kernel, stride, padding, dilation, ceil_mode);
  at::DimVector sizes(self.sizes());
  sizes[sizes.size() - 2] = windows.rows.outputs();
  sizes[sizes.size() - 1] = windows.columns.outputs();
  const Tensor out = at::empty(sizes, self.options(), at::MemoryFormat::Contiguous);
  launch_max_pool(self, out, {}, windows);
  return out;
}

Tensor& max_pool_backward_out(const Tensor& gradient, const Tensor& self, IntArrayRef kernel,
                              IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                              bool ceil_mode, const Tensor& indices, Tensor& result) {
  planes_of(self);
  resize_planes(result, self.sizes());
  launch_backward(gradient, indices, result,
                  windows_of(self, kernel, stride, padding, dilation, ceil_mode));
  return result;
}

std::tuple<Tensor&, Tensor&> adaptive_max_pool_out(const Tensor& self, IntArrayRef sizes,
                                                   Tensor& out, Tensor& indices) {
  pool_into(self, adaptive(self, sizes[0], sizes[1]), out, indices);
  return {out, indices};
}

Tensor& adaptive_max_pool_backward_out(const Tensor& gradient, const Tensor& self,
                                       const Tensor& indices, Tensor& result) {
  planes_of(self);
  resize_planes(result, self.sizes());
  launch_backward(gradient, indices, result, adaptive(self, gradient.size(-2), gradient.size(-1)));
  return result;
}

}  // namespace

// For graphs that torch.compile hands over, below autograd; not one of the custom operators.
TORCH_LIBRARY_FRAGMENT(neuron_sim_graph, m) {
  m.def(
      "max_pool2d_values(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, "
      "int[2] dilation=1, bool ceil_mode=False) -> Tensor");
}
TORCH_LIBRARY_IMPL(neuron_sim_graph, PrivateUse1, m) {
  m.impl("max_pool2d_values", device_operator<max_pool_values>());
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("max_pool2d_with_indices.out", device_operator<max_pool_out>());
  m.impl("max_pool2d_with_indices_backward.grad_input", device_operator<max_pool_backward_out>());
  m.impl("adaptive_max_pool2d.out", device_operator<adaptive_max_pool_out>());
  m.impl("adaptive_max_pool2d_backward.grad_input",
         device_operator<adaptive_max_pool_backward_out>());
}

}  // namespace neuron_sim
