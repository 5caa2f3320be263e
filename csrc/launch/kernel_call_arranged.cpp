// Launches that compute with a copy of an operand in the order in which the kernel loads it best.

#include <algorithm>
#include <utility>

#include "csrc/launch/arranged_operands.h"
#include "csrc/launch/kernel_call.h"
#include "device/runtime/checking.h"
#include "device/runtime/timing_only.h"

namespace neuron_sim {

bool KernelCall::launch_arranged(const std::shared_ptr<const Kernel>& kernel,
                                 const Arrangement& arrangement,
                                 c10::function_ref<EmitKernel()> make) {
  const auto ordered = std::find_if(operands_.begin(), operands_.end(), [](const Argument& each) {
    return !each.constant_order.empty();
  });
  if (ordered == operands_.end() || timing_only() || checking()) return false;
  const size_t memory = arrangement.memory[static_cast<size_t>(ordered - operands_.begin())];
  const Memory& bytes = arrangement.memories[memory];
  const auto users = std::count(arrangement.memory.begin(), arrangement.memory.end(), memory);
  if (users > 1 || bytes.written) return false;
  const auto build_arranged = [&](at::IntArrayRef strides, int64_t size) {
    Arrangement arranged = arrangement;
    arranged.memories[memory].end = arranged.memories[memory].begin + size;
    const Sizes own = std::exchange(ordered->strides, Sizes(strides));
    auto program = build(make(), arranged);
    ordered->strides = own;
    return program;
  };
  const std::optional<ArrangedOperand> arranged =
      arranged_operand(kernel,
                       {*ordered->tensor, bytes.begin, ordered->sizes, ordered->strides,
                        itemsize(ordered->dtype), ordered->constant_order},
                       build_arranged);
  if (!arranged) return false;
  c10::SmallVector<std::byte*, 8> addresses;
  for (const Memory& each : arrangement.memories) addresses.push_back(each.begin);
  addresses[memory] = arranged->elements->data();
  const Computation instead{arranged->kernel, {addresses.data(), addresses.size()}};
  run(kernel, arrangement, {}, &instead);
  return true;
}

}  // namespace neuron_sim
