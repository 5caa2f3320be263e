// Runs any row of the operator table: promotes, broadcasts, builds the expression, launches.

#include <ATen/ExpandUtils.h>
#include <ATen/TensorIterator.h>
#include <ATen/native/Resize.h>
#include <ATen/native/TypeProperties.h>
#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <memory>
#include <sstream>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/pointwise/functional_forms.h"
#include "csrc/aten/pointwise/operator_table.h"
#include "csrc/aten/shared/device_copies.h"
#include "csrc/aten/shared/rows.h"
#include "csrc/launch/kernel_call.h"
#include "csrc/launch/tensor_access.h"
#include "csrc/runtime/semantics.h"

namespace neuron_sim {
namespace {

using at::Tensor;

std::vector<std::span<const PointwiseRow>> tables() {
  return {arithmetic_rows(), comparison_rows(),          rounding_rows(),  function_rows(),
          activation_rows(), activation_gradient_rows(), selection_rows(), loss_gradient_rows()};
}

std::string why_not_computable(at::ScalarType type) {
  return c10::str("the chip does not compute in ", c10::toString(type));
}

std::vector<std::string> overloads_of(const PointwiseRow& row) {
  std::istringstream words(row.overloads);
  return {std::istream_iterator<std::string>(words), {}};
}

/// One call: its arguments on the stack, and what follows from them.
class PointwiseCall {
 public:
  PointwiseCall(const c10::OperatorHandle& op, const PointwiseRow& row, torch::jit::Stack& stack)
      : op_(op), stack_(stack), row_(row), count_(op.schema().arguments().size()) {}

  /// Empty when it ran. Else why the host computes it: an exception would cost the arithmetic of
  /// int64 indices more than all the rest.
  std::string run() {
    const at::ScalarType computed = computed_dtype();
    if (row_.chooses && computed == at::kDouble && !vendor_semantics() && run_on_halves())
      return "";
    check_accepted(computed);
    if (!is_computable(computed)) return why_not_computable(computed);
    Expression expression(domain_of(computed));
    PointwiseArguments arguments(op_, stack_, computed, row_.numbers, expression);
    const ElementValue value = row_.build(arguments);
    expression.add_result(converted(value, computed));
    at::Tensor result = given_result();
    const bool fresh = !result.defined();
    if (fresh)
      result = at::empty({0}, first_device_tensor().options().dtype(result_dtype(computed)));
    launch(expression, arguments.tensors(), result, computed);
    torch::jit::drop(stack_, count_);
    torch::jit::push(stack_, std::move(result));
    return "";
  }

 private:
  const c10::IValue& argument(size_t index) const { return stack_[stack_.size() - count_ + index]; }
  const c10::Argument& declared(size_t index) const { return op_.schema().arguments()[index]; }
  bool is_result(size_t index) const {
    const auto* alias = declared(index).alias_info();
    return alias != nullptr && alias->isWrite();
  }
  bool is_promoted(size_t index) const {
    return row_.promoted == 0 ? !declared(index).is_out() : ((row_.promoted >> index) & 1u) != 0;
  }

