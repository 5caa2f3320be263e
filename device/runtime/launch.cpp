#include "device/runtime/launch.h"

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>

#include "device/base/errors.h"
#include "device/base/interruption.h"
#include "device/execute/executor.h"
#include "device/memory/write_watch.h"
#include "device/runtime/checking.h"
#include "device/runtime/devices.h"
#include "device/runtime/launch_blocking.h"
#include "device/runtime/timing_only.h"

namespace neuron_sim {
namespace {

/// Requests large pages, because an instruction touches up to 128 partitions and each lies on
/// different pages. CoreMemory does not request them itself: a short run touches few of its pages.
void use_large_pages(const CoreMemory& memory, int64_t partitions) {
  for (const MemoryKind kind : {MemoryKind::kSbuf, MemoryKind::kPsum}) {
    madvise(memory.at(kind, 0, 0), static_cast<size_t>(memory.pitch(kind) * partitions),
            MADV_HUGEPAGE);
  }
  for (const int itemsize : {1, 2}) {  // products read fp32 copies where they stand, too
    madvise(memory.widened(itemsize, 0, 0),
            static_cast<size_t>(memory.widened_pitch(itemsize) * partitions), MADV_HUGEPAGE);
  }
}

/// On-chip memories of one device: of every physical core of its logical core. One program at a
/// time.
struct LogicalCore {
  std::timed_mutex mutex;
  std::vector<std::unique_ptr<CoreMemory>> memories;

  /// The memories of the program's cores, made when first used, and anew for a program that needs
  /// more than the chip has (Program::overflow).
  std::span<CoreMemory* const> of(const Program& program) {
    for (size_t core = 0; core < program.cores.size(); ++core) {
      const bool exists = core < memories.size();
      if (!exists || !memories[core]->holds(program.sbuf_peak, program.psum_peak)) {
        auto memory = std::make_unique<CoreMemory>(*program.architecture, program.sbuf_peak,
                                                   program.psum_peak);
        use_large_pages(*memory, program.architecture->limits.partitions);
        if (exists) memory->swap_random_states(*memories[core]);
        if (!exists) memories.emplace_back();
        memories[core] = std::move(memory);
      }
      pointers[core] = memories[core].get();
    }
    return std::span(pointers).first(program.cores.size());
  }

 private:
  std::array<CoreMemory*, kMaximumCores> pointers{};
};

/// `device` exists.
LogicalCore& core_of(int device) {
  static auto* cores = new std::deque<LogicalCore>(static_cast<size_t>(device_count()));
  return (*cores)[static_cast<size_t>(device)];
}

struct Listener {
  std::atomic<bool> listens = false;
  std::mutex mutex;  ///< of `call`
  std::shared_ptr<const std::function<void(const LaunchRecord&)>> call;
};

Listener& listener() {
  static auto* instance = new Listener;
  return *instance;
}

std::atomic<bool> blocking = false;

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

/// Reports the arguments that a program wrote, even if it ended in an error.
struct WritesOf {
  const Program& program;
  std::span<std::byte* const> arguments;

  ~WritesOf() {
    for (size_t i = 0; i < arguments.size(); ++i) {
      const Argument& argument = program.arguments[i];
      if (argument.written) note_write({arguments[i], arguments[i] + argument.bytes});
    }
  }
};

/// Computes the bytes, unless only time is wanted; the log of the run.
ControlLog run(LogicalCore& core, const std::shared_ptr<const Kernel>& kernel,
               const Program& program, std::span<std::byte* const> arguments) {
  if (timing_only()) return {};
  const std::span<CoreMemory* const> memories = core.of(program);
  const WritesOf writes{program, arguments};
  return checking() ? checked_launch(kernel, program, memories, arguments, thread_pool())
                    : execute(program, kernel->plan(), memories, arguments, thread_pool());
}

}  // namespace

LaunchRecord launch(int device, Schedule::StreamId stream,
                    const std::shared_ptr<const Kernel>& kernel,
                    std::span<std::byte* const> arguments, std::span<const double> numbers,
                    const Computation* instead) {
  const Kernel::ProgramOfLaunch of_launch(*kernel, numbers);
  const Program& program = *of_launch;
  check_aliases(program, arguments);
  Schedule& tasks = schedule(device);
  LaunchRecord record;
  record.kernel = kernel;
  record.device = device;
  record.stream = stream;
  {
    LogicalCore& core = core_of(device);
    const auto lock = interruptible_lock(core.mutex);
    record.timing = kernel->timing(
        instead == nullptr || checking()
            ? run(core, kernel, program, arguments)
            : run(core, instead->kernel, instead->kernel->computed(), instead->arguments));
    record.span =
        tasks.submit(stream, Resource::kCore, record.timing.benchmark(*program.architecture));
  }
  if (launch_blocking()) tasks.host().wait_until(record.span.end);
  if (!listener().listens.load(std::memory_order_acquire)) return record;
  std::shared_ptr<const std::function<void(const LaunchRecord&)>> call;
  {
    const std::lock_guard lock(listener().mutex);
    call = listener().call;
  }
  if (call) (*call)(record);
  return record;
}

void compute(int device, const std::shared_ptr<const Kernel>& kernel,
             std::span<std::byte* const> arguments) {
  if (timing_only()) return;
  const Program& program = kernel->computed();
  check_aliases(program, arguments);
  schedule(device);  // KernelError when there is no such device
  LogicalCore& core = core_of(device);
  const auto lock = interruptible_lock(core.mutex);
  const WritesOf writes{program, arguments};
  execute(program, kernel->plan(), core.of(program), arguments, thread_pool());
}

void set_launch_blocking(bool wanted) { blocking.store(wanted, std::memory_order_relaxed); }
bool launch_blocking() { return blocking.load(std::memory_order_relaxed); }

void set_launch_listener(std::function<void(const LaunchRecord&)> call) {
  const std::lock_guard lock(listener().mutex);
  listener().call =
      call ? std::make_shared<const std::function<void(const LaunchRecord&)>>(std::move(call))
           : nullptr;
  listener().listens.store(listener().call != nullptr, std::memory_order_release);
}

}  // namespace neuron_sim
