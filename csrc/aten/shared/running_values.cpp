#include "csrc/aten/shared/running_values.h"

#include <ATen/ops/empty.h>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/shared/device_copies.h"
#include "csrc/aten/shared/reductions.h"
#include "csrc/launch/kernel_call.h"
#include "ops/rows/running.h"

namespace neuron_sim {

using at::Tensor;

void launch_running(AluOp op, at::ArrayRef<Tensor> operands, int64_t dimension,
                    const Tensor& result) {
  KernelCall call(kRunning.name, result.device());
  for (const Tensor& operand : operands) {
    const Tensor moved = operand.movedim(dimension, -1);
    call.operand(moved, moved.sizes(), moved.strides());
  }
  call.result(result.movedim(dimension, -1));
  call.launch(kRunning, {op});
}

Tensor running_extremum(AluOp op, const Tensor& self, int64_t dimension) {
  check_extremum(self);
  const Tensor result = at::empty(self.sizes(), self.options());
  launch_running(op, {self}, dimension, result);
  return result;
}

Tensor places_along(const Tensor& self, int64_t dimension) {
  constexpr int64_t kExact = int64_t{1} << 24;
  if (self.size(dimension) > kExact) throw Refusal{"fp32 does not count so far"};
  at::DimVector shape(static_cast<size_t>(self.dim()), 1);
  shape[static_cast<size_t>(dimension)] = self.size(dimension);
  return counted_places(self.size(dimension), at::kFloat, self.device()).view(shape);
}

}  // namespace neuron_sim
