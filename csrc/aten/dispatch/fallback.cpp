#include "csrc/aten/dispatch/fallback.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>
#include <torch/library.h>

#include <algorithm>
#include <iterator>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/dispatch/host_call.h"
#include "csrc/aten/dispatch/index_arithmetic.h"
#include "csrc/aten/dispatch/narrowing.h"
#include "csrc/launch/capture.h"
#include "csrc/launch/captured_tensor.h"
#include "csrc/launch/operator_call.h"
#include "csrc/launch/tensor_access.h"
#include "csrc/launch/written_memory.h"
#include "csrc/runtime/device_name.h"
#include "csrc/runtime/generator.h"
#include "csrc/runtime/runtime.h"
#include "csrc/runtime/semantics.h"
#include "device/runtime/timing_only.h"

namespace neuron_sim {
namespace {

HostAccess access_of(const c10::Argument& argument) {
  if (argument.alias_info() == nullptr || !argument.alias_info()->isWrite())
    return HostAccess::kRead;
  return argument.is_out() ? HostAccess::kWrite : HostAccess::kUpdate;
}

bool takes_generator(const c10::Argument& argument) {
  c10::TypePtr type = argument.type();
  if (const auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
  return type->kind() == c10::TypeKind::GeneratorType;
}

bool is_random(const c10::FunctionSchema& schema) {
  return std::any_of(schema.arguments().begin(), schema.arguments().end(), takes_generator);
}

template <typename Element>
c10::List<Element> on_host(const c10::List<Element>& tensors, HostAccess access, HostCall& call) {
  c10::List<Element> host;
  host.reserve(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::optional<at::Tensor> tensor = tensors.get(i);
    host.push_back(tensor ? Element(call.argument(*tensor, access)) : Element());
  }
  return host;
}

/// Replaces one argument on the stack with its counterpart for the CPU kernel.
void hand_over(c10::IValue& value, const c10::Argument& argument, HostCall& call) {
  const HostAccess access = access_of(argument);
  if (value.isTensor()) {
    value = call.argument(value.toTensor(), access);
  } else if (value.isTensorList()) {
    value = on_host(value.toTensorList(), access, call);
  } else if (value.isOptionalTensorList()) {
    value = on_host(value.toOptionalTensorList(), access, call);
  } else if (value.isDevice() && value.toDevice().type() == kDeviceType) {
    const int index = checked_device(value.toDevice().index());
    call.set_device(at::Device(kDeviceType, static_cast<c10::DeviceIndex>(index)));
    value = at::Device(HostCall::place());
  }
}

/// Whether the operator draws random numbers on the host side because the host is their source.
bool draws_on_host(const c10::FunctionSchema& schema) {
  return random_source() == RandomSource::kHost && is_random(schema);
}

/// A random operator draws from the device's generator, through its CPU twin.
void hand_over_generator(c10::IValue& value, const HostCall& call) {
  if (timing_only()) return;  // nobody draws
  std::optional<at::Generator> given;
  if (!value.isNone()) given = value.toGenerator();
  TORCH_CHECK(call.device() || !given, "Expected a 'cpu' device type for generator but found '",
              given->device().type(), "'");
  value = host_twin(generator_or_default(given, call.device() ? call.device()->index() : -1));
}

void take_back(c10::IValue& value, HostCall& call) {
  if (value.isTensor()) {
    value = call.result(value.toTensor());
  } else if (value.isTensorList()) {
    c10::List<at::Tensor> device;
    for (const at::Tensor& tensor : value.toTensorVector()) device.push_back(call.result(tensor));
    value = std::move(device);
  }
}

void check_no_view(const c10::OperatorHandle& op) {
  for (const c10::Argument& result : op.schema().returns()) {
    TORCH_CHECK_NOT_IMPLEMENTED(
        result.alias_info() == nullptr || result.alias_info()->isWrite(), "neuron_sim: operator '",
        op.operator_name(),
        "' returns a view and has no device kernel; a copy would not be a view");
  }
}

/// What the device has no kernel for must have one on the CPU: operators of another kind of device
/// have none, and many have none for sparse tensors.
void check_cpu_kernel(const c10::OperatorHandle& op, at::Layout layout, const std::string& reason) {
  const bool dense = layout == at::kStrided;
  const auto key = dense                   ? c10::DispatchKey::CPU
                   : layout == at::kSparse ? c10::DispatchKey::SparseCPU
                                           : c10::DispatchKey::SparseCsrCPU;
  TORCH_CHECK_NOT_IMPLEMENTED(op.hasComputedKernelForDispatchKey(key), "neuron_sim: operator '",
                              op.operator_name(), "' does not run on the device, because ", reason,
                              ", and the CPU has no kernel of it either; ",
                              dense ? "call operators that do not belong to another kind of device"
                                    : "convert the tensor with to_dense()");
}

/// Materializes what the CPU kernel writes: arguments that the schema marks as written, and running
/// statistics, which batch_norm writes although its schema does not say so.
void materialize_written(c10::IValue value, const c10::Argument& argument) {
  if (access_of(argument) == HostAccess::kRead && !argument.name().starts_with("running_")) return;
  for_each_tensor(value, [](const at::Tensor& tensor) {
    if (tensor.defined() && tensor.has_storage()) materialize(tensor);
  });
}

/// Hands the arguments over, runs the CPU kernel and takes its results back. While only time is
/// wanted it is the kernel of torch's meta device, which says what the results' sizes are. Elements
/// of int64 keep their low 32 bits with `narrow`.
void run_cpu_kernel(const c10::OperatorHandle& op, torch::jit::Stack* stack, HostCall& call,
                    bool narrow) {
  check_out_devices(op, *stack);
  const auto& arguments = op.schema().arguments();
  const size_t first = stack->size() - arguments.size();
  for (size_t i = 0; i < arguments.size(); ++i) {
    materialize_written((*stack)[first + i], arguments[i]);
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    hand_over((*stack)[first + i], arguments[i], call);
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (takes_generator(arguments[i])) hand_over_generator((*stack)[first + i], call);
  }
  LowWords low_words;
  if (narrow) low_words.cut_arguments(op, *stack);
  if (HostCall::place() == at::kMeta || call.is_sparse()) {
    op.callBoxed(stack);
  } else {
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  }
  low_words.cut_results(op, *stack);
  call.finish();
  const size_t results = op.schema().returns().size();
  for (size_t i = stack->size() - results; i < stack->size(); ++i) take_back((*stack)[i], call);
}

/// Every operator that has no kernel for the device arrives here.
void run_without_kernel(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  fall_back(op, stack, "");
}

void refuse_quantized(const c10::OperatorHandle& op, torch::jit::Stack*) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      false, "neuron_sim: operator '", op.operator_name(),
      "' was called for a quantized tensor, which the device does not have; "
      "quantize on the CPU, or keep integers and their scale as tensors");
}

void refuse_nested(const c10::OperatorHandle& op, torch::jit::Stack*) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "neuron_sim: operator '", op.operator_name(),
                              "' was called for a nested tensor of layout torch.strided, for which "
                              "the device has no kernel; nest with layout=torch.jagged");
}

