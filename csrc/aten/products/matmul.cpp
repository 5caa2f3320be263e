// Matrix products: mm, bmm, addmm, baddbmm, addmv and dot, from which torch composes the rest
// (matmul, einsum, linear, mv, tensordot, ...).

#include <ATen/ExpandUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/addr_native.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/scalar_tensor.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/dispatch/plain_call.h"
#include "csrc/launch/auto_cast.h"
#include "csrc/launch/execution.h"
#include "csrc/launch/kept_tensor.h"
#include "csrc/launch/kernel_call.h"
#include "csrc/launch/storage.h"
#include "ops/matmul/matrix_product.h"

namespace neuron_sim {
namespace {

using at::IntArrayRef;
using at::Scalar;
using at::Tensor;
using ThreeTensors = std::tuple<Tensor, Tensor, Tensor>;

/// A tensor with sizes and strides for the product.
struct Matrix {
  KeptTensor tensor;
  at::DimVector sizes, strides;

  Matrix(const Tensor& whole) : Matrix(whole, whole.sizes(), whole.strides()) {}
  Matrix(const Tensor& whole, IntArrayRef of_sizes, IntArrayRef of_strides)
      : tensor(kept(whole)), sizes(of_sizes), strides(of_strides) {}
};

/// The matrix as it is multiplied: itself, or one that `copy` keeps.
const Matrix& rounded(const Matrix& matrix, std::optional<Matrix>& copy) {
  if (!AutoCast::rounds(matrix.tensor->scalar_type())) return matrix;
  return copy.emplace(AutoCast::rounded(matrix.tensor->as_strided(matrix.sizes, matrix.strides)));
}

/// A vector as [size, 1] or [1, size].
Matrix column_of(const Tensor& vector) {
  return {vector, {vector.size(0), 1}, {vector.stride(0), 1}};
}
Matrix row_of(const Tensor& vector) { return {vector, {1, vector.size(0)}, {1, vector.stride(0)}}; }

void check_operands(const char* op, const Tensor& out, at::ArrayRef<Tensor> operands) {
  for (const Tensor& operand : operands) {
    TORCH_CHECK(operand.device() == out.device(), op,
                ": Expected all tensors to be on the same device, but found at least two devices, ",
                operand.device(), " and ", out.device(), "!");
    TORCH_CHECK(operand.scalar_type() == out.scalar_type(), op,
                ": expected all operands to have the same dtype, but got ", operand.scalar_type(),
                " and ", out.scalar_type());
    if (operand.is_neg() || operand.is_conj()) throw Refusal{"an operand is a lazy negation"};
  }
  check_computable(out.scalar_type());
  if (!at::isFloatingType(out.scalar_type())) {
    throw Refusal{
        c10::str("the Tensor engine multiplies matrices of float32, float16 and bfloat16,"
                 " not of ",
                 c10::toString(out.scalar_type()))};
  }
}

/// out = alpha * a @ b + beta * addend; an addend with a beta of 0 is ignored.
void launch_product(const Matrix& given_a, const Matrix& given_b, const Matrix& out,
                    const std::optional<Matrix>& addend = std::nullopt, const Scalar& beta = 1,
                    const Scalar& alpha = 1, Activation activation = Activation::kIdentity) {
  if (out.tensor->numel() == 0) return;
  std::optional<Matrix> rounded_a, rounded_b;
  const Matrix &a = rounded(given_a, rounded_a), &b = rounded(given_b, rounded_b);
  MatrixProductOptions options;
  options.scale = alpha.to<double>();
  options.addend_scale = beta.to<double>();
  options.activation = activation;
  KernelCall call(kMatrixProduct.name, out.tensor->device());
  options.matmul.exact_transposes = exact_transposes();
  call.operand(*a.tensor, a.sizes, a.strides).operand(*b.tensor, b.sizes, b.strides);
  // A linear layer's weights in fp32: products of few rows take less than turning them. 16-bit ones
  // are turned while they are widened.
  const bool turned = b.strides.size() == 2 && b.strides[0] == 1;
  if (turned && b.tensor->scalar_type() == at::kFloat) call.launch_order({0, 1});
  if (addend && options.addend_scale != 0) {
    call.operand(*addend->tensor, addend->sizes, addend->strides);
  }
  call.result(*out.tensor, out.sizes, out.strides).launch(kMatrixProduct, options);
}

/// The product over an empty dimension: beta * self.
void sum_of_nothing(const Tensor& self, const Scalar& beta, Tensor& out) {
  if (out.numel() == 0) return;
  if (beta.to<double>() == 0) {
    out.zero_();
  } else {
    at::mul_out(out, self.expand_as(out), at::scalar_tensor(beta, out.scalar_type()));
  }
}

void resize_result(Tensor& out, IntArrayRef sizes) {
  if (out.sizes() != sizes) at::native::resize_output(out, sizes);
}

Tensor& mm_out(const Tensor& self, const Tensor& other, Tensor& out) {
  TORCH_CHECK(self.dim() == 2, "self must be a matrix");
  TORCH_CHECK(other.dim() == 2, "mat2 must be a matrix");
  TORCH_CHECK(self.size(1) == other.size(0), "mat1 and mat2 shapes cannot be multiplied (",
              self.size(0), "x", self.size(1), " and ", other.size(0), "x", other.size(1), ")");
  check_operands("mm", out, {self, other});
  resize_result(out, {self.size(0), other.size(1)});
  const c10::DeviceGuard guard(out.device());
  if (self.size(1) == 0) return out.zero_();
  launch_product(self, other, out);
  return out;
}

Tensor mm(const Tensor& self, const Tensor& other) {
  const bool plain = are_plain(self, other) && self.dim() == 2 && other.dim() == 2 &&
                     self.size(1) == other.size(0);
  return run_plain(
      plain,
      [&] {
        Tensor out =
            uninitialised({self.size(0), other.size(1)}, self.scalar_type(), self.device());
        const c10::DeviceGuard guard(out.device());
        launch_product(self, other, out);
        return out;
      },
      [&] { return at::compositeexplicitautogradnonfunctional::mm(self, other); });
}

Tensor& bmm_out(const Tensor& self, const Tensor& other, Tensor& out) {
  TORCH_CHECK(self.dim() == 3 && other.dim() == 3, "batch1 and batch2 must be 3D tensors");
  TORCH_CHECK(self.size(0) == other.size(0) && self.size(2) == other.size(1),
              "Expected size for first two dimensions of batch2 tensor to be: [", self.size(0),
              ", ", self.size(2), "] but got: [", other.size(0), ", ", other.size(1), "].");
  check_operands("bmm", out, {self, other});
  resize_result(out, {self.size(0), self.size(1), other.size(2)});
  const c10::DeviceGuard guard(out.device());
  if (self.size(2) == 0) return out.zero_();
  launch_product(self, other, out);
  return out;
}

/// out = beta * self + alpha * first @ second, self expanded.
void add_product(const char* op, const Tensor& self, const Tensor& first, const Tensor& second,
                 const Scalar& beta, const Scalar& alpha, Tensor& out,
                 Activation activation = Activation::kIdentity) {
  check_operands(op, out, {self, first, second});
  at::DimVector sizes(first.sizes());
  sizes.back() = second.size(-1);
  const Tensor addend = self.expand(sizes);
  resize_result(out, sizes);
  const c10::DeviceGuard guard(out.device());
  if (first.size(-1) == 0) return sum_of_nothing(addend, beta, out);
  launch_product(first, second, out, addend, beta, alpha, activation);
}

void check_matrices(const Tensor& first, const Tensor& second) {
  TORCH_CHECK(first.dim() == 2 && second.dim() == 2, "mat1 and mat2 must be matrices");
  TORCH_CHECK(first.size(1) == second.size(0), "mat1 and mat2 shapes cannot be multiplied (",
              first.size(0), "x", first.size(1), " and ", second.size(0), "x", second.size(1), ")");
}

Tensor& addmm_out(const Tensor& self, const Tensor& first, const Tensor& second, const Scalar& beta,
                  const Scalar& alpha, Tensor& out) {
  check_matrices(first, second);
  add_product("addmm", self, first, second, beta, alpha, out);
  return out;
}

Tensor& addmm_activation_out(const Tensor& self, const Tensor& first, const Tensor& second,
                             const Scalar& beta, const Scalar& alpha, bool use_gelu, Tensor& out) {
  check_matrices(first, second);
  add_product("_addmm_activation", self, first, second, beta, alpha, out,
              use_gelu ? Activation::kGelu : Activation::kRelu);
  return out;
}

void check_batches(const Tensor& first, const Tensor& second) {
  TORCH_CHECK(first.dim() == 3, "batch1 must be a 3D tensor");
  TORCH_CHECK(second.dim() == 3, "batch2 must be a 3D tensor");
  TORCH_CHECK(first.size(0) == second.size(0) && first.size(2) == second.size(1),
              "Expected size for first two dimensions of batch2 tensor to be: [", first.size(0),
              ", ", first.size(2), "] but got: [", second.size(0), ", ", second.size(1), "].");
}

Tensor& baddbmm_out(const Tensor& self, const Tensor& first, const Tensor& second,
                    const Scalar& beta, const Scalar& alpha, Tensor& out) {
  check_batches(first, second);
  add_product("baddbmm", self, first, second, beta, alpha, out);
  return out;
}

/// As a row: vector @ matrix.T, whose result is contiguous.
Tensor& addmv_out(const Tensor& self, const Tensor& matrix, const Tensor& vector,
                  const Scalar& beta, const Scalar& alpha, Tensor& out) {
  TORCH_CHECK(matrix.dim() == 2 && vector.dim() == 1 && self.dim() <= 1,
              "vector + matrix @ vector expected, got ", self.dim(), ", ", matrix.dim(), ", ",
              vector.dim());
  TORCH_CHECK(matrix.size(1) == vector.size(0), "size mismatch, got input (", matrix.size(0),
              "), mat (", matrix.size(0), "x", matrix.size(1), "), vec (", vector.size(0), ")");
  check_operands("addmv", out, {self, matrix, vector});
  const Tensor addend = self.expand({matrix.size(0)});
  resize_result(out, {matrix.size(0)});
  const c10::DeviceGuard guard(out.device());
  if (vector.size(0) == 0) {
    sum_of_nothing(addend, beta, out);
    return out;
  }
  launch_product(row_of(vector), matrix.t(), row_of(out), row_of(addend), beta, alpha);
  return out;
}

/// Torch's own composition, which does not ask where `out` is; device_operator does.
Tensor& addr_out(const Tensor& self, const Tensor& left, const Tensor& right, const Scalar& beta,
                 const Scalar& alpha, Tensor& out) {
  return at::native::math_addr_out(self, left, right, beta, alpha, out);
}

Tensor dot(const Tensor& self, const Tensor& other) {
  TORCH_CHECK(self.dim() == 1 && other.dim() == 1, "1D tensors expected, but got ", self.dim(),
              "D and ", other.dim(), "D tensors");
  TORCH_CHECK(self.scalar_type() == other.scalar_type(),
              "dot : expected both vectors to have same dtype, but found ", self.scalar_type(),
              " and ", other.scalar_type());
  TORCH_CHECK(self.numel() == other.numel(), "inconsistent tensor size, expected tensor [",
              self.numel(), "] and src [", other.numel(),
              "] to have the same number of elements, but got ", self.numel(), " and ",
              other.numel(), " elements respectively");
  const c10::DeviceGuard guard(self.device());
  check_operands("dot", self, {other});
  const Tensor out = at::empty({}, self.options());
  if (self.numel() == 0) return out.zero_();
  launch_product(row_of(self), column_of(other), {out, {1, 1}, {1, 1}});
  return out;
}

/// The gradients of linear(): of its input, weight and bias, as far as `mask` asks for them.
ThreeTensors linear_backward(const Tensor& self, const Tensor& gradient, const Tensor& weight,
                             std::array<bool, 3> mask) {
  check_floating(self);
  TORCH_CHECK(weight.dim() == 2 && self.dim() >= 1 && gradient.dim() == self.dim(),
              "linear_backward: the input has ", self.dim(), " dimensions, the gradient ",
              gradient.dim(), ", the weight ", weight.dim(), " and not 2");
  const Tensor rows = gradient.reshape({-1, weight.size(0)});
  ThreeTensors results;
  if (mask[0]) std::get<0>(results) = rows.mm(weight).view(self.sizes());
  if (mask[1]) std::get<1>(results) = rows.t().mm(self.reshape({-1, weight.size(1)}));
  if (mask[2]) std::get<2>(results) = rows.sum(0);
  return results;
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("mm", mm);
  m.impl("mm.out", device_operator<mm_out>());
  m.impl("bmm.out", device_operator<bmm_out>());
  m.impl("addmm.out", device_operator<addmm_out>());
  m.impl("_addmm_activation.out", device_operator<addmm_activation_out>());
  m.impl("baddbmm.out", device_operator<baddbmm_out>());
  m.impl("addmv.out", device_operator<addmv_out>());
  m.impl("addr.out", device_operator<addr_out>());
  m.impl("linear_backward", device_operator<linear_backward>());
  m.impl("dot", device_operator<dot>());
  m.impl("vdot", device_operator<dot>());
}

}  // namespace neuron_sim
