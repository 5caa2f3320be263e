#pragma once
// Tensors of a captured graph, found again in the memories of a later run.

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <c10/util/FunctionRef.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace neuron_sim {

/// Sizes and place of a device tensor, without its memory.
struct CapturedTensor {
  size_t memory = 0;        ///< number of the memory
  int64_t byte_offset = 0;  ///< of the first element, in the storage that was captured
  at::ScalarType dtype{};
  std::vector<int64_t> sizes, strides;

  /// The tensor over another storage, whose contents lie `shift` bytes further on.
  at::Tensor over(const c10::Storage& storage, int64_t shift, at::Device device) const;
};

/// Calls `visit` with every tensor of a value: itself, or the elements of a list. Lists are
/// replaced, so that copies of the value elsewhere keep their own.
void for_each_tensor(c10::IValue& value, c10::function_ref<void(at::Tensor&)> visit);

/// The last values of a stack without the memory of their device tensors.
class StackTemplate {
 public:
  /// `captured` gives the place of a device tensor.
  StackTemplate(at::ArrayRef<c10::IValue> values,
                c10::function_ref<CapturedTensor(const at::Tensor&)> captured);

  /// The values, restored; `restore` returns a tensor for each place.
  torch::jit::Stack stack(c10::function_ref<at::Tensor(const CapturedTensor&)> restore) const;
  /// Per tensor of the values, in order; empty for tensors that are not on the device.
  const std::vector<std::optional<CapturedTensor>>& tensors() const { return tensors_; }

 private:
  torch::jit::Stack values_;  ///< device tensors are undefined
  std::vector<std::optional<CapturedTensor>> tensors_;
};

}  // namespace neuron_sim