/// RuntimeError, as TorchNeuron's operators that have a kernel, for an operand with dimensions on
/// the CPU. Indices in brackets may be there, and the lengths of packed sequences always are.
void check_places(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  const auto& arguments = op.schema().arguments();
  const size_t first = stack.size() - arguments.size();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = arguments[i].name();
    if (name == "lengths" || name == "batch_sizes" || stack[first + i].isOptionalTensorList()) {
      continue;
    }
    c10::IValue value = stack[first + i];
    for_each_tensor(value, [&](const at::Tensor& tensor) {
      TORCH_CHECK(!tensor.defined() || !tensor.is_cpu() || tensor.dim() == 0, "operator '",
                  op.operator_name(), "': argument '", name, "' is on cpu device, expected ",
                  device_name());
    });
  }
}

/// The device of a tensor, or of the first of a list; otherwise empty.
std::optional<at::Device> device_of_value(const c10::IValue& value) {
  const auto of = [](const at::Tensor& tensor) {
    return tensor.defined() ? std::optional(tensor.device()) : std::nullopt;
  };
  if (value.isTensor()) return of(value.toTensor());
  if (!value.isTensorList()) return std::nullopt;
  const auto list = value.toTensorList();
  return list.empty() ? std::nullopt : of(list.get(0));
}

}  // namespace

void check_out_devices(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  const auto& arguments = op.schema().arguments();
  if (arguments.empty() || !arguments.back().is_out()) return;  // out= arguments are the last ones
  const size_t first = stack.size() - arguments.size();
  std::optional<at::Device> device;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::optional<at::Device> found = device_of_value(stack[first + i]);
    if (!found) continue;
    if (!device && found->type() == kDeviceType) device = found;
    if (!arguments[i].is_out()) continue;
    TORCH_CHECK(!device || *found == *device,
                "Expected all tensors to be on the same device, but found at least two devices, ",
                *device, " and ", *found, "!");
  }
}

