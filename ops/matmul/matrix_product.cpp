#include "ops/matmul/matrix_product.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "device/base/errors.h"
#include "ops/blocks/collapse.h"
#include "ops/blocks/operand_checks.h"
#include "ops/matmul/matmul_plans.h"

namespace neuron_sim {
namespace {

/// The last two dimensions exchanged.
HbmTensor transposed(HbmTensor tensor) {
  const size_t rank = tensor.shape.size();
  std::swap(tensor.shape[rank - 1], tensor.shape[rank - 2]);
  std::swap(tensor.strides[rank - 1], tensor.strides[rank - 2]);
  return tensor;
}

/// The operands of each product in turn.
class Products {
 public:
  Products(const HbmTensor& a, const HbmTensor& b, const std::optional<HbmTensor>& addend,
           const HbmTensor& out, const MatrixProductOptions& options)
      : tensors_{a, b, out}, options_(options) {
    if (addend) tensors_.push_back(*addend);
    const size_t leading = out.shape.size() - 2;
    const std::vector<int64_t> sizes(out.shape.begin(),
                                     out.shape.begin() + static_cast<std::ptrdiff_t>(leading));
    std::vector<std::vector<int64_t>> strides;
    for (const HbmTensor& tensor : tensors_) {
      strides.emplace_back(tensor.strides.begin(),
                           tensor.strides.begin() + static_cast<std::ptrdiff_t>(leading));
    }
    dimensions_ = collapse(sizes, strides);
  }

  MatmulBatch batch(Builder& builder) const {
    const std::vector<Affine> origin(tensors_.size(), Affine(0));
    int64_t count = 1;
    for (const SharedDimension& dimension : dimensions_) count *= dimension.size;
    return {count, operands(origin), [this, &builder, origin](const auto& body) {
              emit_dimension(builder, 0, origin, 0, body);
            }};
  }

 private:
  using Body = std::function<void(const MatmulOperands&, const Affine&)>;

  MatmulOperands operands(const std::vector<Affine>& starts) const {
    const auto matrix = [&](size_t i) {
      const HbmTensor& tensor = tensors_[i];
      const size_t rank = tensor.shape.size();
      return tensor.view({tensor.shape[rank - 2], tensor.shape[rank - 1]},
                         {tensor.strides[rank - 2], tensor.strides[rank - 1]}, starts[i]);
    };
    MatmulOperands result{matrix(0), matrix(1), matrix(2)};
    if (tensors_.size() > 3) result.addend = matrix(3);
    result.scale = options_.scale;
    result.addend_scale = options_.addend_scale;
    result.transpose_engine = transpose_engine(options_.matmul);
    return result;
  }

  void emit_dimension(Builder& builder, size_t index, const std::vector<Affine>& starts,
                      const Affine& number, const Body& body) const {
    if (index == dimensions_.size()) return body(operands(starts), number);
    const SharedDimension& dimension = dimensions_[index];
    builder.loop(dimension.size, [&](const Affine& i) {
      std::vector<Affine> inner = starts;
      for (size_t t = 0; t < inner.size(); ++t) inner[t] += i * dimension.strides[t];
      emit_dimension(builder, index + 1, inner, number * dimension.size + i, body);
    });
  }

  std::vector<HbmTensor> tensors_;  ///< a, b, out, addend
  const MatrixProductOptions& options_;
  std::vector<SharedDimension> dimensions_;
};

void check_matrices(const HbmTensor& a, const HbmTensor& b, const std::optional<HbmTensor>& addend,
                    const HbmTensor& out) {
  const size_t rank = out.shape.size();
  const auto leading = [&](const HbmTensor& tensor) {
    return std::vector<int64_t>(tensor.shape.begin(), tensor.shape.end() - 2);
  };
  const auto fits = [&](const HbmTensor& tensor, int64_t rows, int64_t columns) {
    return tensor.shape.size() == rank && leading(tensor) == leading(out) &&
           tensor.shape[rank - 2] == rows && tensor.shape[rank - 1] == columns;
  };
  if (rank < 2 || a.shape.size() != rank || a.elements() == 0 || b.elements() == 0) {
    fail("matrix_product needs operands of two dimensions or more, none of them empty.");
  }
  const int64_t rows = out.shape[rank - 2], columns = out.shape[rank - 1];
  const int64_t depth = a.shape[rank - 1];
  if (!fits(a, rows, depth) || !fits(b, depth, columns) ||
      (addend && !fits(*addend, rows, columns))) {
    fail("matrix_product: the sizes of a, b, addend and out do not fit together.");
  }
  check_float_operand("matrix_product", "a", {a.shape, {}, a.dtype()});
  check_same_dtype("matrix_product", "a", {a.shape, {}, a.dtype()}, "b", {b.shape, {}, b.dtype()});
}

}  // namespace

void emit_matrix_product(Builder& builder, HbmTensors operands, HbmTensors results,
                         const MatrixProductOptions& options) {
  const HbmTensor &a = operands[0], &b = operands[1], &out = results[0];
  const auto addend = optional_tensor(operands, 2);
  check_matrices(a, b, addend, out);
  const size_t rank = out.shape.size();
  const bool by_columns = out.shape[rank - 2] > 1 && out.strides[rank - 2] == 1 &&
                          (out.shape[rank - 1] == 1 || out.strides[rank - 1] != 1);
  if (by_columns) {
    std::optional<HbmTensor> turned = addend;
    if (turned) turned = transposed(*turned);
    const Products products(transposed(b), transposed(a), turned, transposed(out), options);
    return emit_matmul_batch(builder, products.batch(builder), {options.activation, {}, {}},
                             options.matmul);
  }
  const Products products(a, b, addend, out, options);
  emit_matmul_batch(builder, products.batch(builder), {options.activation, {}, {}}, options.matmul);
}

}  // namespace neuron_sim
