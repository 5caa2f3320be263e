#include "csrc/launch/captured_tensor.h"

#include <ATen/ops/empty.h>

#include "csrc/launch/tensor_access.h"

namespace neuron_sim {
namespace {

template <typename Element>
c10::List<Element> visited(const c10::List<Element>& list,
                           c10::function_ref<void(at::Tensor&)> visit) {
  c10::List<Element> result;
  result.reserve(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    const std::optional<at::Tensor> element = list.get(i);
    at::Tensor tensor = element.value_or(at::Tensor());
    visit(tensor);
    result.push_back(element ? Element(tensor) : Element());
  }
  return result;
}

}  // namespace

at::Tensor CapturedTensor::over(const c10::Storage& storage, int64_t shift,
                                at::Device device) const {
  at::Tensor tensor = at::empty({0}, at::TensorOptions().dtype(dtype).device(device));
  const int64_t offset = (byte_offset + shift) / static_cast<int64_t>(c10::elementSize(dtype));
  return tensor.set_(storage, offset, sizes, strides);
}

void for_each_tensor(c10::IValue& value, c10::function_ref<void(at::Tensor&)> visit) {
  if (value.isTensor()) {
    at::Tensor tensor = value.toTensor();
    visit(tensor);
    value = std::move(tensor);
  } else if (value.isTensorList()) {
    value = visited(value.toTensorList(), visit);
  } else if (value.isOptionalTensorList()) {
    value = visited(value.toOptionalTensorList(), visit);
  }
}

StackTemplate::StackTemplate(at::ArrayRef<c10::IValue> values,
                             c10::function_ref<CapturedTensor(const at::Tensor&)> captured)
    : values_(values.begin(), values.end()) {
  for (c10::IValue& value : values_) {
    for_each_tensor(value, [&](at::Tensor& tensor) {
      tensors_.emplace_back();
      if (!tensor.defined() || !on_device(tensor)) return;
      tensors_.back() = captured(tensor);
      tensor = at::Tensor();
    });
  }
}

torch::jit::Stack StackTemplate::stack(
    c10::function_ref<at::Tensor(const CapturedTensor&)> restore) const {
  torch::jit::Stack stack = values_;
  auto next = tensors_.begin();
  for (c10::IValue& value : stack) {
    for_each_tensor(value, [&](at::Tensor& tensor) {
      if (next->has_value()) tensor = restore(**next);
      ++next;
    });
  }
  return stack;
}

}  // namespace neuron_sim
