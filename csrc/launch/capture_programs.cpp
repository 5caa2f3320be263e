// Kernels of a graph that are finished programs: NKI's.

#include <ATen/core/LegacyTypeDispatch.h>

#include "csrc/launch/capture.h"
#include "csrc/launch/tensor_access.h"
#include "csrc/runtime/runtime.h"
#include "device/base/errors.h"
#include "device/observe/program_counters.h"
#include "device/runtime/launch.h"
#include "ops/graph/embedded_program.h"

namespace neuron_sim {
namespace {

bool fills_its_memory(const at::Tensor& tensor) {
  return tensor.storage_offset() == 0 &&
         static_cast<size_t>(tensor_bytes(tensor).count) == tensor.storage().nbytes();
}

}  // namespace

std::string GraphCapture::embed(const Kernel& kernel, const std::shared_ptr<const Kernel>& embedded,
                                at::ArrayRef<at::Tensor> arguments, size_t zeroed_from) {
  const Program& program = embedded->program();
  std::string objection = embedding_objection(program);
  if (!objection.empty()) return objection;
  if (addresses_arguments_by_register(program)) {
    for (const at::Tensor& argument : arguments) {
      if (!fills_its_memory(argument)) return "addresses part of a tensor by registers";
    }
  }
  const std::vector<bool> whole = written_whole(program);
  std::vector<GraphTensor> tensors;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Argument& argument = program.arguments[i];
    if (i >= zeroed_from && !whole[i]) {
      const at::AutoDispatchBelowADInplaceOrView no_autograd;
      arguments[i].zero_();
    }
    tensors.push_back(graph_tensor(arguments[i], argument.dtype,
                                   {argument.bytes / itemsize(argument.dtype)}, {1}));
  }
  add(embedded_kernel({embedded, &program}, tensors), kernel);
  return "";
}

void GraphCapture::add_program(const std::shared_ptr<const Kernel>& kernel,
                               const std::shared_ptr<const Kernel>& embedded,
                               at::ArrayRef<at::Tensor> arguments, size_t zeroed_from) {
  const std::string objection = embed(*kernel, embedded, arguments, zeroed_from);
  if (objection.empty()) return;
  graph_->facts_.separate_programs.push_back(
      text("kernel '", kernel->program().kernel, "' ", objection));
  flush();
  ProgramStep step{kernel, {}, zeroed_from};
  std::vector<std::byte*> addresses;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const bool written = kernel->program().arguments[i].written;
    if (written) materialize(arguments[i]);
    const CapturedTensor place = captured(arguments[i]);
    step.arguments.push_back({place.memory, place.byte_offset});
    addresses.push_back(backing(arguments[i]));
    if (!written) continue;
    Memory& memory = memories_[place.memory];
    memory.varies = memory.has_contents = true;
    memory.is_constant = false;
    ++memory.writers;
    wrote_inputs_ |= graph_->memories_[place.memory].origin == GraphMemory::Origin::kInput;
  }
  GraphFacts& facts = graph_->facts_;
  const bool has_one_time = !has_dynamic_loops(kernel->program());
  const Picoseconds body = has_one_time ? kernel->timing().body : Picoseconds{};
  ++facts.kernels, ++facts.emitted, ++facts.programs;
  facts.kernel_bodies = facts.kernel_bodies + body;
  facts.program_bodies = facts.program_bodies + body;
  facts.program_sources.push_back(source_);
  neuron_sim::launch(device_.index(), current_stream(device_.index()), kernel,
                     {addresses.data(), addresses.size()});
  graph_->steps_.emplace_back(std::move(step));
  constant_writes_.emplace_back();
}

}  // namespace neuron_sim
