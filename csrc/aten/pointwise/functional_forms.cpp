#include "csrc/aten/pointwise/functional_forms.h"

#include <c10/util/SmallVector.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <string>

#include "csrc/aten/dispatch/plain_call.h"
#include "csrc/aten/shared/rows.h"
#include "csrc/launch/kernel_call.h"
#include "csrc/launch/storage.h"

namespace neuron_sim {
namespace {

using at::Tensor;

constexpr size_t kMostTensors = 3;
/// A backend without any kernel, which therefore has the forms that torch derives.
constexpr c10::DispatchKeySet kDerived(c10::DispatchKey::PrivateUse3);

/// What a row computes of plain tensors, and which arguments its expression's inputs are.
struct KeptForm {
  FormedExpression formed;
  c10::SmallVector<size_t, kMostTensors> arguments;
};

/// The arguments of a call, all tensors.
class TensorArguments {
 public:
  explicit TensorArguments(const c10::OperatorHandle& op, const torch::jit::Stack& stack)
      : first_(stack.data() + stack.size() - op.schema().arguments().size()),
        count_(op.schema().arguments().size()) {}
  size_t count() const { return count_; }
  const Tensor& operator[](size_t index) const { return first_[index].toTensor(); }

  /// Whether nothing has to be promoted, broadcast, moved or put in order.
  bool are_plain() const {
    const Tensor& first = (*this)[0];
    if (!is_plain(first) || !first.is_contiguous()) return false;
    for (size_t i = 1; i < count_; ++i) {
      const Tensor& other = (*this)[i];
      if (!neuron_sim::are_plain(first, other) || other.sizes() != first.sizes() ||
          !other.is_contiguous()) {
        return false;
      }
    }
    return true;
  }

  /// Which tensors are the same one, as a number below kSharings.
  size_t sharing() const {
    size_t bits = 0, bit = 1;
    for (size_t i = 1; i < count_; ++i) {
      for (size_t j = 0; j < i; ++j, bit *= 2) {
        if ((*this)[i].is_same((*this)[j])) bits += bit;
      }
    }
    return bits;
  }
  static constexpr size_t kSharings = 8;

 private:
  const c10::IValue* first_;
  size_t count_;
};

/// The device kernel of a row's functional form.
class FunctionalKernel final : public c10::OperatorKernel {
 public:
  explicit FunctionalKernel(const PointwiseRow& row) : row_(row) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/,
                  torch::jit::Stack* stack) {
    const TensorArguments tensors(op, *stack);
    const auto torchs = [&] {
      op.redispatchBoxed(kDerived, stack);
      Tensor result = stack->back().toTensor();
      stack->pop_back();
      return result;
    };
    const size_t below = stack->size() - tensors.count();
    bool derived = false;
    Tensor result = run_plain(
        tensors.are_plain(), [&] { return launched(op, *stack, tensors); },
        [&] {
          derived = true;
          return torchs();
        });
    if (!derived) stack->resize(below);
    stack->emplace_back(std::move(result));
  }

 private:
  Tensor launched(const c10::OperatorHandle& op, const torch::jit::Stack& stack,
                  const TensorArguments& tensors) {
    const Tensor& first = tensors[0];
    const KeptForm& kept = form_of(op, stack, tensors);
    const bool decides = row_.result == ResultDtype::kBool;
    const Tensor result =
        uninitialised(first.sizes(), decides ? at::kBool : first.scalar_type(), first.device());
    const FlatDimensions flat(result);
    KernelCall call("pointwise", first.device());
    for (const size_t index : kept.arguments) {
      call.operand(tensors[index], flat.sizes(), flat.strides());
    }
    call.result(result, flat.sizes(), flat.strides());
    call.launch(kept.formed.expression, &kept.formed.form);
    return result;
  }

  /// Two threads that miss the same form both make it, and one is kept.
  const KeptForm& form_of(const c10::OperatorHandle& op, const torch::jit::Stack& stack,
                          const TensorArguments& tensors) {
    const at::ScalarType type = tensors[0].scalar_type();
    const size_t dtype = type == at::kFloat ? 0 : type == at::kHalf ? 1 : 2;
    std::atomic<const KeptForm*>& slot =
        forms_[dtype * TensorArguments::kSharings + tensors.sharing()];
    if (const KeptForm* const known = slot.load(std::memory_order_acquire)) return *known;
    auto made = std::make_unique<const KeptForm>(made_form(op, stack, tensors));
    const KeptForm* expected = nullptr;
    return slot.compare_exchange_strong(expected, made.get()) ? *made.release() : *expected;
  }

  KeptForm made_form(const c10::OperatorHandle& op, const torch::jit::Stack& stack,
                     const TensorArguments& tensors) const {
    Expression expression;
    PointwiseArguments arguments(op, stack, tensors[0].scalar_type(), row_.numbers, expression);
    expression.add_result(row_.build(arguments));
    KeptForm made{FormedExpression(std::move(expression)), {}};
    for (const Tensor& input : arguments.tensors()) {
      size_t index = 0;
      while (!tensors[index].is_same(input)) ++index;
      made.arguments.push_back(index);
    }
    return made;
  }

  const PointwiseRow& row_;
  std::array<std::atomic<const KeptForm*>, 3 * TensorArguments::kSharings> forms_{};
};

/// The functional overload of an out= one: "eq.Tensor" of "eq.Tensor_out", "exp" of "exp.out".
std::string functional_name(std::string overload) {
  for (const std::string_view ending : {"_out", ".out"}) {
    if (overload.ends_with(ending)) return overload.substr(0, overload.size() - ending.size());
  }
  return "";
}

bool takes_only_tensors(const c10::FunctionSchema& schema) {
  const auto& arguments = schema.arguments();
  return !arguments.empty() && arguments.size() <= kMostTensors &&
         std::all_of(arguments.begin(), arguments.end(), [](const c10::Argument& argument) {
           return argument.type()->kind() == c10::TypeKind::TensorType;
         });
}

}  // namespace

void register_functional_form(torch::Library& library, const PointwiseRow& row,
                              const std::string& overload) {
  const std::string name = functional_name(overload);
  if (name.empty() || row.accepts == Accepts::kIntegers) return;
  const size_t dot = name.find('.');
  const auto op = c10::Dispatcher::singleton().findSchema(
      {"aten::" + name.substr(0, dot), dot == std::string::npos ? "" : name.substr(dot + 1)});
  if (!op || !takes_only_tensors(op->schema())) return;
  const auto key = c10::DispatchKey::CompositeExplicitAutogradNonFunctional;
  if (!op->hasKernelForDispatchKey(key)) return;  // it is not structured
  library.impl(name.c_str(),
               torch::CppFunction::makeFromBoxedFunctor(std::make_unique<FunctionalKernel>(row)));
}

}  // namespace neuron_sim
