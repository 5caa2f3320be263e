// Tensors of evenly spaced numbers, and the identity: places are int64 index arithmetic, values are
// computed on the device.

#include <ATen/TensorOperators.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/where.h>
#include <c10/core/DeviceGuard.h>

#include <cmath>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/shared/device_copies.h"

namespace neuron_sim {
namespace {

using at::Scalar;
using at::Tensor;

/// Above every index that fp32 holds exactly.
constexpr int64_t kNowhere = 16777216;

void check_floating(const Tensor& out) {
  check_computable(out.scalar_type());
  if (!out.is_floating_point()) throw Refusal{"the device spaces floating dtypes"};
}

/// 0, 1, 2, ... on the device of `out`, of `dtype`.
Tensor places(int64_t count, const Tensor& out, at::ScalarType dtype) {
  if (count > kNowhere) throw Refusal{"fp32 does not count so far"};
  return counted_places(count, at::kInt, out.device()).to(dtype);
}

/// The length of arange, counted in double precision for every dtype, as on the CPU.
int64_t counted(const Scalar& start, const Scalar& end, const Scalar& step) {
  const double first = start.toDouble(), last = end.toDouble(), stride = step.toDouble();
  TORCH_CHECK(stride > 0 || stride < 0, "step must be nonzero");
  TORCH_CHECK(std::isfinite(first) && std::isfinite(last), "unsupported range: ", first, " -> ",
              last);
  TORCH_CHECK(stride > 0 ? last >= first : last <= first,
              "upper bound and lower bound inconsistent with step sign");
  const double count = std::ceil((last - first) / stride);
  constexpr double kAboveInt64 = 9223372036854775808.0;  // 2**63
  TORCH_CHECK(count >= 0 && count < kAboveInt64, "invalid size, possible overflow?");
  return static_cast<int64_t>(count);
}

/// Gives `out` as many elements as were counted, with torch's warning if it was not empty.
void resize_counted(Tensor& out, int64_t count) {
  if (out.numel() == count) return;
  if (out.numel() > 0) {
    TORCH_WARN("The number of elements in the out tensor of shape ", out.sizes(), " is ",
               out.numel(), " which does not match the computed number of elements ", count,
               ". Note that this may occur as a result of rounding error. The out tensor will be "
               "resized to a tensor of shape (",
               count, ",).");
  }
  out.resize_({count});
}

Tensor& arange_out(const Scalar& start, const Scalar& end, const Scalar& step, Tensor& out) {
  check_computable(out.scalar_type());
  if (out.scalar_type() == at::kBool) throw Refusal{"torch does not define it for Bool"};
  const int64_t count = counted(start, end, step);
  const c10::DeviceGuard guard(out.device());
  if (!out.is_floating_point()) {
    // The step is truncated to an integer, which may be 0, after the numbers were counted.
    const int64_t first = start.to<int64_t>(), stride = step.to<int64_t>();
    const Tensor place = at::arange(count, out.options().dtype(at::kLong));
    resize_counted(out, count);
    return out.copy_((place * stride + first).view(out.sizes()));
  }
  const Tensor place = places(count, out, at::kFloat);
  resize_counted(out, count);
  return out.copy_((place * step.toDouble() + start.toDouble()).view(out.sizes()));
}

/// Numbers from both ends to the middle, so that both ends are exact.
Tensor spaced(double first, double last, int64_t steps, const Tensor& out) {
  TORCH_CHECK(steps >= 0, "number of steps must be non-negative");
  const Tensor place = places(steps, out, at::kFloat);
  if (steps < 2) return place + first;
  const double stride = (last - first) / static_cast<double>(steps - 1);
  const Tensor back = (place * -1.0 + static_cast<double>(steps - 1)) * -stride + last;
  return at::where(place.lt(static_cast<double>(steps / 2)), place * stride + first, back);
}

Tensor& linspace_out(const Scalar& start, const Scalar& end, int64_t steps, Tensor& out) {
  check_floating(out);
  const c10::DeviceGuard guard(out.device());
  const Tensor result = spaced(start.toDouble(), end.toDouble(), steps, out);
  if (out.numel() != steps) out.resize_({steps});
  return out.copy_(result.view(out.sizes()));
}

Tensor& identity_out(c10::SymInt rows, c10::SymInt columns, Tensor& out) {
  const int64_t height = rows.expect_int(), width = columns.expect_int();
  TORCH_CHECK(height >= 0, "n must be greater or equal to 0, got ", height);
  TORCH_CHECK(width >= 0, "m must be greater or equal to 0, got ", width);
  check_computable(out.scalar_type());
  const c10::DeviceGuard guard(out.device());
  const Tensor down = places(height, out, at::kFloat), across = places(width, out, at::kFloat);
  at::native::resize_output(out, {height, width});
  return out.copy_(at::eq(down.unsqueeze(1), across));
}

Tensor& square_identity_out(c10::SymInt rows, Tensor& out) { return identity_out(rows, rows, out); }

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("arange.start_out", device_operator<arange_out>());
  m.impl("linspace.out", device_operator<linspace_out>());
  m.impl("eye.m_out", device_operator<identity_out>());
  m.impl("eye.out", device_operator<square_identity_out>());
}

}  // namespace neuron_sim
