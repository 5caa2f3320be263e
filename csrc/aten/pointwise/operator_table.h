#pragma once
// The pointwise operators of aten: one row describes an operator per element.

#include <ATen/MemoryOverlap.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "ops/pointwise/expression.h"

namespace neuron_sim {

/// The dtype that an operator computes in, from those of its promoted arguments.
enum class Promotion : uint8_t {
  kCommon,  ///< torch's result type of all tensors and numbers
  kFloat,   ///< the same, integers become the default floating dtype
};

/// The dtype of an operator's result.
enum class ResultDtype : uint8_t {
  kComputed,  ///< the one it computes in
  kBool,
  kSelf,  ///< the first tensor's
};

/// The dtypes that torch defines an operator for, among those that it computes in; others fall
/// back, to the CPU's error.
enum class Accepts : uint8_t {
  kAny,
  kNumbers,  ///< all but bool
  kFloats,
  kIntegers,  ///< and bool
};

/// How a number that stands for an element is converted. In integer operators it always has the
/// dtype that the operator computes in: 0-dimensional tensors wrap, other numbers are an error
/// where they do not fit, unless they are kCast.
enum class Numbers : uint8_t {
  kWide,     ///< it is an fp32 number
  kCast,     ///< it is converted to the dtype that the operator computes in
  kChecked,  ///< the same, an error where it does not fit
};

/// The arguments of one call, as a row sees them.
class PointwiseArguments {
 public:
  PointwiseArguments(const c10::OperatorHandle& op, const torch::jit::Stack& stack,
                     at::ScalarType computed, Numbers numbers, Expression& expression);

  /// Argument `index` of the schema, a tensor or a number, as a value. Tensors on the CPU without
  /// dimensions are numbers too.
  ElementValue value(size_t index);
  /// A number, bool or given optional number, converted by the row's Numbers.
  double number(size_t index) const;
  /// A number converted to the dtype of the computation, without an error where it does not fit.
  double cast_number(size_t index) const;
  /// -1 or 1 for a number below or above all integers of the computation's dtype, 0 for any other.
  int side_of_range(size_t index) const;
  /// A number as fp32 where the operator computes in floats, else of its dtype; an error where it
  /// does not fit.
  double fp32_number(size_t index) const;
  bool flag(size_t index) const;
  /// Whether an optional argument, or that of an out= form, is given.
  bool has(size_t index) const;
  bool is_on_device(size_t index) const;
  std::string_view text(size_t index) const;
  /// The dtype of the computation (before fp32 or int32 stands in for it), and of argument `index`.
  at::ScalarType computed() const { return computed_; }
  at::ScalarType dtype(size_t index) const;
  /// Dimensions of a tensor or number.
  int64_t dimensions(size_t index) const {
    return at(index).isTensor() ? at(index).toTensor().dim() : 0;
  }
  /// Whether elements of a tensor argument share memory, as those of expanded tensors do.
  bool overlaps_itself(size_t index) const {
    return at::has_internal_overlap(at(index).toTensor()) == at::MemOverlap::Yes;
  }
  /// Elements of a tensor argument.
  int64_t elements(size_t index) const { return at(index).toTensor().numel(); }
  bool is_float() const { return expression_.domain() == Domain::kFloat; }

  Expression& expression() { return expression_; }
  ElementValue constant(double value) { return expression_.constant(value); }
  /// The tensors that value() named, in the order of the expression's inputs.
  const std::vector<at::Tensor>& tensors() const { return tensors_; }

 private:
  const c10::IValue& at(size_t index) const;

  const torch::jit::Stack& stack_;
  size_t first_;
  at::ScalarType computed_;
  Numbers numbers_;
  Expression& expression_;
  std::vector<at::Tensor> tensors_;
};

/// A pointwise operator.
struct PointwiseRow {
  /// Overloads it serves, separated by spaces: functional, in-place and out= ones alike. Structured
  /// operators need their out= overload only; torch derives the others.
  const char* overloads;
  Promotion promotion;
  ResultDtype result;
  ElementValue (*build)(PointwiseArguments&);
  /// Arguments that decide the dtype: bit i for argument i of the schema. 0: all tensors and
  /// numbers.
  uint32_t promoted = 0;
  Accepts accepts = Accepts::kAny;
  Numbers numbers = Numbers::kWide;
  /// Results are elements of arguments 1 and 2, so that doubles are computed as pairs of int32.
  bool chooses = false;
};

// What the tables' rows name in every line.
using enum Promotion;
using enum ResultDtype;

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::span<const PointwiseRow> arithmetic_rows();
std::span<const PointwiseRow> comparison_rows();
std::span<const PointwiseRow> rounding_rows();
std::span<const PointwiseRow> function_rows();
std::span<const PointwiseRow> activation_rows();
std::span<const PointwiseRow> activation_gradient_rows();
std::span<const PointwiseRow> loss_gradient_rows();
std::span<const PointwiseRow> selection_rows();

}  // namespace neuron_sim
