#include "csrc/aten/windows/planes.h"

#include <ATen/native/Resize.h>
#include <c10/core/DeviceGuard.h>

#include <bit>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/launch/kernel_call.h"
#include "ops/pooling/resample.h"

namespace neuron_sim {
namespace {

void add_taps(KernelCall& call, const AxisTaps& taps) {
  std::vector<int64_t> numbers;
  for (const std::vector<AxisTap>& output : taps) {
    numbers.push_back(static_cast<int64_t>(output.size()));
    for (const AxisTap& tap : output) {
      numbers.push_back(tap.input);
      numbers.push_back(std::bit_cast<int64_t>(tap.weight));
    }
  }
  call.options(numbers);
}

}  // namespace

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

void launch_resample(const at::Tensor& input, const at::Tensor& output, const AxisTaps& rows,
                     const AxisTaps& columns) {
  if (output.numel() == 0) return;
  const c10::DeviceGuard guard(output.device());
  KernelCall call("resample", output.device());
  call.operand(input).result(output);
  add_taps(call, rows);
  add_taps(call, columns);
  call.launch([rows, columns](Builder& builder, std::span<const HbmTensor> operands,
                              std::span<const HbmTensor> results) {
    emit_resample(builder, operands[0], results[0], rows, columns);
  });
}

}  // namespace neuron_sim
