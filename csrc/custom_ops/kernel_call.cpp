#include "csrc/custom_ops/kernel_call.h"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "csrc/runtime.h"
#include "csrc/tensor_access.h"
#include "device/base/errors.h"
#include "device/runtime/devices.h"
#include "device/runtime/launch.h"

namespace neuron_sim {
namespace {

/// Whether two elements share memory other than by a stride of 0.
bool elements_overlap(const at::Tensor& tensor) {
  if (tensor.is_contiguous() || tensor.is_non_overlapping_and_dense()) return false;
  c10::SmallVector<std::pair<int64_t, int64_t>, 6> dimensions;  // stride, size
  for (int64_t i = 0; i < tensor.dim(); ++i) {
    if (tensor.size(i) > 1 && tensor.stride(i) != 0) {
      dimensions.emplace_back(tensor.stride(i), tensor.size(i));
    }
  }
  std::sort(dimensions.begin(), dimensions.end());
  int64_t reach = 0;  // last element of the faster dimensions
  for (const auto& [stride, size] : dimensions) {
    if (stride <= reach) return true;
    reach += stride * (size - 1);
  }
  return false;
}

}  // namespace

KernelCall::KernelCall(std::string_view kernel, at::Device device)
    : KernelCall(kernel, device, device_architecture(device.index())) {}

KernelCall::KernelCall(std::string_view kernel, at::Device device, const Architecture& architecture)
    : device_(device), architecture_(architecture), key_(kernel, architecture) {}

KernelCall& KernelCall::operand(const at::Tensor& tensor) {
  operands_.push_back(elements_overlap(tensor) ? tensor.contiguous() : tensor);
  const at::Tensor& kept = operands_.back();
  key_.add(static_cast<int64_t>(dtype_of(kept.scalar_type()))).add(kept.dim());
  for (const int64_t size : kept.sizes()) key_.add(size);
  for (const int64_t stride : kept.strides()) key_.add(stride);
  return *this;
}

KernelCall& KernelCall::option(int64_t value) {
  key_.add(value);
  return *this;
}

KernelCall& KernelCall::option(std::string_view value) {
  key_.add(value);
  return *this;
}

TensorSpec KernelCall::spec(size_t index) const {
  const at::Tensor& tensor = operands_[index];
  TensorSpec spec{tensor.sizes().vec(), {}, dtype_of(tensor.scalar_type())};
  if (!tensor.is_contiguous()) spec.strides = tensor.strides().vec();
  return spec;
}

std::vector<TensorSpec> KernelCall::specs(size_t first, size_t count) const {
  std::vector<TensorSpec> result;
  for (size_t i = first; i < first + count; ++i) result.push_back(spec(i));
  return result;
}

at::Tensor KernelCall::run(c10::SymIntArrayRef sizes, at::ScalarType dtype, Build build) const {
  const at::Tensor output =
      at::empty(C10_AS_INTARRAYREF_SLOW(sizes), at::TensorOptions().dtype(dtype).device(device_));
  run_into(output, build);
  return output;
}

void KernelCall::run_into(at::ArrayRef<at::Tensor> outputs, Build build) const {
  if (std::all_of(outputs.begin(), outputs.end(),
                  [](const at::Tensor& output) { return output.numel() == 0; })) {
    return;
  }
  const auto kernel = kernel_cache().find_or_build(key_, [&] {
    BuiltOp built = build();
    require(built.program != nullptr, "a kernel with an output has a program");
    return std::move(built.program);
  });
  c10::SmallVector<std::byte*, 8> addresses;
  for (const at::Tensor& operand : operands_) addresses.push_back(backing(operand));
  for (const at::Tensor& output : outputs) addresses.push_back(backing(output));
  launch(device_.index(), current_stream(device_.index()), kernel,
         {addresses.data(), addresses.size()});
}

}  // namespace neuron_sim