namespace {

void compute_on_host(const c10::OperatorHandle& op, torch::jit::Stack* stack,
                     const std::string& why) {
  IndexTensors tensors;
  tensors.add(*stack, op.schema().arguments().size());
  const bool has_kernel = !why.empty();
  // Operators that serve another one's kernel, its checks of indices for example, are torch's.
  const bool is_vendors = vendor_semantics() && WrittenMemory::depth() <= (has_kernel ? 1 : 0);
  const bool narrows = vendor_semantics() && has_kernel && tensors.layout == at::kStrided;
  if (narrows && is_vendors) check_places(op, *stack);
  // A kernel that has refused float64 computes it as float32; without a kernel the CPU keeps it.
  if (narrows && run_narrowed(op, stack)) return;
  const std::string reason = has_kernel ? why : reason_without_kernel(op.schema(), *stack);
  const std::string name = c10::toString(op.operator_name());
  const auto check = [&] {
    check_fallback(name, reason);
    if (has_kernel) check_refused(name, reason);
  };
  check_no_view(op);
  check_cpu_kernel(op, tensors.layout, reason);
  if (GraphCapture* const capture = GraphCapture::active()) {
    if (tensors.layout != at::kStrided) capture->refuse("it has a sparse tensor");
    return capture->run_on_host(op, stack, is_random(op.schema()));
  }
  const bool draws = draws_on_host(op.schema());
  // Only the results tell whether 1 / indices or the nonzero of a mask is index arithmetic; so
  // such a call runs first, unless it writes its arguments.
  const bool known = !tensors.all_index_like || op.schema().is_mutable();
  if (known && !draws && !tensors.index_arithmetic()) check();
  HostCall call;
  run_cpu_kernel(op, stack, call, is_vendors && !is_random(op.schema()));
  tensors.add(*stack, op.schema().returns().size());
  if (draws || tensors.index_arithmetic()) {
    count_host_operator(name);
    if (!tensors.index_arithmetic()) call.account();  // the numbers cross the host link
    return;
  }
  check();
  count_fallback(name, reason, call.account());
}

}  // namespace

void fall_back(const c10::OperatorHandle& op, torch::jit::Stack* stack, const std::string& why) {
  try {
    compute_on_host(op, stack, why);
  } catch (const std::bad_alloc&) {
    throw_host_out_of_memory(operator_text(op, *stack));
  }
}

void run_or_fall_back(const c10::OperatorHandle& op, torch::jit::Stack* stack, bool keeps_arguments,
                      c10::function_ref<void(torch::jit::Stack*)> function) {
  std::string reason;
  const WrittenMemory written;
  try {
    if (keeps_arguments) return function(stack);
    const auto arguments = static_cast<std::ptrdiff_t>(op.schema().arguments().size());
    torch::jit::Stack used(stack->end() - arguments, stack->end());
    function(&used);
    torch::jit::drop(*stack, static_cast<size_t>(arguments));
    stack->insert(stack->end(), std::make_move_iterator(used.begin()),
                  std::make_move_iterator(used.end()));
    return;
  } catch (const Refusal& refusal) {
    reason = refusal.reason;
  } catch (const KernelError& error) {
    if (error.kind() == ErrorKind::kIndex) throw_torch_error(error);  // found by the run itself
    reason = error.what();
  } catch (const SimulatorBug& bug) {
    throw_torch_error(bug);
  } catch (const std::bad_alloc&) {
    throw_host_out_of_memory(operator_text(op, *stack));
  }
  written.check_unchanged(op, *stack, reason);
  fall_back(op, stack, reason);
}

void refuse(const c10::OperatorHandle& op, torch::jit::Stack* stack, const std::string& reason) {
  const WrittenMemory written;  // this is an operator with a kernel
  fall_back(op, stack, reason);
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&run_without_kernel>());
}
TORCH_LIBRARY_IMPL(_, SparsePrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&run_without_kernel>());
}
TORCH_LIBRARY_IMPL(_, SparseCsrPrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&run_without_kernel>());
}
TORCH_LIBRARY_IMPL(_, QuantizedPrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&refuse_quantized>());
}
TORCH_LIBRARY_IMPL(_, NestedTensorPrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&refuse_nested>());
}

}  // namespace neuron_sim
