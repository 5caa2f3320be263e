// torch's functional collectives that copy their input and work in place on the copy. A collective
// of the device has separate buffers for what it reads and what it writes: it needs no copy.

#include <ATen/ops/empty_like.h>
#include <torch/library.h>
#include <torch/csrc/distributed/c10d/Functional.hpp>
#include <torch/csrc/distributed/c10d/GroupRegistry.hpp>

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "csrc/distributed/backend.h"

namespace neuron_sim {
namespace {

using Group = c10::intrusive_ptr<c10d::ProcessGroup>;

/// The group that an argument names, or is.
Group group_of(const c10::IValue& argument) {
  if (argument.isString()) return c10d::resolve_process_group(argument.toStringRef());
  return argument.toCustomClass<c10d::ProcessGroup>();
}

/// The device's backend of a group; nullptr when another one serves device tensors there.
DistributedBackend* backend_of(const Group& group) {
  return dynamic_cast<DistributedBackend*>(group->getBackend(c10::DeviceType::PrivateUse1).get());
}

/// The reduction that an argument names, "sum", or is: a capsule, from torch 2.15 on.
std::optional<c10d::ReduceOp> reduction_of(const c10::IValue& argument) {
  if (argument.isCapsule()) {
    const auto object = argument.toCapsule();
    const auto* const operation = dynamic_cast<const c10d::ReduceOp*>(object.get());
    return operation == nullptr ? std::nullopt : std::optional(*operation);
  }
  const std::string& name = argument.toStringRef();
  for (int type = c10d::ReduceOp::SUM; type <= c10d::ReduceOp::BXOR; ++type) {
    const c10d::ReduceOp operation(static_cast<c10d::ReduceOp::RedOpType>(type));
    const std::string upper = reduction_name(operation);
    if (std::equal(
            upper.begin(), upper.end(), name.begin(), name.end(),
            [](unsigned char one, unsigned char other) { return std::tolower(one) == other; })) {
      return operation;
    }
  }
  return std::nullopt;
}

/// Dense tensors of the shapes of `inputs` for the results of a collective.
Tensors empty_results(const Tensors& inputs) {
  Tensors results;
  for (const at::Tensor& input : inputs) {
    results.push_back(at::empty_like(input, {}, at::MemoryFormat::Contiguous));
  }
  return results;
}

/// Whether the device reduces `inputs` without a copy: dense ones, of numbers that it adds itself.
/// What else there is, torch copies: strided rows become dense, complex numbers pairs.
bool reads_in_place(const Tensors& inputs) {
  return std::all_of(inputs.begin(), inputs.end(), [](const at::Tensor& input) {
    return input.is_contiguous() && !input.is_complex();
  });
}

/// Leaves a call to torch's own kernel, which is the same on every device.
void call_torch(const c10::OperatorHandle& collective, torch::jit::Stack* stack) {
  collective.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
}

/// all_reduce and all_reduce_coalesced of (tensor or tensors, reduction, group): the results are
/// new tensors, to be waited for. What is not for the device, torch does or refuses.
void all_reduce(const c10::OperatorHandle& collective, torch::jit::Stack* stack) {
  const auto arguments = torch::jit::last(*stack, 3);
  const bool is_one = arguments[0].isTensor();
  const Tensors inputs = is_one ? Tensors{arguments[0].toTensor()} : arguments[0].toTensorVector();
  DistributedBackend* const backend = backend_of(group_of(arguments[2]));
  const auto operation = reduction_of(arguments[1]);
  if (backend == nullptr || !operation || !reads_in_place(inputs)) {
    return call_torch(collective, stack);
  }
  Tensors results = empty_results(inputs);
  const auto type = is_one ? c10d::OpType::ALLREDUCE : c10d::OpType::ALLREDUCE_COALESCED;
  const auto work = backend->reduce_into(results, inputs, *operation, type);
  for (const at::Tensor& result : results) c10d::register_work(result, work);
  torch::jit::drop(*stack, 3);
  if (is_one) return torch::jit::push(*stack, results.front());
  torch::jit::push(*stack, std::move(results));
}

/// broadcast of (tensor, root, group): only the root has anything to copy.
void broadcast_boxed(const c10::OperatorHandle& collective, torch::jit::Stack* stack) {
  const auto arguments = torch::jit::last(*stack, 3);
  const int64_t root = arguments[1].toInt();
  const Group group = group_of(arguments[2]);
  if (group->getRank() == root) return call_torch(collective, stack);
  at::Tensor result = empty_results({arguments[0].toTensor()}).front();
  torch::jit::drop(*stack, 3);
  torch::jit::push(*stack, c10d::broadcast_(result, root, group));
}

}  // namespace

TORCH_LIBRARY_IMPL(_c10d_functional, PrivateUse1, m) {
  using torch::CppFunction;
  m.impl("all_reduce", CppFunction::makeFromBoxedFunction<&all_reduce>());
  m.impl("all_reduce_coalesced", CppFunction::makeFromBoxedFunction<&all_reduce>());
  m.impl("broadcast", CppFunction::makeFromBoxedFunction<&broadcast_boxed>());
}

}  // namespace neuron_sim
