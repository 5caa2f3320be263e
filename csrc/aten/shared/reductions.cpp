#include "csrc/aten/shared/reductions.h"

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/launch/kernel_call.h"
#include "csrc/launch/tensor_access.h"

namespace neuron_sim {

using at::Tensor;

Tensor& reduce_into(Tensor& out, const std::vector<Tensor>& operands,
                    const ReductionOptions& options) {
  if (out.numel() == 0) return out;
  for (const Tensor& operand : operands) check_computable(operand.scalar_type());
  const Tensor& self = operands.front();
  at::DimVector sizes, strides;
  int64_t dimension = 0;
  for (size_t i = 0; i < options.reduced.size(); ++i) {
    const bool gone = options.reduced[i];
    sizes.push_back(gone ? 1 : self.size(static_cast<int64_t>(i)));
    const bool there = out.dim() == self.dim();
    const int64_t at = there ? static_cast<int64_t>(i) : dimension;
    strides.push_back(gone ? 0 : out.stride(at));
    if (!gone) ++dimension;
  }
  KernelCall call(kReduction.name, self.device());
  for (const Tensor& operand : operands) {
    call.operand(operand, operand.sizes(), operand.strides());
  }
  call.result(out, sizes, strides);
  call.launch(kReduction, options);
  return out;
}

Tensor& reduce_into(Tensor& out, const Tensor& self, const ReductionOptions& options) {
  return reduce_into(out, std::vector<Tensor>{self}, options);
}

void check_extremum(const Tensor& self) {
  check_computable(self.scalar_type());
  if (self.scalar_type() == at::kInt) {
    throw Refusal{"the engines compare 32-bit integers in fp32, which is not exact"};
  }
}

}  // namespace neuron_sim
