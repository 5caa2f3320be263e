#include "csrc/aten/products/padded_sequences.h"

#include <ATen/TensorOperators.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

namespace neuron_sim {
namespace {

using at::Tensor;

struct Padding : c10::BackendMeta {
  explicit Padding(Tensor mask) : mask(std::move(mask)) {}
  Tensor mask;
};

/// Whether each row of the mask, true at elements that count, is true first and then false.
bool is_left_aligned(const Tensor& sequences, const Tensor& mask) {
  TORCH_CHECK(mask.dim() == 2 && sequences.dim() == 3,
              "expected a mask of 2 dimensions for "
              "sequences of 3, but got ",
              mask.dim(), " and ", sequences.dim());
  const Tensor counted = mask.to(at::kCPU, at::kBool);
  const int64_t steps = counted.size(1);
  if (steps < 2) return true;
  const Tensor before = counted.narrow(1, 0, steps - 1), after = counted.narrow(1, 1, steps - 1);
  return !before.logical_not().logical_and(after).any().item<bool>();
}

Tensor from_mask(const Tensor& sequences, const Tensor& mask, bool check) {
  TORCH_CHECK(!check || is_left_aligned(sequences, mask), "Expected mask to be left aligned");
  return with_padding(sequences.clone(), mask.to(sequences.device(), at::kBool).logical_not());
}

Tensor to_padded(const Tensor& sequences, double value, at::OptionalSymIntArrayRef /*size*/) {
  const Tensor padding = padding_of(sequences);
  TORCH_CHECK_NOT_IMPLEMENTED(padding.defined(),
                              "neuron_sim: 'to_padded_tensor' takes what "
                              "'_nested_tensor_from_mask' made");
  return sequences.masked_fill(padding.unsqueeze(-1), value);
}

}  // namespace

Tensor padding_of(const Tensor& sequences) {
  const auto* const padding =
      dynamic_cast<const Padding*>(sequences.unsafeGetTensorImpl()->get_backend_meta());
  return padding == nullptr ? Tensor() : padding->mask;
}

Tensor with_padding(Tensor sequences, const Tensor& padding) {
  if (padding.defined()) {
    sequences.unsafeGetTensorImpl()->set_backend_meta(c10::make_intrusive<Padding>(padding));
  }
  return sequences;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_nested_tensor_from_mask_left_aligned", is_left_aligned);
  m.impl("_nested_tensor_from_mask", from_mask);
  m.impl("to_padded_tensor", to_padded);
}

}  // namespace neuron_sim
