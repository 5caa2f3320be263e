// The largest and smallest elements, without their indices.

#include <ATen/ops/amax.h>
#include <ATen/ops/amin.h>
#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/reduction/arguments.h"
#include "csrc/aten/shared/integers.h"
#include "csrc/aten/shared/reductions.h"

namespace neuron_sim {
namespace {

using at::IntArrayRef;
using at::Tensor;

template <AluOp op>
Tensor& extreme_value_out(const Tensor& self, IntArrayRef dimensions, bool keep, Tensor& out) {
  TORCH_CHECK(self.scalar_type() == out.scalar_type(),
              "Expected the dtype for input and out to match, but got ", self.scalar_type(),
              " for input's dtype and ", out.scalar_type(), " for out's dtype.");
  check_computable(self.scalar_type());
  const std::vector<bool> reduced = reduced_flags(self, dimensions, true);
  shape_result(self, reduced, keep, out);
  if (self.scalar_type() == at::kInt) {
    return out.copy_(exact_extremum(self, dimensions, op == AluOp::kMaximum).view(out.sizes()));
  }
  return reduce_into(out, self, {.op = op, .reduced = reduced});
}

template <AluOp op>
Tensor extreme_value(const Tensor& self) {
  check_computable(self.scalar_type());
  TORCH_CHECK(self.numel() > 0,
              "max(): Expected reduction dim to be specified for input.numel() "
              "== 0. Specify the reduction dim with the 'dim' argument.");
  const c10::DeviceGuard guard(self.device());
  if (self.scalar_type() == at::kInt) {
    return exact_extremum(self, {}, op == AluOp::kMaximum).view(at::IntArrayRef{});
  }
  Tensor out = at::empty({}, self.options());
  return reduce_into(out, self, {.op = op, .reduced = reduced_flags(self, std::nullopt, true)});
}

std::tuple<Tensor&, Tensor&> aminmax_out(const Tensor& self, std::optional<int64_t> dimension,
                                         bool keep, Tensor& smallest, Tensor& largest) {
  check_computable(self.scalar_type());
  for (const Tensor& out : {smallest, largest}) {
    check_out_dtype(out, self.scalar_type());
  }
  const at::DimVector dimensions = dimension ? at::DimVector{*dimension} : at::DimVector{};
  give_result(at::amin(self, dimensions, keep), smallest);
  give_result(at::amax(self, dimensions, keep), largest);
  return std::tie(smallest, largest);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("amax.out", device_operator<extreme_value_out<AluOp::kMaximum>>());
  m.impl("amin.out", device_operator<extreme_value_out<AluOp::kMinimum>>());
  m.impl("max", device_operator<extreme_value<AluOp::kMaximum>>());
  m.impl("min", device_operator<extreme_value<AluOp::kMinimum>>());
  m.impl("aminmax.out", device_operator<aminmax_out>());
}

}  // namespace neuron_sim
