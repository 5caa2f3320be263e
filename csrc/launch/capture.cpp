#include "csrc/launch/capture.h"

#include <ATen/record_function.h>

#include <algorithm>

#include "csrc/launch/execution.h"
#include "csrc/launch/tensor_access.h"
#include "csrc/runtime/errors.h"
#include "csrc/runtime/runtime.h"
#include "device/runtime/devices.h"
#include "device/runtime/launch.h"

namespace neuron_sim {
namespace {

thread_local GraphCapture* active_capture = nullptr;

/// Suspends the capture while a host step runs.
class Pause {
 public:
  Pause() : capture_(active_capture) { active_capture = nullptr; }
  Pause(const Pause&) = delete;
  ~Pause() { active_capture = capture_; }

 private:
  GraphCapture* capture_;
};

}  // namespace

bool runs_at_once() { return active_capture == nullptr; }
bool holds_constant(const at::Tensor& tensor) {
  return active_capture != nullptr && active_capture->holds_constant(tensor);
}
bool exact_transposes() {
  return active_capture == nullptr || active_capture->options().exact_transposes;
}

GraphCapture* GraphCapture::active() { return active_capture; }

GraphCapture::GraphCapture(at::Device device, at::ArrayRef<at::Tensor> inputs,
                           GraphProgramOptions options, at::ArrayRef<int64_t> constants)
    : device_(device), inputs_(inputs.vec()), options_(options), graph_(new CapturedGraph(device)) {
  TORCH_CHECK(active_capture == nullptr, "neuron_sim: a graph is being captured already");
  graph_->inputs_ = inputs.size();
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined() || !on_device(inputs[i])) continue;
    const size_t memory = memory_of(inputs[i]);
    memories_[memory].varies = true;
    GraphMemory& known = graph_->memories_[memory];
    if (known.origin == GraphMemory::Origin::kInput) continue;
    known.origin = GraphMemory::Origin::kInput;
    known.input = i;
    known.input_offset =
        inputs[i].storage_offset() * static_cast<int64_t>(inputs[i].element_size());
  }
  for (const int64_t place : constants) {
    const at::Tensor& input = inputs[static_cast<size_t>(place)];
    if (input.defined() && on_device(input)) memories_[memory_of(input)].is_constant = true;
  }
  active_capture = this;
}

GraphCapture::~GraphCapture() {
  if (active_capture == this) active_capture = nullptr;
}

size_t GraphCapture::memory_of(const at::Tensor& tensor) {
  check_device(tensor);
  const c10::Storage& storage = tensor.storage();
  const auto [at, is_new] = numbers_.try_emplace(storage.unsafeGetStorageImpl(), memories_.size());
  if (is_new) {
    memories_.push_back({storage});
    GraphMemory memory;
    memory.bytes = static_cast<int64_t>(storage.nbytes());
    graph_->memories_.push_back(std::move(memory));
  }
  return at->second;
}

void GraphCapture::check_device(const at::Tensor& tensor) {
  if (tensor.device() != device_) {
    refuse(c10::str("a graph on ", device_, " has a tensor on ", tensor.device()));
  }
}

CapturedTensor GraphCapture::captured(const at::Tensor& tensor) {
  return {memory_of(tensor), tensor.storage_offset() * static_cast<int64_t>(tensor.element_size()),
          tensor.scalar_type(), tensor.sizes().vec(), tensor.strides().vec()};
}

GraphTensor GraphCapture::graph_tensor(const at::Tensor& tensor, Dtype dtype, at::IntArrayRef sizes,
                                       at::IntArrayRef strides) {
  return {memory_of(tensor), tensor.storage_offset() * static_cast<int64_t>(tensor.element_size()),
          dtype, sizes.vec(), strides.vec()};
}

void GraphCapture::add(GraphKernel kernel, const Kernel& alone) {
  kernel.source = source_;
  for (const GraphTensor& operand : kernel.operands) memories_[operand.memory].waiting_read = true;
  for (const GraphTensor& result : kernel.results) {
    Memory& memory = memories_[result.memory];
    memory.varies = memory.waiting_write = true;
    ++memory.writers;
  }
  ++graph_->facts_.kernels;
  graph_->facts_.kernel_bodies = graph_->facts_.kernel_bodies + alone.timing().body;
  waiting_.push_back(std::move(kernel));
}

