#include "csrc/aten/shared/memory_format.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "csrc/launch/execution.h"

namespace neuron_sim {
namespace {

using at::Tensor;

/// `result` with the strides of `target`, whose values do not matter.
Tensor restrided(const Tensor& result, const Tensor& target) {
  if (result.strides() == target.strides()) return result;
  const Tensor copy = result.new_empty_strided(target.sizes(), target.strides());
  return copy.copy_(result);
}

}  // namespace

at::MemoryFormat expected_format(at::MemoryFormat format) {
  return runs_at_once() ? format : at::MemoryFormat::Contiguous;
}

Tensor in_format(const Tensor& result, at::MemoryFormat format) {
  if (format == at::MemoryFormat::Contiguous) return result;
  return restrided(result, at::empty(result.sizes(), result.options().device(at::kMeta), format));
}

Tensor with_strides_of(const Tensor& result, const Tensor& like) {
  if (like.is_contiguous()) return result.contiguous();
  return restrided(result, at::empty_like(like, like.options().device(at::kMeta)));
}

}  // namespace neuron_sim
