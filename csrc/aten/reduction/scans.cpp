// Running sums and products.

#include <ATen/TensorOperators.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/native/Resize.h>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/shared/integers.h"
#include "csrc/launch/kernel_call.h"
#include "ops/rows/running.h"

namespace neuron_sim {
namespace {

using at::Tensor;

template <AluOp op>
Tensor& running_out(const Tensor& self, int64_t dimension, std::optional<at::ScalarType> /*dtype*/,
                    Tensor& out) {
  const bool narrows = self.scalar_type() == at::kLong;
  check_computable(narrows ? out.scalar_type() : self.scalar_type());
  if (out.scalar_type() == at::kBool) throw Refusal{"torch has no running sum or product of bool"};
  at::native::resize_output(out, self.sizes());
  if (self.numel() == 0) return out;
  if (self.dim() == 0) return out.copy_(self);
  const int64_t at = at::maybe_wrap_dim(dimension, self.dim());
  if (narrows) {
    return running_out<op>(self.to(out.scalar_type()), at, std::nullopt, out);
  }
  if (!out.is_floating_point()) {
    if (op != AluOp::kAdd) throw Refusal{"the engines multiply integers in fp32"};
    return out.copy_(exact_running_sums(self, at));
  }
  check_computable(out.scalar_type());
  KernelCall call(kRunning.name, self.device());
  const Tensor moved = self.movedim(at, -1), target = out.movedim(at, -1);
  call.operand(moved, moved.sizes(), moved.strides()).result(target);
  call.launch(kRunning, {op});
  return out;
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("cumsum.out", device_operator<running_out<AluOp::kAdd>>());
  m.impl("cumprod.out", device_operator<running_out<AluOp::kMultiply>>());
}

}  // namespace neuron_sim
