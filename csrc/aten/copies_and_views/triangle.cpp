// tril and triu.

#include <ATen/native/Resize.h>
#include <c10/core/DeviceGuard.h>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/shared/device_copies.h"
#include "csrc/aten/shared/rows.h"

namespace neuron_sim {
namespace {

using at::Tensor;

/// Keeps elements with column - row `op` diagonal.
template <AluOp op>
Tensor& triangle_out(const Tensor& self, c10::SymInt diagonal, Tensor& out) {
  check_computable(self.scalar_type());
  const c10::DeviceGuard guard(self.device());
  at::native::resize_output(out, self.sizes());
  if (self.numel() == 0) return out;
  const auto places = [&](int64_t size) { return counted_places(size, at::kInt, self.device()); };
  const double limit = static_cast<double>(diagonal.expect_int());
  const bool whole = !self.is_floating_point();
  Expression expression(whole ? Domain::kInteger : Domain::kFloat);
  const ElementValue across = expression.input(1) - expression.input(2);
  expression.add_result(
      select(compare(op, across, limit), expression.input(0), expression.constant(0)));
  run_pointwise(expression, {self, places(self.size(-1)), places(self.size(-2)).unsqueeze(1)}, out);
  return out;
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("tril.out", device_operator<triangle_out<AluOp::kLessEqual>>());
  m.impl("triu.out", device_operator<triangle_out<AluOp::kGreaterEqual>>());
}

}  // namespace neuron_sim