void GraphCapture::set_source(const std::string& source) {
  if (active_capture != nullptr) active_capture->source_ = source;
}

bool GraphCapture::is_external(size_t memory) const {
  // One reference is ours; any other is a tensor that may be read later.
  return graph_->memories_[memory].origin != GraphMemory::Origin::kFresh ||
         memories_[memory].storage.use_count() > 1 || memories_[memory].has_contents ||
         !memories_[memory].waiting_write;
}

std::byte* GraphCapture::address_of(size_t memory) const {
  const c10::Storage& storage = memories_[memory].storage;
  return static_cast<std::byte*>(hbm().backing(storage.mutable_data()));
}

void GraphCapture::flush() {
  if (waiting_.empty()) return;
  RECORD_FUNCTION(kGraphOperator, std::vector<c10::IValue>(inputs_.begin(), inputs_.end()));
  prepare_constants();
  std::vector<bool> external;
  for (size_t i = 0; i < memories_.size(); ++i) external.push_back(is_external(i));
  translate_errors([&] {
    GraphProgram built = build_graph_program(
        device_architecture(device_.index()), "graph", std::move(waiting_),
        [&](size_t memory) { return external[memory]; }, options_);
    ProgramStep step{std::make_shared<const Kernel>(std::move(built.program)),
                     std::move(built.arguments)};
    std::vector<std::byte*> addresses;
    for (const GraphArgument& argument : step.arguments) {
      addresses.push_back(address_of(argument.memory) + argument.byte_offset);
    }
    neuron_sim::launch(device_.index(), current_stream(device_.index()), step.kernel,
                       {addresses.data(), addresses.size()});
    GraphFacts& facts = graph_->facts_;
    facts.emitted += built.kernels;
    ++facts.programs;
    facts.program_sources.emplace_back();
    facts.program_bodies = facts.program_bodies + step.kernel->timing().body;
    if (!built.unchanged.empty()) facts.unchanged.push_back(std::move(built.unchanged));
    facts.skipped_passes.insert(facts.skipped_passes.end(), built.skipped_passes.begin(),
                                built.skipped_passes.end());
    facts.left_out.insert(built.left_out.begin(), built.left_out.end());
    graph_->steps_.emplace_back(std::move(step));
    constant_writes_.emplace_back();
  });
  waiting_.clear();
  for (size_t i = 0; i < memories_.size(); ++i) {
    wrote_inputs_ |=
        memories_[i].waiting_write && graph_->memories_[i].origin == GraphMemory::Origin::kInput;
    memories_[i].has_contents |= memories_[i].waiting_write;
    memories_[i].is_constant &= !memories_[i].waiting_write;
    memories_[i].waiting_read = memories_[i].waiting_write = false;
  }
}

void GraphCapture::settle(const StackTemplate& arguments, const std::vector<bool>& writes) {
  for (size_t i = 0; i < writes.size(); ++i) {
    const auto& tensor = arguments.tensors()[i];
    if (!tensor) continue;
    const Memory& memory = memories_[tensor->memory];
    if (memory.waiting_write || (writes[i] && memory.waiting_read)) return flush();
  }
}

void GraphCapture::keep(HostStep step, bool varies, const std::vector<size_t>& written) {
  for (const size_t memory : written) {
    memories_[memory].varies |= varies;
    memories_[memory].is_constant = false;
    ++memories_[memory].writers;
    memories_[memory].has_contents = true;
    wrote_inputs_ |= graph_->memories_[memory].origin == GraphMemory::Origin::kInput;
  }
  graph_->steps_.emplace_back(std::move(step));
  constant_writes_.push_back(varies ? std::nullopt : std::optional(written));
}

