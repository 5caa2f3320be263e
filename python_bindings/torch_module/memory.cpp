#include "python_bindings/torch_module/memory.h"

#include <torch/csrc/Export.h>
#include <torch/csrc/profiler/combined_traceback.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "csrc/runtime/runtime.h"
#include "device/runtime/devices.h"

namespace py = pybind11;

// torch/csrc/profiler/python/combined_traceback.h declares these two, but it includes
// nlohmann/json.hpp, which some of torch's wheels do not have.
namespace torch {
TORCH_API std::vector<py::object> py_symbolize(std::vector<CapturedTraceback*>& to_symbolize);
TORCH_PYTHON_API void freeDeadCapturedTracebackFrames();
}  // namespace torch

namespace neuron_sim {
namespace {

using Stack = std::shared_ptr<torch::CapturedTraceback>;

struct Wanted {
  bool events = false, stacks = false, stacks_of_frees = false;
  size_t most_events = 0;
};

struct StackedEvent {
  MemoryEvent event;
  Stack stack;
};

/// Keeps events and the Python stacks of allocations, in the form of torch's memory viewer.
class History final : public MemoryRecorder {
 public:
  void start(const Wanted& wanted) {
    const std::lock_guard lock(mutex_);
    wanted_ = wanted;
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    events_.clear();
    stacks_.clear();
  }
  void prepare() override {
    bool stacks = false;
    {
      const std::lock_guard lock(mutex_);
      stacks = wanted_.stacks;
    }
    stack_ = stacks ? torch::CapturedTraceback::gather(true, false, false) : nullptr;
  }
  void add(int device, const MemoryEvent& event) override {
    const std::lock_guard lock(mutex_);
    if (event.action == MemoryAction::kAllocate) stacks_[event.address] = stack_;
    if (event.action == MemoryAction::kFreed) stacks_.erase(event.address);
    if (!wanted_.events) return;
    const bool frees = event.action == MemoryAction::kFree || event.action == MemoryAction::kFreed;
    std::deque<StackedEvent>& events = events_[device];
    events.push_back({event, frees && !wanted_.stacks_of_frees ? nullptr : stack_});
    if (events.size() > wanted_.most_events) events.pop_front();
  }
  std::vector<StackedEvent> events(int device) {
    const std::lock_guard lock(mutex_);
    const std::deque<StackedEvent>& kept = events_[device];
    return {kept.begin(), kept.end()};
  }
  std::map<const void*, Stack> stacks() {
    const std::lock_guard lock(mutex_);
    return stacks_;
  }

 private:
  static thread_local Stack stack_;  ///< of the allocator's call that this thread makes
  std::mutex mutex_;
  Wanted wanted_;
  std::map<int, std::deque<StackedEvent>> events_;
  std::map<const void*, Stack> stacks_;  ///< of blocks that are in use
};

thread_local Stack History::stack_;

History& history() {
  static auto* const instance = new History;
  return *instance;
}

/// Stacks become lists of frames all at once: many of them share frames.
class Frames {
 public:
  void want(py::dict target, const Stack& stack) {
    if (stack == nullptr) {
      target["frames"] = py::list();
      return;
    }
    targets_.push_back(std::move(target));
    kept_.push_back(stack);
  }
  void fill() {
    std::vector<torch::CapturedTraceback*> stacks;
    for (const Stack& stack : kept_) stacks.push_back(stack.get());
    const std::vector<py::object> frames = torch::py_symbolize(stacks);
    for (size_t i = 0; i < frames.size(); ++i) targets_[i]["frames"] = frames[i];
  }

