#include "csrc/aten/sparse/products.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_convert_indices_from_csr_to_coo.h>
#include <ATen/ops/zeros.h>
#include <c10/core/DeviceGuard.h>

#include "csrc/aten/dispatch/device_operator.h"

namespace neuron_sim {
namespace {

using at::Tensor;

/// What a sparse matrix has at rows and columns, one of each per value.
struct Entries {
  Tensor rows, columns, values;
};

Entries entries_of(const Tensor& matrix) {
  if (matrix.dim() != 2 || matrix.dense_dim() != 0) throw Refusal{"it is not a matrix of numbers"};
  if (matrix.layout() == at::kSparse) {
    return {matrix._indices().select(0, 0), matrix._indices().select(0, 1), matrix._values()};
  }
  const bool by_rows = matrix.layout() == at::kSparseCsr;
  if (!by_rows && matrix.layout() != at::kSparseCsc) throw Refusal{"its values are blocks"};
  const Tensor bounds = by_rows ? matrix.crow_indices() : matrix.ccol_indices();
  const Tensor plain = by_rows ? matrix.col_indices() : matrix.row_indices();
  const Tensor pairs = at::_convert_indices_from_csr_to_coo(
      bounds.to(at::kLong), plain.to(at::kLong), /*out_int32=*/false, /*transpose=*/!by_rows);
  return {pairs.select(0, 0), pairs.select(0, 1), matrix.values()};
}

/// beta self + alpha sparse @ dense, summed in fp32 and rounded once.
Tensor added_product(const Tensor& self, const Tensor& sparse, const Tensor& dense,
                     const at::Scalar& beta, const at::Scalar& alpha) {
  if (self.layout() != at::kStrided || dense.layout() != at::kStrided ||
      sparse.layout() == at::kStrided) {
    throw Refusal{"the device multiplies a sparse by a dense matrix only"};
  }
  check_floating(dense);
  TORCH_CHECK(sparse.dim() == 2 && dense.dim() == 2, "addmm: Expected matrices, got ", sparse.dim(),
              "D and ", dense.dim(), "D tensors");
  TORCH_CHECK(sparse.size(1) == dense.size(0), "mat1 and mat2 shapes cannot be multiplied (",
              sparse.size(0), "x", sparse.size(1), " and ", dense.size(0), "x", dense.size(1), ")");
  TORCH_CHECK(sparse.scalar_type() == dense.scalar_type() &&
                  self.scalar_type() == dense.scalar_type(),
              "addmm: expected one dtype, got ", self.scalar_type(), ", ", sparse.scalar_type(),
              " and ", dense.scalar_type());
  const c10::DeviceGuard guard(dense.device());
  const Entries entries = entries_of(sparse);
  Tensor product = at::zeros({sparse.size(0), dense.size(1)}, dense.options().dtype(at::kFloat));
  if (entries.values.numel() > 0) {
    product.index_add_(0, entries.rows,
                       dense.index_select(0, entries.columns) *
                           entries.values.to(at::kFloat).unsqueeze(1));
  }
  if (!alpha.equal(1)) product = product * alpha;
  if (!beta.equal(0)) product = product + self.to(at::kFloat).expand(product.sizes()) * beta;
  return product.to(dense.scalar_type());
}

Tensor& added_product_out(const Tensor& self, const Tensor& sparse, const Tensor& dense,
                          const at::Scalar& beta, const at::Scalar& alpha, Tensor& out) {
  if (out.layout() != at::kStrided) throw Refusal{"its result is sparse"};
  return give_result(added_product(self, sparse, dense, beta, alpha), out);
}

Tensor& add_product_in_place(Tensor& self, const Tensor& sparse, const Tensor& dense,
                             const at::Scalar& beta, const at::Scalar& alpha) {
  return added_product_out(self, sparse, dense, beta, alpha, self);
}

/// The product of a compressed matrix and a dense one, in either order.
Tensor compressed_product(const Tensor& self, const Tensor& other) {
  if (self.layout() == at::kStrided) return compressed_product(other.t(), self.t()).t();
  return added_product(/*unused=*/other, self, other, 0, 1);
}

}  // namespace

void register_products(torch::Library& m) {
  m.impl("addmm", device_operator<added_product>());
  m.impl("addmm_", device_operator<add_product_in_place>());
  m.impl("addmm.out", device_operator<added_product_out>());
}

void register_compressed_products(torch::Library& m) {
  register_products(m);
  m.impl("mm", device_operator<compressed_product>());
}

}  // namespace neuron_sim