void GraphCapture::run_on_host(const c10::OperatorHandle& op, torch::jit::Stack* stack,
                               bool is_random) {
  const c10::FunctionSchema& schema = op.schema();
  const size_t count = schema.arguments().size();
  const auto place = [&](const at::Tensor& tensor) { return captured(tensor); };
  StackTemplate arguments(torch::jit::last(*stack, count), place);
  bool varies = is_random;
  std::vector<size_t> written;
  std::vector<bool> writes;  // per tensor
  for (size_t i = 0; i < count; ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    c10::IValue value = (*stack)[stack->size() - count + i];
    for_each_tensor(value, [&](at::Tensor&) {
      const auto& tensor = arguments.tensors()[writes.size()];
      writes.push_back(argument.alias_info() != nullptr && argument.alias_info()->isWrite());
      if (!tensor) return;
      varies |= memories_[tensor->memory].varies && !argument.is_out();
      if (writes.back()) written.push_back(tensor->memory);
    });
  }
  settle(arguments, writes);
  {
    const Pause pause;
    op.callBoxed(stack);
  }
  const size_t known = memories_.size();
  StackTemplate results(torch::jit::last(*stack, schema.returns().size()), place);
  for (size_t memory = known; memory < memories_.size(); ++memory) written.push_back(memory);
  keep({c10::toString(op.operator_name()),
        [op](torch::jit::Stack& values) { op.callBoxed(values); }, std::move(arguments),
        std::move(results)},
       varies, written);
}

at::Tensor GraphCapture::run_on_host(const char* name,
                                     const std::function<at::Tensor()>& function) {
  torch::jit::Stack stack;
  {
    const Pause pause;
    stack.emplace_back(function());
  }
  const size_t known = memories_.size();
  StackTemplate results(stack, [&](const at::Tensor& tensor) { return captured(tensor); });
  std::vector<size_t> written;
  for (size_t memory = known; memory < memories_.size(); ++memory) written.push_back(memory);
  keep({name, [function](torch::jit::Stack& values) { values.emplace_back(function()); },
        StackTemplate({}, [&](const at::Tensor& tensor) { return captured(tensor); }),
        std::move(results)},
       /*varies=*/true, written);
  return stack.front().toTensor();
}

void GraphCapture::refuse(const std::string& reason) {
  refusal_ = reason;
  if (active_capture == this) active_capture = nullptr;
  TORCH_CHECK(false, "neuron_sim: the graph cannot be compiled: ", reason);
}

void GraphCapture::check_known(const at::Tensor& tensor, const char* reader) {
  if (!on_device(tensor) || !memories_[memory_of(tensor)].varies) return;
  refuse(c10::str(reader, " reads a value of the graph on the host"));
}

void GraphCapture::fold_constants() {
  // Each run creates its outputs: the caller may write to them.
  std::vector<bool> returned(memories_.size());
  for (const CapturedTensor& output : graph_->outputs_) returned[output.memory] = true;
  std::vector<std::variant<ProgramStep, HostStep>> steps;
  for (size_t i = 0; i < graph_->steps_.size(); ++i) {
    const auto& written = constant_writes_[i];
    const bool folds = written && std::all_of(written->begin(), written->end(), [&](size_t memory) {
                         return memories_[memory].writers == 1 && !returned[memory] &&
                                graph_->memories_[memory].origin == GraphMemory::Origin::kFresh;
                       });
    if (!folds) {
      steps.push_back(std::move(graph_->steps_[i]));
      continue;
    }
    for (const size_t memory : *written) {
      graph_->memories_[memory].origin = GraphMemory::Origin::kConstant;
      graph_->memories_[memory].constant = memories_[memory].storage;
    }
  }
  graph_->steps_ = std::move(steps);
  for (const auto& step : graph_->steps_) {
    if (const auto* host = std::get_if<HostStep>(&step)) {
      graph_->facts_.host_operators.push_back(host->name);
    }
  }
}

std::shared_ptr<const CapturedGraph> GraphCapture::finish(at::ArrayRef<at::Tensor> outputs) {
  flush();
  for (const at::Tensor& output : outputs) graph_->outputs_.push_back(captured(output));
  fold_constants();
  for (size_t i = 0; i < memories_.size(); ++i) {  // some grew after first use
    graph_->memories_[i].bytes = static_cast<int64_t>(memories_[i].storage.nbytes());
  }
  active_capture = nullptr;
  return std::move(graph_);
}

}  // namespace neuron_sim