 private:
  std::vector<py::dict> targets_;
  std::vector<Stack> kept_;
};

const char* action_name(MemoryAction action) {
  switch (action) {
    case MemoryAction::kAllocate: return "alloc";
    case MemoryAction::kFree: return "free_requested";
    case MemoryAction::kFreed: return "free_completed";
    case MemoryAction::kNewSegment: return "segment_alloc";
    case MemoryAction::kReleaseSegment: return "segment_free";
    case MemoryAction::kOutOfMemory: return "oom";
  }
  return "";
}

const char* state_name(MemoryBlock::State state) {
  switch (state) {
    case MemoryBlock::State::kAllocated: return "active_allocated";
    case MemoryBlock::State::kPendingFree: return "active_pending_free";
    case MemoryBlock::State::kFree: return "inactive";
  }
  return "";
}

uintptr_t number(const void* address) { return reinterpret_cast<uintptr_t>(address); }

py::dict event_dict(const StackedEvent& stacked, Frames& frames) {
  const MemoryEvent& event = stacked.event;
  py::dict result;
  result["action"] = action_name(event.action);
  if (event.action == MemoryAction::kOutOfMemory) {
    result["device_free"] = event.available;
  } else {
    result["addr"] = number(event.address);
  }
  result["size"] = event.size;
  result["stream"] = event.stream;
  result["time_us"] = event.time.count / 1'000'000;
  frames.want(result, stacked.stack);
  return result;
}

py::dict segment_dict(int device, const MemorySegment& segment,
                      const std::map<const void*, Stack>& stacks, Frames& frames) {
  int64_t allocated = 0, active = 0, requested = 0;
  py::list blocks;
  for (const MemoryBlock& block : segment.blocks) {
    if (block.state == MemoryBlock::State::kAllocated) allocated += block.size;
    if (block.state != MemoryBlock::State::kFree) active += block.size;
    requested += block.requested;
    py::dict entry;
    entry["address"] = number(block.address);
    entry["size"] = block.size;
    entry["requested_size"] = block.requested;
    entry["state"] = state_name(block.state);
    const auto stack = stacks.find(block.address);
    const bool known = block.state != MemoryBlock::State::kFree && stack != stacks.end();
    frames.want(entry, known ? stack->second : nullptr);
    blocks.append(entry);
  }
  py::dict result;
  result["device"] = device;
  result["address"] = number(segment.address);
  result["total_size"] = segment.size;
  result["allocated_size"] = allocated;
  result["active_size"] = active;
  result["requested_size"] = requested;
  result["stream"] = segment.stream;
  result["segment_type"] = segment.small ? "small" : "large";
  result["segment_pool_id"] = py::make_tuple(0, 0);
  result["is_expandable"] = false;
  result["frames"] = py::list();
  result["blocks"] = blocks;
  return result;
}

/// Segments and events of all devices, with the keys of torch.cuda.memory._snapshot().
py::dict memory_snapshot() {
  torch::freeDeadCapturedTracebackFrames();
  Frames frames;
  py::list segments, traces;
  const std::map<const void*, Stack> stacks = history().stacks();
  for (int device = 0; device < visible_devices(); ++device) {
    for (const MemorySegment& segment : device_allocator(device).segments()) {
      segments.append(segment_dict(device, segment, stacks, frames));
    }
    py::list events;
    for (const StackedEvent& event : history().events(device)) {
      events.append(event_dict(event, frames));
    }
    traces.append(events);
  }
  frames.fill();
  py::dict result;
  result["segments"] = segments;
  result["device_traces"] = traces;
  return result;
}

/// Follows the memory of `devices`, and no longer that of others.
void record_memory_history(const std::vector<int>& devices, bool events, bool stacks,
                           bool stacks_of_frees, size_t most_events) {
  history().start({events, stacks, stacks_of_frees, most_events});
  for (int device = 0; device < visible_devices(); ++device) {
    const bool wanted = std::find(devices.begin(), devices.end(), device) != devices.end();
    device_allocator(device).set_recorder(wanted ? &history() : nullptr);
  }
}

}  // namespace

void bind_memory(py::module_& m) {
  m.def("record_memory_history", &record_memory_history);
  m.def("clear_memory_history", [] { history().clear(); });
  m.def("memory_snapshot", &memory_snapshot);
}

}  // namespace neuron_sim
