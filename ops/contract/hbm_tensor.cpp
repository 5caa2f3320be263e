#include "ops/contract/hbm_tensor.h"

#include "device/base/errors.h"
#include "ops/contract/operand_checks.h"

namespace neuron_sim {

int64_t HbmTensor::elements() const {
  int64_t product = 1;
  for (const int64_t size : shape) product *= size;
  return product;
}

View HbmTensor::view(const std::vector<int64_t>& sizes, const std::vector<int64_t>& steps,
                     const Affine& start) const {
  require(sizes.size() == steps.size(), "a view has a stride per dimension");
  std::vector<Dimension> dimensions;
  for (size_t i = 0; i < sizes.size(); ++i) dimensions.push_back({sizes[i], steps[i]});
  if (dimensions.empty()) dimensions.push_back({1, 1});
  return storage.pattern(dimensions, start + offset);
}

int64_t extent_of(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
  int64_t last = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return 0;
    last += (shape[i] - 1) * strides[i];
  }
  return last + 1;
}

std::vector<int64_t> dense_strides(const std::vector<int64_t>& shape) {
  return strides_of({shape, {}, Dtype::kFloat32});
}

HbmTensor argument_tensor(Builder& builder, const std::string& label, const TensorSpec& spec) {
  std::vector<int64_t> strides = strides_of(spec);
  const int64_t extent = std::max<int64_t>(extent_of(spec.shape, strides), 1);
  return {builder.argument(label, {extent}, spec.dtype), spec.shape, std::move(strides)};
}

TensorSpec spec_of(const HbmTensor& tensor) {
  return {tensor.shape, tensor.strides, tensor.dtype()};
}

HbmTensor scratch_tensor(Builder& builder, const std::string& label,
                         const std::vector<int64_t>& shape, Dtype dtype) {
  std::vector<int64_t> strides = dense_strides(shape);
  const int64_t extent = std::max<int64_t>(extent_of(shape, strides), 1);
  return {builder.scratch(label, {extent}, dtype), shape, std::move(strides)};
}

std::optional<HbmTensor> optional_tensor(HbmTensors tensors, size_t index) {
  return index < tensors.size() ? std::optional(tensors[index]) : std::nullopt;
}

}  // namespace neuron_sim
