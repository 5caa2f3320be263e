#include "ops/matmul/matrix_product.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "device/base/errors.h"
#include "ops/blocks/collapse.h"
#include "ops/contract/fusion_traits.h"
#include "ops/contract/operand_checks.h"
#include "ops/matmul/matmul_plans.h"
#include "ops/pointwise/compose.h"
#include "ops/pointwise/substitution.h"

namespace neuron_sim {
namespace {

/// The last two dimensions exchanged.
HbmTensor transposed(HbmTensor tensor) {
  const size_t rank = tensor.shape.size();
  std::swap(tensor.shape[rank - 1], tensor.shape[rank - 2]);
  std::swap(tensor.strides[rank - 1], tensor.strides[rank - 2]);
  return tensor;
}

/// The function of the Scalar engine that is all an expression computes, of its input 0.
std::optional<Activation> only_function(const Expression& expression) {
  const ExpressionStep& last = expression.steps()[static_cast<size_t>(expression.results()[0])];
  if (last.kind != ExpressionKind::kActivation) return std::nullopt;
  const ExpressionStep& argument = expression.steps()[static_cast<size_t>(last.a)];
  const bool of_input = argument.kind == ExpressionKind::kInput && argument.input == 0;
  return of_input ? std::optional(last.activation) : std::nullopt;
}

/// `options.after` of the sums themselves: the function comes first. Empty where nothing is
/// applied.
std::optional<Expression> applied(const MatrixProductOptions& options) {
  const bool plain = options.activation == Activation::kIdentity;
  const auto input_of = [&](Expression& target, size_t input) {
    const ElementValue value = target.input(static_cast<int>(input));
    return input > 0 || plain ? value : call(options.activation, value);
  };
  if (!options.after.results().empty()) {
    return reading_sums_once(with_inputs(options.after, input_of));
  }
  if (plain) return std::nullopt;
  Expression function;
  function.add_result(input_of(function, 0));
  return function;
}

/// The operands of each product in turn.
class Products {
 public:
  /// `more`: the addend, if there is one, and the other operands. `is_turned`: all of them are
  /// transposed.
  Products(const HbmTensor& a, const HbmTensor& b, const HbmTensor& out,
           const std::vector<HbmTensor>& more, const MatrixProductOptions& options, bool is_turned)
      : tensors_{a, out, b}, is_turned_(is_turned), own_{2, more.size(), options} {
    tensors_.insert(tensors_.end(), more.begin(), more.end());
    collapse_leading();
    const auto function = own_.after ? only_function(*own_.after) : std::nullopt;
    if (function && options.others == 0) {
      activation_ = *function;
      own_.after.reset();
    }
  }

  /// Each with a gate: its right operand, and what `more` is of the constructor.
  void add_gate(HbmTensors operands, const MatrixProductOptions& options, Dtype dtype) {
    gate_.emplace(tensors_.size(), operands.size() - 1, options);
    gate_dtype_ = dtype;
    tensors_.insert(tensors_.end(), operands.begin(), operands.end());
    collapse_leading();
  }

  MatmulBatch batch(Builder& builder) const {
    const std::vector<Affine> origin(tensors_.size(), Affine(0));
    int64_t count = 1;
    for (const SharedDimension& dimension : dimensions_) count *= dimension.size;
    return {count, operands(origin), [this, &builder, origin](const auto& body) {
              emit_dimension(builder, 0, origin, 0, body);
            }};
  }

  /// What MatmulBatch applies to all products.
  Epilogue epilogue() const { return {activation_, {}, {}}; }

 private:
  using Body = std::function<void(const MatmulOperands&, const Affine&)>;

  /// What a product has beside a and out.
  struct Factor {
    Factor(size_t b, size_t count, const MatrixProductOptions& given)
        : right(b), more(count), options(given), after(applied(given)) {}
    bool has_addend() const { return static_cast<int64_t>(more) > options.others; }

    size_t right;  ///< index of b among the tensors; `more` of them follow, an addend first
    size_t more;
    const MatrixProductOptions& options;
    std::optional<Expression> after;
  };

  void collapse_leading() {
    const std::vector<int64_t>& shape = tensors_[1].shape;
    const auto leading = static_cast<std::ptrdiff_t>(shape.size() - 2);
    std::vector<std::vector<int64_t>> strides;
    for (const HbmTensor& tensor : tensors_) {
      strides.emplace_back(tensor.strides.begin(), tensor.strides.begin() + leading);
    }
    dimensions_ = collapse({shape.begin(), shape.begin() + leading}, strides);
  }

  MatmulOperands operands(const std::vector<Affine>& starts) const {
    MatmulOperands result = operands_of(own_, starts);
    result.out = matrix(1, starts);
    result.is_turned = is_turned_;
    if (gate_) result.gate = {operands_of(*gate_, starts)};
    result.gate_dtype = gate_dtype_;
    return result;
  }

