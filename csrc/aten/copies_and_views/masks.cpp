// Elements selected by a mask. Their places are int64 index arithmetic (nonzero); the elements
// themselves move on the device.

#include <ATen/ExpandUtils.h>
#include <ATen/TensorOperators.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/nonzero_static.h>
#include <c10/core/DeviceGuard.h>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/indexing/operands.h"
#include "csrc/aten/indexing/write_rows.h"
#include "csrc/aten/shared/device_copies.h"

namespace neuron_sim {
namespace {

using at::Tensor;

/// The mask of elements other than zero, which the device compares; the rest is index arithmetic.
Tensor nonzero_mask(const Tensor& self) {
  check_computable(self.scalar_type());
  if (self.scalar_type() == at::kBool) throw Refusal{""};
  return self.ne(0);
}

void check_places(const Tensor& out, const char* op) {
  TORCH_CHECK(out.scalar_type() == at::kLong, op,
              ": Expected out tensor to have scalar type Long but got scalar type",
              out.scalar_type());
}

Tensor nonzero(const Tensor& self) { return nonzero_mask(self).nonzero(); }
Tensor& nonzero_out(const Tensor& self, Tensor& out) {
  check_places(out, "nonzero");
  return at::nonzero_out(out, nonzero_mask(self));
}
Tensor nonzero_static(const Tensor& self, int64_t size, int64_t fill) {
  return at::nonzero_static(nonzero_mask(self), size, fill);
}
Tensor& nonzero_static_out(const Tensor& self, int64_t size, int64_t fill, Tensor& out) {
  check_places(out, "nonzero_static");
  return at::nonzero_static_out(out, nonzero_mask(self), size, fill);
}

/// int64 places of the true elements of a flattened mask.
Tensor selected(const Tensor& mask) { return mask.reshape(-1).nonzero().reshape(-1); }

Tensor& masked_select_out(const Tensor& self, const Tensor& mask, Tensor& out) {
  check_movable(self);
  TORCH_CHECK(mask.scalar_type() == at::kBool, "masked_select: expected BoolTensor for mask");
  TORCH_CHECK(out.scalar_type() == self.scalar_type(),
              "masked_select(): self and result must have the same scalar type");
  check_apart(out, {self, mask});
  const c10::DeviceGuard guard(self.device());
  const at::DimVector shape = at::infer_size_dimvector(self.sizes(), mask.sizes());
  const Tensor places = selected(mask.to(self.device()).expand(shape));
  at::native::resize_output(out, {places.numel()});
  if (places.numel() == 0) return out;
  const Tensor found = at::empty({places.numel(), 1}, self.options());
  gather_rows(self.expand(shape).reshape({-1, 1}), places, found);
  return out.copy_(found.view(-1));
}

Tensor masked_select(const Tensor& self, const Tensor& mask) {
  const c10::DeviceGuard guard(self.device());
  Tensor out = at::empty({0}, self.options());
  return masked_select_out(self, mask, out);
}

/// Elements of the flattened tensor at `places` = values, or += with `add`.
void write_flat(const Tensor& self, const Tensor& places, const Tensor& values, bool add) {
  const IndexBounds bounds{self.numel(), OutOfBounds::kTaken, 0, /*from_end=*/true};
  const Tensor flat = self.reshape(-1);  // a copy where strides need one
  write_elements(flat, {0, places, bounds}, values, add);
  if (!flat.is_alias_of(self)) self.copy_(flat.view(self.sizes()));
}

/// Elements of `source`, in order, where the mask is true.
Tensor& masked_scatter(Tensor& self, const Tensor& mask, const Tensor& source) {
  check_movable(self);
  TORCH_CHECK(mask.scalar_type() == at::kBool,
              "masked_scatter_ only supports boolean masks, but got mask with dtype ",
              mask.scalar_type());
  TORCH_CHECK(self.scalar_type() == source.scalar_type(),
              "masked_scatter_: expected self and source to have same dtypes but got ",
              self.scalar_type(), " and ", source.scalar_type());
  check_apart(self, {});
  const c10::DeviceGuard guard(self.device());
  const Tensor places = selected(mask.to(self.device()).expand(self.sizes()));
  const int64_t count = places.numel();
  TORCH_CHECK(count <= source.numel(), "Number of elements of source < number of ones in mask");
  if (count == 0) return self;
  const Tensor values = source.to(self.device()).reshape(-1).narrow(0, 0, count);
  write_flat(self, places, values, false);
  return self;
}

/// Puts (or adds) elements of `source` at places of the flattened tensor.
Tensor& put(Tensor& self, const Tensor& indices, const Tensor& source, bool accumulate) {
  check_movable(self);
  check_indices(indices);
  TORCH_CHECK(self.scalar_type() == source.scalar_type(), "put_(): self and source expected to ",
              "have the same dtype, but got self.dtype = ", self.scalar_type(),
              " and source.dtype = ", source.scalar_type());
  TORCH_CHECK_INDEX(indices.numel() == source.numel(), "put_(): Expected source and index to have ",
                    "the same number of elements, but got source.numel() = ", source.numel(),
                    ", index.numel() = ", indices.numel());
  if (!self.is_floating_point() && accumulate) throw Refusal{"DMA adds integers in fp32"};
  check_apart(self, {indices, source});
  if (indices.numel() == 0) return self;
  const c10::DeviceGuard guard(self.device());
  write_flat(self, indices.reshape(-1), source.reshape(-1), accumulate);
  return self;
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("masked_select", device_operator<masked_select>());
  m.impl("masked_select.out", device_operator<masked_select_out>());
  m.impl("masked_scatter_", device_operator<masked_scatter>());
  m.impl("nonzero", device_operator<nonzero>());
  m.impl("nonzero.out", device_operator<nonzero_out>());
  m.impl("nonzero_static", device_operator<nonzero_static>());
  m.impl("nonzero_static.out", device_operator<nonzero_static_out>());
  m.impl("put_", device_operator<put>());
}

}  // namespace neuron_sim
