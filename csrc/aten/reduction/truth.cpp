// Whether any or all elements are not zero; whether two tensors are equal.

#include <ATen/ops/all.h>
#include <ATen/ops/eq.h>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/reduction/arguments.h"
#include "csrc/aten/shared/reductions.h"

namespace neuron_sim {
namespace {

using at::OptionalIntArrayRef;
using at::Tensor;

/// Whether any element is not zero (kMaximum), or all are not (kMinimum).
template <AluOp op>
Tensor& truth_into(Tensor& out, const Tensor& self, std::vector<bool> reduced, bool keep) {
  check_computable(self.scalar_type());
  TORCH_CHECK(out.scalar_type() == at::kBool || out.scalar_type() == at::kByte,
              op == AluOp::kMinimum ? "all" : "any",
              " only supports bool tensor for result, got: ", out.scalar_type());
  shape_result(self, reduced, keep, out);
  if (self.numel() == 0) return fill_empty(out, op == AluOp::kMinimum ? 1 : 0);
  const Expression is_set =
      expression_of([](ElementValue x) { return compare(AluOp::kNotEqual, x, 0); });
  return reduce_into(out, self, {.op = op, .prologue = is_set, .reduced = std::move(reduced)});
}

template <AluOp op>
Tensor& truth_out(const Tensor& self, int64_t dimension, bool keep, Tensor& out) {
  return truth_into<op>(out, self, reduced_flags(self, {{dimension}}, false), keep);
}

template <AluOp op>
Tensor& truth_dims_out(const Tensor& self, OptionalIntArrayRef dimensions, bool keep, Tensor& out) {
  return truth_into<op>(out, self, reduced_flags(self, dimensions, false), keep);
}

template <AluOp op>
Tensor& truth_all_out(const Tensor& self, Tensor& out) {
  return truth_into<op>(out, self, reduced_flags(self, std::nullopt, true), false);
}

bool equal(const Tensor& self, const Tensor& other) {
  check_computable(self.scalar_type());
  if (self.sizes() != other.sizes()) return false;
  return self.numel() == 0 || at::all(at::eq(self, other)).item<bool>();
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("any.out", device_operator<truth_out<AluOp::kMaximum>>());
  m.impl("any.dims_out", device_operator<truth_dims_out<AluOp::kMaximum>>());
  m.impl("any.all_out", device_operator<truth_all_out<AluOp::kMaximum>>());
  m.impl("all.out", device_operator<truth_out<AluOp::kMinimum>>());
  m.impl("all.dims_out", device_operator<truth_dims_out<AluOp::kMinimum>>());
  m.impl("all.all_out", device_operator<truth_all_out<AluOp::kMinimum>>());
  m.impl("equal", device_operator<equal>());
}

}  // namespace neuron_sim
