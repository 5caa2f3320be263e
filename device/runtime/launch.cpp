#include "device/runtime/launch.h"

#include <map>
#include <memory>
#include <mutex>

#include "device/base/errors.h"
#include "device/execute/executor.h"
#include "device/runtime/devices.h"

namespace neuron_sim {
namespace {

/// On-chip memory of one device's core; one program at a time.
struct Core {
  std::mutex mutex;
  std::unique_ptr<CoreMemory> memory;
};

Core& core_of(int device) {
  static auto* mutex = new std::mutex;
  static auto* cores = new std::map<int, Core>;
  const std::lock_guard lock(*mutex);
  return (*cores)[device];
}

struct Listener {
  std::mutex mutex;
  std::shared_ptr<const std::function<void(const LaunchRecord&)>> call;
};

Listener& listener() {
  static auto* instance = new Listener;
  return *instance;
}

void check_aliases(const Program& program, std::span<std::byte* const> arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!program.arguments[i].written || program.arguments[i].bytes == 0) continue;
    const std::byte* begin = arguments[i];
    const std::byte* end = begin + program.arguments[i].bytes;
    for (size_t j = 0; j < arguments.size(); ++j) {
      if (i == j || program.arguments[j].bytes == 0 ||
          arguments[j] + program.arguments[j].bytes <= begin || end <= arguments[j]) {
        continue;
      }
      fail(text("kernel '", program.kernel, "': output '", program.arguments[i].label,
                "' overlaps argument '", program.arguments[j].label, "' in memory."));
    }
  }
}

}  // namespace

LaunchRecord launch(int device, Schedule::StreamId stream,
                    const std::shared_ptr<const Kernel>& kernel,
                    std::span<std::byte* const> arguments) {
  const Program& program = kernel->program();
  check_aliases(program, arguments);
  LaunchRecord record;
  record.kernel = kernel;
  record.device = device;
  {
    Core& core = core_of(device);
    const std::lock_guard lock(core.mutex);
    if (!core.memory) core.memory = std::make_unique<CoreMemory>(*program.architecture);
    const ControlLog log = execute(program, kernel->plan(), *core.memory, arguments, thread_pool());
    record.timing = kernel->timing(log);
    record.span = schedule(device).submit(stream, Resource::kCore,
                                          record.timing.benchmark(*program.architecture));
  }
  std::shared_ptr<const std::function<void(const LaunchRecord&)>> call;
  {
    const std::lock_guard lock(listener().mutex);
    call = listener().call;
  }
  if (call) (*call)(record);
  return record;
}

void set_launch_listener(std::function<void(const LaunchRecord&)> call) {
  const std::lock_guard lock(listener().mutex);
  listener().call =
      call ? std::make_shared<const std::function<void(const LaunchRecord&)>>(std::move(call))
           : nullptr;
}

}  // namespace neuron_sim
