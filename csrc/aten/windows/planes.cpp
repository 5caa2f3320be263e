#include "csrc/aten/windows/planes.h"

#include <ATen/native/Resize.h>
#include <c10/core/DeviceGuard.h>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/launch/kernel_call.h"
#include "ops/pooling/resample.h"

namespace neuron_sim {

at::Tensor planes_of(const at::Tensor& tensor) {
  check_computable(tensor.scalar_type());
  if (!at::isFloatingType(tensor.scalar_type())) {
    throw Refusal{c10::str("planes of ", c10::toString(tensor.scalar_type()),
                           " are not computed on the device, only of float32, float16 and "
                           "bfloat16")};
  }
  if (tensor.is_neg()) throw Refusal{"an operand is a lazy negation"};
  return tensor.dim() == 3 ? tensor.unsqueeze(0) : tensor;
}

void resize_planes(const at::Tensor& out, at::IntArrayRef sizes) {
  if (out.sizes() != sizes) at::native::resize_output(out, sizes);
}

int64_t of_axis(at::IntArrayRef list, size_t axis, int64_t otherwise) {
  if (list.empty()) return otherwise;
  return list[list.size() == 1 ? 0 : axis];
}

void launch_resample(const at::Tensor& input, const at::Tensor& output,
                     const ResampleOptions& options) {
  if (output.numel() == 0) return;
  const c10::DeviceGuard guard(output.device());
  KernelCall call(kResample.name, output.device());
  call.operand(input).result(output).launch(kResample, options);
}

}  // namespace neuron_sim
