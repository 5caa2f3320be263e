// torch's functional collectives that copy their input and work in place on the copy. A collective
// of the device has separate buffers for what it reads and what it writes: it needs no copy.

#include <ATen/ops/empty_like.h>
#include <torch/library.h>
#include <torch/csrc/distributed/c10d/Functional.hpp>
#include <torch/csrc/distributed/c10d/GroupRegistry.hpp>

#include <algorithm>
#include <cctype>
#include <optional>
#include <type_traits>
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

/// The reduction that functional collectives call by `name`, "sum".
std::optional<c10d::ReduceOp> reduction_of(const std::string& name) {
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

/// The reduction of each of `inputs` over the group in a new tensor, to be waited for; nothing
/// when it is for torch to do, or to refuse.
std::optional<Tensors> reduce_without_copy(const Tensors& inputs, const std::string& reduction,
                                           const Group& group, c10d::OpType type) {
  DistributedBackend* const backend = backend_of(group);
  const auto operation = reduction_of(reduction);
  if (backend == nullptr || !operation || !reads_in_place(inputs)) return std::nullopt;
  Tensors results = empty_results(inputs);
  const auto work = backend->reduce_into(results, inputs, *operation, type);
  for (const at::Tensor& result : results) c10d::register_work(result, work);
  return results;
}

at::Tensor all_reduce(const at::Tensor& input, const std::string& reduction, const Group& group) {
  if (const auto results =
          reduce_without_copy({input}, reduction, group, c10d::OpType::ALLREDUCE)) {
    return results->front();
  }
  return c10d::all_reduce(input, reduction, group);
}

Tensors all_reduce_coalesced(const Tensors& inputs, const std::string& reduction,
                             const Group& group) {
  if (auto results =
          reduce_without_copy(inputs, reduction, group, c10d::OpType::ALLREDUCE_COALESCED)) {
    return *std::move(results);
  }
  return c10d::all_reduce_coalesced(inputs, reduction, group);
}

/// Only the root has anything to copy.
at::Tensor broadcast_from(const at::Tensor& input, int64_t root, const Group& group) {
  if (group->getRank() == root) return c10d::broadcast(input, root, group);
  at::Tensor result = empty_results({input}).front();
  return c10d::broadcast_(result, root, group);
}

/// Calls a collective with the arguments on the stack: two, and a group or its name.
template <typename Result, typename First, typename Second>
void call(Result (*collective)(const First&, Second, const Group&), torch::jit::Stack* stack) {
  const Group group = group_of(torch::jit::pop(*stack));
  const auto second = torch::jit::pop(*stack).to<std::decay_t<Second>>();
  const First first = torch::jit::pop(*stack).to<First>();
  torch::jit::push(*stack, collective(first, second, group));
}

template <auto Collective>
void boxed(const c10::OperatorHandle&, torch::jit::Stack* stack) {
  call(Collective, stack);
}

}  // namespace

TORCH_LIBRARY_IMPL(_c10d_functional, PrivateUse1, m) {
  using torch::CppFunction;
  m.impl("all_reduce", CppFunction::makeFromBoxedFunction<&boxed<&all_reduce>>());
  m.impl("all_reduce_coalesced",
         CppFunction::makeFromBoxedFunction<&boxed<&all_reduce_coalesced>>());
  m.impl("broadcast", CppFunction::makeFromBoxedFunction<&boxed<&broadcast_from>>());
}

}  // namespace neuron_sim
