#include "csrc/aten/reduction/arguments.h"

#include <ATen/WrapDimUtilsMulti.h>
#include <ATen/native/Resize.h>

#include "csrc/aten/dispatch/device_operator.h"

namespace neuron_sim {

using at::OptionalIntArrayRef;
using at::Tensor;

Expression scaled_by(double factor) {
  return expression_of([&](ElementValue x) { return x * factor; });
}

std::vector<bool> reduced_flags(const Tensor& self, OptionalIntArrayRef dimensions,
                                bool empty_is_all) {
  const size_t rank = static_cast<size_t>(self.dim());
  if (!dimensions || (dimensions->empty() && empty_is_all)) return std::vector<bool>(rank, true);
  const auto set = at::dim_list_to_bitset(dimensions, self.dim());
  std::vector<bool> flags(rank);
  for (size_t i = 0; i < rank; ++i) flags[i] = set[i];
  return flags;
}

int64_t reduced_count(const Tensor& self, const std::vector<bool>& reduced) {
  int64_t count = 1;
  for (size_t i = 0; i < reduced.size(); ++i) {
    if (reduced[i]) count *= self.size(static_cast<int64_t>(i));
  }
  return count;
}

at::DimVector reduced_shape(const Tensor& self, const std::vector<bool>& reduced, bool keep) {
  at::DimVector shape;
  for (size_t i = 0; i < reduced.size(); ++i) {
    if (!reduced[i]) shape.push_back(self.size(static_cast<int64_t>(i)));
    if (reduced[i] && keep) shape.push_back(1);
  }
  return shape;
}

void shape_result(const Tensor& self, const std::vector<bool>& reduced, bool keep, Tensor& out) {
  at::native::resize_output(out, reduced_shape(self, reduced, keep));
}

void check_reduced_dtype(const Tensor& self) {
  check_computable(self.scalar_type());
  if (!c10::isFloatingType(self.scalar_type())) {
    throw Refusal{"the engines add integers in fp32, which is not exact"};
  }
}

Tensor& fill_empty(Tensor& out, double value) {
  if (out.numel() > 0) out.fill_(value);
  return out;
}

}  // namespace neuron_sim
