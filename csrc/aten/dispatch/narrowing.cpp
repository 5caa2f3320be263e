#include "csrc/aten/dispatch/narrowing.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/jit_type.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "csrc/aten/dispatch/fallback.h"
#include "csrc/launch/captured_tensor.h"
#include "csrc/launch/execution.h"
#include "csrc/launch/tensor_access.h"
#include "csrc/launch/transfer.h"
#include "device/runtime/timing_only.h"

namespace neuron_sim {
namespace {

bool is_written(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

bool is_dtype(const c10::Argument& argument) {
  c10::TypePtr type = argument.real_type();
  if (const auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
  return type->kind() == c10::TypeKind::ScalarTypeType;
}

/// A cast from or to float64, which the host makes; a captured graph has it as a copy.
at::Tensor cast(const at::Tensor& tensor, at::ScalarType type) {
  if (!runs_at_once() || !on_device(tensor)) return tensor.to(type);
  count_host_operator("aten::_copy_from");
  if (!timing_only()) return tensor.cpu().to(type).to(tensor.device());
  at::Tensor result = at::empty_like(tensor, tensor.options().dtype(type));
  account_to_host(device_index(tensor), tensor_bytes(tensor), /*non_blocking=*/false);
  account_to_device(device_index(result), tensor_bytes(result), /*non_blocking=*/false);
  return result;
}

/// The arguments of one call with float32 in place of float64.
class Narrowed {
 public:
  Narrowed(const c10::OperatorHandle& op, const torch::jit::Stack& stack)
      : arguments_(op.schema().arguments()),
        stack_(stack.end() - static_cast<std::ptrdiff_t>(arguments_.size()), stack.end()) {}

  /// Whether there is something to narrow; scalars alone stay as they are.
  bool is_needed() {
    bool needed = false;
    for (size_t i = 0; i < arguments_.size(); ++i) {
      if (is_double_dtype(i)) needed = true;
      for_each_tensor(stack_[i], [&](const at::Tensor& tensor) {
        needed |= is_double(tensor) && (tensor.dim() > 0 || is_list(i));
      });
    }
    return needed;
  }

  torch::jit::Stack& stack() {
    for (size_t i = 0; i < arguments_.size(); ++i) {
      if (is_double_dtype(i)) stack_[i] = static_cast<int64_t>(at::kFloat);
      const bool written = is_written(arguments_[i]);
      for_each_tensor(stack_[i], [&](at::Tensor& tensor) {
        if (!is_double(tensor) || tensor.unsafeGetTensorImpl()->is_wrapped_number()) return;
        tensor = narrowed(tensor, written, arguments_[i].is_out());
      });
    }
    return stack_;
  }

  void write_back() const {
    for (const Pair& pair : pairs_) {
      if (!pair.written) continue;
      if (pair.wide.sizes() != pair.narrow.sizes()) pair.wide.resize_(pair.narrow.sizes());
      pair.wide.copy_(cast(pair.narrow, at::kDouble));
    }
  }

  /// The tensor that stands for a result of the narrow call.
  at::Tensor widened(const at::Tensor& result) const {
    const auto pair = std::find_if(pairs_.begin(), pairs_.end(),
                                   [&](const Pair& p) { return p.narrow.is_same(result); });
    if (pair != pairs_.end()) return pair->wide;
    const bool widens = result.defined() && result.scalar_type() == at::kFloat;
    return widens ? cast(result, at::kDouble) : result;
  }

 private:
  struct Pair {
    at::Tensor wide, narrow;
    bool written;
  };

  static bool is_double(const at::Tensor& tensor) {
    return tensor.defined() && tensor.layout() == at::kStrided &&
           tensor.scalar_type() == at::kDouble;
  }
  bool is_double_dtype(size_t i) const {
    return is_dtype(arguments_[i]) && stack_[i].isInt() &&
           stack_[i].toInt() == static_cast<int64_t>(at::kDouble);
  }
  bool is_list(size_t i) const { return !stack_[i].isTensor(); }

  at::Tensor narrowed(const at::Tensor& tensor, bool written, bool is_out) {
    for (Pair& pair : pairs_) {
      if (!pair.wide.is_same(tensor)) continue;
      pair.written |= written;
      return pair.narrow;
    }
    at::Tensor narrow = is_out ? at::empty_like(tensor, tensor.options().dtype(at::kFloat))
                               : cast(tensor, at::kFloat);
    pairs_.push_back({tensor, narrow, written});
    return narrow;
  }

  const std::vector<c10::Argument>& arguments_;
  torch::jit::Stack stack_;
  std::vector<Pair> pairs_;
};

/// `tensor` with the low 32 bits of its int64 elements; undefined when it has no others.
at::Tensor low_words(const at::Tensor& tensor) {
  if (tensor.numel() == 0) return {};
  const auto [lowest, highest] = at::aminmax(tensor);
  using Word = std::numeric_limits<int32_t>;
  if (lowest.item<int64_t>() >= Word::min() && highest.item<int64_t>() <= Word::max()) return {};
  return tensor.to(at::kInt).to(at::kLong);
}

/// Whether the operator overwrites its tensor, whose elements may be anything before.
bool overwrites(const c10::OperatorHandle& op) {
  const std::string& name = op.operator_name().name;
  return name == "aten::fill_" || name == "aten::zero_";
}

bool is_int64(const at::Tensor& tensor) {
  return tensor.defined() && tensor.is_cpu() && tensor.layout() == at::kStrided &&
         tensor.scalar_type() == at::kLong;
}

/// Whether an element has changed.
bool cut(const at::Tensor& tensor) {
  const at::Tensor low = low_words(tensor);
  if (low.defined()) tensor.copy_(low);
  return low.defined();
}

}  // namespace

bool run_narrowed(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  Narrowed call(op, *stack);
  if (!call.is_needed()) return false;
  torch::jit::Stack& used = call.stack();
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), &used);
  call.write_back();
  for (c10::IValue& value : used) {
    for_each_tensor(value, [&](at::Tensor& tensor) { tensor = call.widened(tensor); });
  }
  torch::jit::drop(*stack, op.schema().arguments().size());
  stack->insert(stack->end(), std::make_move_iterator(used.begin()),
                std::make_move_iterator(used.end()));
  return true;
}

void LowWords::cut_arguments(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  const auto& arguments = op.schema().arguments();
  const size_t first = stack.size() - arguments.size();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const bool written = is_written(arguments[i]);
    for_each_tensor(stack[first + i], [&](at::Tensor& tensor) {
      if (!is_int64(tensor) || tensor.dim() == 0) return;
      is_int64_ = true;
      if (written) written_.push_back(tensor);
      if (arguments[i].is_out() || (written && overwrites(op))) return;
      const at::Tensor low = low_words(tensor);
      if (!low.defined()) return;
      lost_ = true;
      if (written) {
        tensor.copy_(low);
      } else {
        tensor = low;
      }
    });
  }
}

void LowWords::cut_results(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  if (!is_int64_) return;
  for (const at::Tensor& tensor : written_) lost_ |= cut(tensor);
  for (size_t i = stack.size() - op.schema().returns().size(); i < stack.size(); ++i) {
    for_each_tensor(stack[i], [&](const at::Tensor& tensor) {
      if (is_int64(tensor)) lost_ |= cut(tensor);
    });
  }
  if (lost_) {
    TORCH_WARN("operator '", op.operator_name(), "' keeps the low 32 bits of int64 elements, as ",
               "TorchNeuron does (NEURON_SIM_SEMANTICS=torch keeps all)");
  }
}

}  // namespace neuron_sim