  bool takes_number(size_t index) const {
    c10::TypePtr type = declared(index).type();
    if (const auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
    return type->isSubtypeOf(*c10::NumberType::get());
  }

  at::ScalarType computed_dtype() const {
    at::native::ResultTypeState state;
    for (size_t i = 0; i < count_; ++i) {
      if (!is_promoted(i)) continue;
      const c10::IValue& value = argument(i);
      if (value.isTensor() && value.toTensor().defined()) {
        state = at::native::update_result_type_state(value.toTensor(), state);
      } else if (value.isScalar() && takes_number(i)) {
        state = at::native::update_result_type_state(value.toScalar(), state);
      }
    }
    const at::ScalarType type = at::native::result_type(state);
    // A number promotes bool to int64; a comparison does not need 64 bits.
    const bool narrow = type == at::kLong && row_.result == ResultDtype::kBool &&
                        state.dimResult != at::kLong && state.zeroResult != at::kLong;
    if (narrow) return at::kInt;
    const bool promoted = row_.promotion == Promotion::kFloat && c10::isIntegralType(type, true);
    return promoted ? c10::typeMetaToScalarType(at::get_default_dtype()) : type;
  }

  void check_accepted(at::ScalarType computed) const {
    const bool whole = c10::isIntegralType(computed, /*includeBool=*/true);
    const bool accepted = row_.accepts == Accepts::kAny ||
                          (row_.accepts == Accepts::kNumbers && computed != at::kBool) ||
                          (row_.accepts == Accepts::kFloats && !whole) ||
                          (row_.accepts == Accepts::kIntegers && whole);
    if (!accepted) throw Refusal{c10::str("torch does not define it for ", computed)};
  }

  /// Runs the functional form with the halves of doubles as elements of one more dimension; false
  /// for the CPU's numbers and others that are not as they lie in memory.
  bool run_on_halves() {
    if (count_ != 3) return false;
    torch::jit::Stack halves{argument(0).toTensor().unsqueeze(-1)};
    for (const size_t choice : {size_t{1}, size_t{2}}) {
      const Tensor& tensor = argument(choice).toTensor();
      if (!on_device(tensor) || tensor.scalar_type() != at::kDouble || tensor.is_neg())
        return false;
      halves.emplace_back(tensor.unsqueeze(-1).view(at::kInt));
    }
    op_.callBoxed(&halves);
    // The result is a new tensor, also to a caller that is below autograd and not below views.
    const c10::impl::ExcludeDispatchKeyGuard no_view(c10::DispatchKey::ADInplaceOrView);
    torch::jit::drop(stack_, count_);
    torch::jit::push(stack_, halves.back().toTensor().view(at::kDouble).squeeze(-1));
    return true;
  }

  static Domain domain_of(at::ScalarType computed) {
    return c10::isFloatingType(computed) ? Domain::kFloat : Domain::kInteger;
  }

  at::ScalarType result_dtype(at::ScalarType computed) const {
    if (row_.result == ResultDtype::kBool) return at::kBool;
    return row_.result == ResultDtype::kSelf ? argument(0).toTensor().scalar_type() : computed;
  }

  /// torch's bool is 0 or 1.
  ElementValue converted(ElementValue value, at::ScalarType computed) const {
    if (computed != at::kBool || row_.result == ResultDtype::kBool) return value;
    return compare(AluOp::kNotEqual, value, 0);
  }

  /// The tensor that an in-place or out= overload writes.
  at::Tensor given_result() const {
    for (size_t i = 0; i < count_; ++i) {
      if (is_result(i)) return argument(i).toTensor();
    }
    return {};
  }

  const Tensor& first_device_tensor() const {
    for (size_t i = 0; i < count_; ++i) {
      const c10::IValue& value = argument(i);
      if (value.isTensor() && value.toTensor().defined() && on_device(value.toTensor())) {
        return value.toTensor();
      }
    }
    throw Refusal{"no argument is on the device"};
  }

  void launch(const Expression& expression, const std::vector<Tensor>& tensors, Tensor& result,
              at::ScalarType computed) const {
    TORCH_CHECK(at::canCast(result_dtype(computed), result.scalar_type()), "result type ",
                result_dtype(computed), " can't be cast to the desired output type ",
                result.scalar_type());
    check_computable(result.scalar_type());
    for (const Tensor& tensor : tensors) check_operand(tensor, result);
    const c10::DeviceGuard guard(result.device());
    at::TensorIteratorConfig config;
    config.set_check_mem_overlap(true).check_all_same_dtype(false);
    if (is_in_place() && tensors.empty()) {
      const Tensor once = unexpanded(result);
      config.add_output(once);
      return launch_in_place(expression, tensors, once, config);
    }
    if (!is_in_place() && are_alike(tensors, result)) return run_flat(expression, tensors, result);
    config.add_output(result);
    if (is_in_place()) return launch_in_place(expression, tensors, result, config);
    for (const Tensor& tensor : tensors) config.add_const_input(tensor);
    at::TensorIterator iterator = config.build();
    run_kernel(expression, iterator);
  }

  /// Whether all are dense in the same order, with the same sizes, so that they need no iterator.
  static bool are_alike(const std::vector<Tensor>& tensors, const Tensor& result) {
    if (result.numel() == 0 || !result.is_contiguous()) return false;
    return std::all_of(tensors.begin(), tensors.end(), [&](const Tensor& tensor) {
      return tensor.sizes() == result.sizes() && tensor.is_contiguous() &&
             (tensor.is_same(result) || !tensor.is_alias_of(result));
    });
  }

  static void run_flat(const Expression& expression, const std::vector<Tensor>& tensors,
                       const Tensor& result) {
    const FlatDimensions flat(result);
    KernelCall call("pointwise", result.device());
    for (const Tensor& tensor : tensors) call.operand(tensor, flat.sizes(), flat.strides());
    call.result(result, flat.sizes(), flat.strides()).launch(expression);
  }

  bool is_in_place() const { return is_result(0) && !declared(0).is_out(); }

  /// The elements of a tensor, each once: fill_ and zero_ may write an expanded one.
  static Tensor unexpanded(Tensor tensor) {
    for (int64_t dimension = 0; dimension < tensor.dim(); ++dimension) {
      if (tensor.stride(dimension) == 0 && tensor.size(dimension) > 1) {
        tensor = tensor.narrow(dimension, 0, 1);
      }
    }
    return tensor;
  }

  /// An in-place operator keeps the shape of its result, even when it reads nothing.
  static void launch_in_place(const Expression& expression, const std::vector<Tensor>& tensors,
                              const Tensor& result, at::TensorIteratorConfig& config) {
    for (const Tensor& tensor : tensors) {
      const std::vector<int64_t> shape = at::infer_size(result.sizes(), tensor.sizes());
      TORCH_CHECK(result.sizes() == at::IntArrayRef(shape), "output with shape ", result.sizes(),
                  " doesn't match the broadcast shape ", at::IntArrayRef(shape));
      config.add_owned_const_input(tensor.expand(result.sizes()));
    }
    config.resize_outputs(false).declare_static_shape(result.sizes());
    at::TensorIterator iterator = config.build();
    run_kernel(expression, iterator);
  }

  void check_operand(const Tensor& tensor, const Tensor& result) const {
    check_computable(tensor.scalar_type());
    if (tensor.is_neg() || tensor.is_conj()) throw Refusal{"an operand is a lazy negation"};
    TORCH_CHECK(tensor.device() == result.device(),
                "Expected all tensors to be on the same device, but found at least two devices, ",
                tensor.device(), " and ", result.device(), "!");
  }

  static void run_kernel(const Expression& expression, const at::TensorIterator& iterator) {
    // The iterator's dimension 0 is the fastest one.
    const std::vector<int64_t> sizes(iterator.shape().rbegin(), iterator.shape().rend());
    const auto strides = [&](int index) {
      std::vector<int64_t> result(iterator.strides(index).rbegin(), iterator.strides(index).rend());
      for (int64_t& stride : result) stride /= iterator.element_size(index);
      return result;
    };
    KernelCall call("pointwise", iterator.tensor(0).device());
    for (int i = 1; i < iterator.ntensors(); ++i) {
      const Tensor& operand = iterator.tensor(i);
      const Tensor aligned = with_neighbours_of(operand, iterator.tensor(0));
      call.operand(aligned, sizes, strides(aligned.is_same(operand) ? i : 0));
    }
    call.result(iterator.tensor(0), sizes, strides(0));
    call.launch(expression);
  }

  const c10::OperatorHandle& op_;
  torch::jit::Stack& stack_;
  const PointwiseRow& row_;
  const size_t count_;
};

/// The device kernel of the overloads of one row.
class PointwiseKernel final : public c10::OperatorKernel {
 public:
  explicit PointwiseKernel(const PointwiseRow& row) : row_(row) {}
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/,
                  torch::jit::Stack* stack) {
    std::string reason;
    run_or_fall_back(op, stack, true,
                     [&](auto*) { reason = PointwiseCall(op, row_, *stack).run(); });
    if (!reason.empty()) refuse(op, stack, reason);
  }

