#include "csrc/launch/graph.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/record_function.h>
#include <c10/core/DeviceGuard.h>

#include <cstring>

#include "csrc/launch/capture.h"
#include "csrc/launch/tensor_access.h"
#include "csrc/runtime/errors.h"
#include "csrc/runtime/runtime.h"
#include "csrc/runtime/values.h"
#include "device/memory/write_watch.h"
#include "device/runtime/devices.h"
#include "device/runtime/launch.h"
#include "device/runtime/timing_only.h"

namespace neuron_sim {
namespace {

/// The memories of one run.
class Run {
 public:
  Run(at::Device device, const std::vector<GraphMemory>& memories, const Preparation& preparation,
      at::ArrayRef<at::Tensor> inputs)
      : device_(device), memories_(memories), storages_(memories.size()), shifts_(memories.size()) {
    for (size_t i = 0; i < memories.size(); ++i) {
      const GraphMemory& memory = memories[i];
      if (memory.origin == GraphMemory::Origin::kConstant) storages_[i] = memory.constant;
      if (memory.origin != GraphMemory::Origin::kInput) continue;
      const at::Tensor& input = inputs[memory.input];
      storages_[i] = input.storage();
      shifts_[i] =
          input.storage_offset() * static_cast<int64_t>(input.element_size()) - memory.input_offset;
    }
    if (preparation.empty()) return;
    const auto contents = preparation.contents([&](size_t memory) { return address_of(memory); });
    for (const auto& [memory, storage] : *contents) storages_[memory] = storage;
  }

  void launch(const ProgramStep& step) {
    c10::SmallVector<std::byte*, 16> addresses;
    for (const GraphArgument& argument : step.arguments) {
      addresses.push_back(address_of(argument.memory) + argument.byte_offset);
      const size_t index = addresses.size() - 1;
      if (index < step.zeroed_from || timing_only()) continue;
      const int64_t bytes = step.kernel->program().arguments[index].bytes;
      std::memset(addresses.back(), 0, static_cast<size_t>(bytes));
      note_write({addresses.back(), addresses.back() + bytes});
    }
    neuron_sim::launch(device_.index(), current_stream(device_.index()), step.kernel,
                       {addresses.data(), addresses.size()});
  }

  void perform(const HostStep& step) {
    torch::jit::Stack stack =
        step.arguments.stack([&](const CapturedTensor& tensor) { return restored(tensor); });
    step.run(stack);
    auto next = step.results.tensors().begin();
    for (c10::IValue& value : stack) {
      for_each_tensor(value, [&](at::Tensor& tensor) {
        if (next->has_value()) take(**next, tensor);
        ++next;
      });
    }
  }

  at::Tensor restored(const CapturedTensor& tensor) {
    return tensor.over(storage_of(tensor.memory), shifts_[tensor.memory], device_);
  }

 private:
  /// Where the memory began when it was captured.
  std::byte* address_of(size_t memory) {
    const c10::Storage& storage = storage_of(memory);
    if (!timing_only()) check_values(*storage.unsafeGetStorageImpl());
    return static_cast<std::byte*>(hbm().backing(storage.mutable_data())) + shifts_[memory];
  }

  const c10::Storage& storage_of(size_t memory) {
    c10::Storage& storage = storages_[memory];
    if (!storage) {
      storage =
          at::empty({memories_[memory].bytes}, at::TensorOptions().dtype(at::kByte).device(device_))
              .storage();
    }
    return storage;
  }

  /// Later steps read this result of a host step.
  void take(const CapturedTensor& expected, const at::Tensor& found) {
    TORCH_CHECK(found.sizes() == at::IntArrayRef(expected.sizes) &&
                    found.strides() == at::IntArrayRef(expected.strides),
                "neuron_sim: a compiled graph ran with a tensor of sizes ", found.sizes(),
                " where it was captured with ", at::IntArrayRef(expected.sizes),
                ": sizes that depend on values cannot be compiled");
    storages_[expected.memory] = found.storage();
    shifts_[expected.memory] =
        found.storage_offset() * static_cast<int64_t>(found.element_size()) - expected.byte_offset;
  }

  at::Device device_;
  const std::vector<GraphMemory>& memories_;
  std::vector<c10::Storage> storages_;
  std::vector<int64_t> shifts_;  ///< bytes from where contents were captured to where they are
};

}  // namespace

std::vector<at::Tensor> CapturedGraph::run(at::ArrayRef<at::Tensor> inputs) const {
  TORCH_CHECK(inputs.size() == inputs_, "neuron_sim: a compiled graph of ", inputs_,
              " inputs was called with ", inputs.size());
  const c10::DeviceGuard on_device(device_);
  const at::AutoDispatchBelowADInplaceOrView no_autograd;
  RECORD_FUNCTION(kGraphOperator, std::vector<c10::IValue>(inputs.begin(), inputs.end()));
  return translate_errors([&] {
    Run run(device_, memories_, preparation_, inputs);
    for (const auto& step : steps_) {
      if (const auto* program = std::get_if<ProgramStep>(&step)) {
        run.launch(*program);
      } else {
        run.perform(std::get<HostStep>(step));
      }
    }
    std::vector<at::Tensor> outputs;
    for (const CapturedTensor& output : outputs_) outputs.push_back(run.restored(output));
    return outputs;
  });
}

}  // namespace neuron_sim