  MatmulOperands operands_of(const Factor& factor, const std::vector<Affine>& starts) const {
    MatmulOperands result{matrix(0, starts), matrix(factor.right, starts), {}};
    size_t next = factor.right + 1;
    const size_t end = next + factor.more;
    if (factor.has_addend()) result.addend = matrix(next++, starts);
    for (; next < end; ++next) result.others.push_back(matrix(next, starts));
    if (factor.after) result.after = &*factor.after;
    result.scale = factor.options.scale;
    result.addend_scale = factor.options.addend_scale;
    result.transpose_engine = transpose_engine(factor.options.matmul);
    return result;
  }

  View matrix(size_t i, const std::vector<Affine>& starts) const {
    const HbmTensor& tensor = tensors_[i];
    const size_t rank = tensor.shape.size();
    return tensor.view({tensor.shape[rank - 2], tensor.shape[rank - 1]},
                       {tensor.strides[rank - 2], tensor.strides[rank - 1]}, starts[i]);
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

  std::vector<HbmTensor> tensors_;  ///< a, out, and those of each factor
  bool is_turned_;
  Factor own_;
  Activation activation_ = Activation::kIdentity;  ///< instead of own_.after
  std::optional<Factor> gate_;
  Dtype gate_dtype_{};
  std::vector<SharedDimension> dimensions_;
};

void check_matrices(const HbmTensor& a, const HbmTensor& b, const HbmTensor& out,
                    const std::vector<HbmTensor>& more) {
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
  const bool more_fit = std::all_of(more.begin(), more.end(), [&](const HbmTensor& tensor) {
    return fits(tensor, rows, columns);
  });
  if (!fits(a, rows, depth) || !fits(b, depth, columns) || !more_fit) {
    fail("matrix_product: the sizes of a, b, addend, other operands and out do not fit together.");
  }
  if (a.dtype() != Dtype::kInt8 || b.dtype() == Dtype::kInt8) {
    check_float_operand("matrix_product", "a", {a.shape, {}, a.dtype()});
  }
  if (a.dtype() == Dtype::kInt8) {
    check_float_operand("matrix_product", "b", {b.shape, {}, b.dtype()});
  } else if (b.dtype() != Dtype::kInt8) {
    check_same_dtype("matrix_product", "a", {a.shape, {}, a.dtype()}, "b",
                     {b.shape, {}, b.dtype()});
  }
}

/// The products as the result's strides want them: transposed, or as they are.
Products products_of(HbmTensors operands, HbmTensors results, const MatrixProductOptions& options) {
  const HbmTensor &a = operands[0], &b = operands[1], &out = results[0];
  std::vector<HbmTensor> more(operands.begin() + 2, operands.end());
  require(std::ssize(more) - options.others == 0 || std::ssize(more) - options.others == 1,
          "a product has one addend at most");
  check_matrices(a, b, out, more);
  if (!is_by_columns(out.shape, out.strides)) return {a, b, out, more, options, false};
  std::transform(more.begin(), more.end(), more.begin(), transposed);
  return {transposed(b), transposed(a), transposed(out), more, options, true};
}

}  // namespace

bool is_by_columns(std::span<const int64_t> shape, std::span<const int64_t> strides) {
  const size_t row = shape.size() - 2, column = row + 1;
  return shape[row] > 1 && strides[row] == 1 && (shape[column] == 1 || strides[column] != 1);
}

void emit_matrix_product(Builder& builder, HbmTensors operands, HbmTensors results,
                         const MatrixProductOptions& options) {
  const Products products = products_of(operands, results, options);
  const Epilogue epilogue = products.epilogue();
  emit_matmul_batch(builder, products.batch(builder), epilogue, options.matmul);
}

void emit_gated_product(Builder& builder, HbmTensors operands, HbmTensors results,
                        const GatedProductOptions& options) {
  const auto own = operands.size() - static_cast<size_t>(options.gate_operands);
  require(!is_by_columns(results[0].shape, results[0].strides), "a gated product is not turned");
  Products products = products_of(operands.first(own), results, options.product);
  products.add_gate(operands.subspan(own), options.gate, options.gate_dtype);
  emit_matmul_batch(builder, products.batch(builder), products.epilogue(), options.product.matmul);
}

namespace {

/// The contracted dimension goes to the partitions.
FusionTraits traits_of(std::span<const TensorSpec> operands, const MatrixProductOptions& options) {
  FusionTraits traits{.operands = {{.contracted = true}, {}}, .rounds_result = true};
  std::vector<int64_t> order(operands[0].shape.size());
  std::iota(order.begin(), order.end(), 0);
  traits.operands[1].constant_order = order;
  std::swap(order.end()[-1], order.end()[-2]);
  traits.operands[0].constant_order = std::move(order);
  traits.set(options);
  return traits;
}

}  // namespace

const KernelDefinition<MatrixProductOptions> kMatrixProduct{
    .name = "matrix_product", .emit = emit_matrix_product, .traits = traits_of};

bool product_is_resident(Builder& builder, HbmTensors operands, HbmTensors results,
                         const MatrixProductOptions& options) {
  const Products products = products_of(operands, results, options);
  return plan_resident(builder.architecture(), products.batch(builder)).columns > 0;
}

}  // namespace neuron_sim