 private:
  const PointwiseRow& row_;
};

}  // namespace

bool is_computable(at::ScalarType type) {
  switch (type) {
    case at::kBool:
    case at::kChar:
    case at::kShort:
    case at::kInt:
    case at::kByte:
    case at::kHalf:
    case at::kBFloat16:
    case at::kFloat: return true;
    default: return false;
  }
}

void check_computable(at::ScalarType type) {
  if (!is_computable(type)) throw Refusal{why_not_computable(type)};
}

void check_floating(const Tensor& tensor) {
  check_computable(tensor.scalar_type());
  if (!tensor.is_floating_point()) throw Refusal{"the device takes floating dtypes here"};
}

void check_out_dtype(const at::Tensor& out, at::ScalarType dtype) {
  TORCH_CHECK(out.scalar_type() == dtype, "Expected out tensor to have dtype ",
              c10::scalarTypeToTypeMeta(dtype), ", but got ", out.dtype(), " instead");
}

void check_castable(at::ScalarType dtype, const at::Tensor& out) {
  TORCH_CHECK(at::canCast(dtype, out.scalar_type()), "result type ", dtype,
              " can't be cast to the desired output type ", out.scalar_type());
}

at::Tensor& give_result(const at::Tensor& result, at::Tensor& out) {
  check_castable(result.scalar_type(), out);
  at::native::resize_output(out, result.sizes());
  return out.copy_(result);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  for (const auto& table : tables()) {
    for (const PointwiseRow& row : table) {
      for (const std::string& name : overloads_of(row)) {
        m.impl(name.c_str(),
               torch::CppFunction::makeFromBoxedFunctor(std::make_unique<PointwiseKernel>(row)));
        register_functional_form(m, row, name);
      }
    }
  }
}

}  // namespace neuron_sim
