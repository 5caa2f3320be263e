// scatter_reduce and index_reduce: elements with the same target are combined.
// Algorithm: the host, in int64 index arithmetic, orders the elements by target; in that order each
// is combined with its neighbours of the same target at distances 1, 2, 4, ..., so that the last
// one of each target has all of them, and is written last.

#include <ATen/TensorOperators.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/DeviceGuard.h>

#include <bit>
#include <string_view>
#include <utility>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/indexing/index_bounds.h"
#include "csrc/aten/indexing/operands.h"
#include "csrc/aten/shared/device_copies.h"
#include "csrc/aten/shared/rows.h"

namespace neuron_sim {
namespace {

using at::Tensor;

/// The operator of the names of scatter_reduce and index_reduce.
AluOp operator_of(std::string_view name) {
  if (name == "amax") return AluOp::kMaximum;
  if (name == "amin") return AluOp::kMinimum;
  return name == "prod" ? AluOp::kMultiply : AluOp::kAdd;
}

/// Elements that are combined: int64 numbers in the memory of `source` and in the dense target.
struct Segments {
  Tensor source, sources, targets;
  bool include_self;
  int64_t count() const { return targets.numel(); }
};

/// Memory as a table of one column, from the first element of `tensor` to its last.
Tensor as_column(const Tensor& tensor) {
  int64_t last = 0;
  for (int64_t i = 0; i < tensor.dim(); ++i) last += (tensor.size(i) - 1) * tensor.stride(i);
  return tensor.as_strided({last + 1, 1}, {1, 1});
}

/// Sums go to the target as they come.
void add_up(const Segments& segments, bool mean, const Tensor& target) {
  const double self = segments.include_self ? 1 : 0;
  const Tensor flat = target.view(-1);
  const auto change = [&](const Tensor& counts, const auto& function) {
    run_pointwise(make_expression([&](Expression& e) { return function(e.input(0), e.input(1)); }),
                  {flat, counts}, {flat});
  };
  Tensor counts;
  if (mean || !segments.include_self) {
    counts = counts_of(segments.targets, target.numel()).to(at::kFloat);
  }
  if (!segments.include_self) {
    change(counts, [](ElementValue value, ElementValue count) {
      return select(count, value.expression().constant(0), value);
    });
  }
  scatter_rows(flat.unsqueeze(1), segments.targets, segments.source.reshape({-1, 1}), true);
  if (!mean) return;
  change(counts, [&](ElementValue value, ElementValue count) {
    return value / maximum(count + self, count.expression().constant(1));
  });
}

void combine(AluOp op, const Segments& segments, const Tensor& target) {
  const SegmentOrder order = segment_order(segments.sources, segments.targets);
  const int64_t count = segments.count();
  // Room for the neighbours that the first elements lack.
  const auto longest = static_cast<uint64_t>(order.longest);
  const auto before = static_cast<int64_t>(std::bit_ceil(longest) / 2);
  const Tensor buffers = at::zeros({2, before + count, 1}, target.options());
  const auto values = [&](int64_t buffer, int64_t step = 0) {
    return buffers.select(0, buffer).narrow(0, before - step, count);
  };
  gather_rows(as_column(segments.source), order.sources, values(0));
  const Expression joined = make_expression([&](Expression& e) {
    return select(e.input(2), e.alu(op, e.input(0), e.input(1)), e.input(0));
  });
  int64_t buffer = 0, number = 0;
  for (int64_t step = 1; step < order.longest; step *= 2, buffer = 1 - buffer) {
    const Tensor same = order.same.select(0, number++).unsqueeze(1);
    run_pointwise(joined, {values(buffer), values(buffer, step), same}, {values(1 - buffer)});
  }
  const Tensor column = target.view({-1, 1}), found = values(buffer);
  if (!segments.include_self) return scatter_rows(column, order.targets, found, false);
  const Tensor self = at::empty(found.sizes(), found.options());
  gather_rows(column, order.targets, self);
  const Expression both =
      make_expression([&](Expression& e) { return e.alu(op, e.input(0), e.input(1)); });
  run_pointwise(both, {self, found}, {values(1 - buffer)});
  scatter_rows(column, order.targets, values(1 - buffer), false);
}

void check_reducible(const Tensor& self, const Tensor& indices) {
  check_computable(self.scalar_type());
  check_indices(indices);
  if (!self.is_floating_point()) throw Refusal{"the device combines floating dtypes here"};
}

/// The elements of `source` with an index, which its target in the dense `target` of these
/// dimensions has along `at`.
Segments segments_of(const Tensor& target, int64_t at, const Tensor& indices, OutOfBounds error,
                     const Tensor& source, bool include_self) {
  Tensor values = source;
  for (int64_t i = 0; i < indices.dim(); ++i) {
    if (values.size(i) > indices.size(i)) values = values.narrow(i, 0, indices.size(i));
  }
  const IndexBounds bounds{target.size(at), error, at};
  at::DimVector steps(target.strides());
  const int64_t step = std::exchange(steps[static_cast<size_t>(at)], 0);
  const Tensor targets = row_numbers({{indices, bounds, step}}, steps).reshape(-1);
  const Tensor sources = row_numbers({{indices, bounds, 0}}, values.strides()).reshape(-1);
  return {values, sources, targets, include_self};
}

Tensor& reduce_along(const Tensor& self, int64_t dimension, const Tensor& given,
                     const Tensor& source, c10::string_view name, bool include_self,
                     OutOfBounds error, Tensor& out) {
  check_reducible(self, given);
  check_out_dtype(out, self.scalar_type());
  const c10::DeviceGuard guard(self.device());
  at::native::resize_output(out, self.sizes());
  if (given.numel() == 0) return out.copy_(self);
  const auto whole = [](const Tensor& tensor) {
    return tensor.dim() == 0 ? tensor.reshape(1) : tensor;
  };
  const Tensor target = whole(self).to(at::kFloat).clone(at::MemoryFormat::Contiguous);
  const int64_t at = at::maybe_wrap_dim(dimension, target.dim());
  const Segments segments =
      segments_of(target, at, whole(given), error, whole(source).to(at::kFloat), include_self);
  const AluOp op = operator_of(name);
  op == AluOp::kAdd ? add_up(segments, name == "mean", target) : combine(op, segments, target);
  return out.copy_(target.view(out.sizes()));
}

Tensor& scatter_reduce_out(const Tensor& self, int64_t dimension, const Tensor& indices,
                           const Tensor& source, c10::string_view name, bool include_self,
                           Tensor& out) {
  return reduce_along(self, dimension, indices, source, name, include_self, OutOfBounds::kElement,
                      out);
}

Tensor& index_reduce_out(const Tensor& self, int64_t dimension, const Tensor& indices,
                         const Tensor& source, c10::string_view name, bool include_self,
                         Tensor& out) {
  check_reducible(self, indices);
  if (self.dim() == 0) throw Refusal{"the tensor has no dimensions"};
  const int64_t at = at::maybe_wrap_dim(dimension, self.dim());
  at::DimVector shape(static_cast<size_t>(self.dim()), 1);
  shape[static_cast<size_t>(at)] = indices.numel();
  return reduce_along(self, at, indices.reshape(shape).expand(source.sizes()), source, name,
                      include_self, OutOfBounds::kRowOfSelf, out);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("scatter_reduce.two_out", device_operator<scatter_reduce_out>());
  m.impl("index_reduce.out", device_operator<index_reduce_out>());
}

}  // namespace neuron_sim
