// Places in sorted sequences; which elements are among others.

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <c10/core/DeviceGuard.h>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/shared/reductions.h"
#include "csrc/aten/shared/rows.h"

namespace neuron_sim {
namespace {

using at::Tensor;

/// The number of elements of the sequence before each value: all pairs are compared.
Tensor places(const Tensor& sequence, const Tensor& values, bool right, bool narrow) {
  check_extremum(sequence);
  check_extremum(values);
  const c10::DeviceGuard guard(sequence.device());
  const auto options = values.options().dtype(narrow ? at::kInt : at::kLong);
  const int64_t length = sequence.size(-1);
  const Tensor result = at::zeros(values.sizes(), options);
  if (values.numel() == 0 || length == 0) return result;
  TORCH_CHECK(sequence.dim() == 1 || sequence.dim() == values.dim(),
              "boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
              "tensor and input value tensor must match");
  const int64_t rows = sequence.dim() == 1 ? 1 : sequence.numel() / length;
  const Tensor table = values.reshape({rows, -1, 1}), edges = sequence.reshape({rows, 1, -1});
  const at::DimVector shape{rows, table.size(1), length};
  Tensor count = at::empty({rows, table.size(1), 1}, options.dtype(at::kInt));
  // Not "at least": so that NaN is after everything.
  const Expression before = make_expression([&](Expression& e) {
    const ElementValue x = e.input(0), edge = e.input(1);
    return 1.0 - compare(right ? AluOp::kGreater : AluOp::kGreaterEqual, edge, x);
  });
  reduce_into(count, {table.expand(shape), edges.expand(shape)},
              {.op = AluOp::kAdd, .prologue = before, .reduced = {false, false, true}});
  return result.copy_(count.view(values.sizes()));
}

/// torch's checks of searchsorted (ATen/native/BucketizationUtils.h), which its kernels do.
void check_search(const Tensor& sequence, const Tensor& values, bool right,
                  std::optional<c10::string_view> side, const std::optional<Tensor>& order) {
  constexpr auto kName = "torch.searchsorted(): ";
  TORCH_CHECK(!side || *side == "left" || *side == "right", kName,
              "side can only be 'left' or 'right' but got ", *side);
  TORCH_CHECK(!right || !side || *side == "right", kName, "side and right can't be set to ",
              "opposites, got side of left while right was True");
  TORCH_CHECK(values.dim() > 0 || sequence.dim() == 1, kName, "input value can be a scalar only ",
              "when boundaries tensor dimension is 1, but we got boundaries tensor dim(",
              sequence.dim(), ")");
  TORCH_CHECK(sequence.dim() > 0, kName, "boundaries tensor should have positive dimension, but ",
              "got 0 dimension");
  const bool matches =
      sequence.dim() == values.dim() &&
      sequence.sizes().slice(0, sequence.dim() - 1) == values.sizes().slice(0, sequence.dim() - 1);
  TORCH_CHECK(sequence.dim() == 1 || matches, kName, "boundaries tensor should be 1 dimension or ",
              "the first N-1 dimensions of boundaries tensor and input value tensor must match, ",
              "but we got boundaries tensor ", sequence.sizes(), " and input value tensor ",
              values.sizes());
  if (!order || !order->defined()) return;
  TORCH_CHECK(order->sizes() == sequence.sizes(), kName, "boundary and sorter must have the same ",
              "size, but got boundary tensor ", sequence.sizes(), " and got sorter tensor ",
              order->sizes());
  TORCH_CHECK(order->scalar_type() == at::kLong, kName, "sorter must be a tensor of long dtype ",
              "but got dtype ", order->scalar_type());
}

Tensor search(const Tensor& sequence, const Tensor& values, bool narrow, bool right,
              std::optional<c10::string_view> side, const std::optional<Tensor>& order) {
  check_search(sequence, values, right, side, order);
  const bool sorted = !order || !order->defined();
  return places(sorted ? sequence : sequence.gather(-1, *order), values,
                right || (side && *side == "right"), narrow);
}

Tensor search_number(const Tensor& sequence, const at::Scalar& value, bool narrow, bool right,
                     std::optional<c10::string_view> side, const std::optional<Tensor>& order) {
  const Tensor one = at::full({1}, value, sequence.options());
  return search(sequence, one, narrow, right, side, order).reshape({});
}

Tensor bucketize(const Tensor& values, const Tensor& sequence, bool narrow, bool right) {
  TORCH_CHECK(sequence.dim() == 1, "boundaries tensor must be 1 dimension, but got dim(",
              sequence.dim(), ")");
  return places(sequence, values, right, narrow);
}

/// Whether each element equals one of `others`: all pairs are compared.
Tensor& isin_out(const Tensor& self, const Tensor& others, bool /*unique*/, bool invert,
                 Tensor& out) {
  check_computable(self.scalar_type());
  if (others.numel() == 0 || self.numel() == 0) throw Refusal{"there are no elements"};
  const Tensor found = at::eq(self.unsqueeze(-1), others.reshape(-1)).any(-1);
  return give_result(invert ? found.logical_not() : found, out);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("searchsorted.Tensor", device_operator<search>());
  m.impl("searchsorted.Scalar", device_operator<search_number>());
  m.impl("bucketize.Tensor", device_operator<bucketize>());
  m.impl("isin.Tensor_Tensor_out", device_operator<isin_out>());
}

}  // namespace neuron_sim
