#include "device/runtime/kernel.h"

#include <algorithm>
#include <bit>

#include "device/base/errors.h"
#include "device/timeline/loop_forecast.h"
#include "device/timeline/timeline.h"

namespace neuron_sim {
namespace {

// Control logs whose timing is kept per kernel, and their values in all; the last one always is.
constexpr size_t kKeptTimings = 16;
constexpr size_t kKeptLogValues = size_t{1} << 17;

template <typename Element>
int64_t bytes_of(const std::vector<Element>& elements) {
  return static_cast<int64_t>(elements.capacity() * sizeof(Element));
}

int64_t bytes_of(const Program& program) {
  int64_t bytes = sizeof(Program) + bytes_of(program.cores) + bytes_of(program.instructions) +
                  bytes_of(program.operands) + bytes_of(program.terms) +
                  bytes_of(program.attributes) + bytes_of(program.loops) + bytes_of(program.edges) +
                  bytes_of(program.tiles) + bytes_of(program.arguments) +
                  bytes_of(program.constants) + bytes_of(program.scratch) +
                  bytes_of(program.demands) + bytes_of(program.source_lines);
  for (const Block& block : program.cores) bytes += bytes_of(block);
  for (const Loop& loop : program.loops) bytes += bytes_of(loop.body);
  for (const auto& constant : program.constants) bytes += bytes_of(constant);
  for (const Argument& argument : program.arguments) bytes += bytes_of(argument.shape);
  return bytes;
}

int64_t bytes_of(const ExecutionPlan& plan) {
  const InstanceGraph& graph = plan.graph;
  return bytes_of(graph.instances) + bytes_of(graph.first_instance) + bytes_of(graph.locations) +
         bytes_of(graph.waits) + bytes_of(graph.first_successor) + bytes_of(graph.successors) +
         bytes_of(graph.operands) + bytes_of(graph.replaced) + bytes_of(plan.fill);
}

}  // namespace

Kernel::Kernel(const std::shared_ptr<const Program>& program, std::vector<LaunchNumber> numbers)
    : Kernel(program, program, std::move(numbers)) {}

Kernel::Kernel(std::shared_ptr<const Program> timed, std::shared_ptr<const Program> computed)
    : Kernel(std::move(timed), std::move(computed), {}) {}

Kernel::Kernel(std::shared_ptr<const Program> timed, std::shared_ptr<const Program> computed,
               std::vector<LaunchNumber> numbers)
    : program_(std::move(timed)),
      computed_(std::move(computed)),
      plan_(make_plan(*computed_)),
      numbers_(std::move(numbers)) {
  copies_.reserve(1);  // so that giving one back allocates nothing
  // Launches with other numbers keep a copy of the program.
  const int64_t programs = numbers_.empty() ? 1 : 2;
  bytes_ = static_cast<int64_t>(sizeof(Kernel) + sizeof(Known) + 2 * sizeof(CoreTiming)) +
           programs * bytes_of(*computed_) + bytes_of(plan_) + bytes_of(numbers_);
  if (program_ != computed_) bytes_ += bytes_of(*program_);
}

bool Kernel::has(std::span<const double> numbers) const {
  return std::all_of(numbers_.begin(), numbers_.end(), [&](const LaunchNumber& number) {
    return computed_->attributes[number.attribute].bits ==
           std::bit_cast<int64_t>(numbers[number.number]);
  });
}

Kernel::ProgramOfLaunch::ProgramOfLaunch(const Kernel& kernel, std::span<const double> numbers)
    : kernel_(kernel) {
  if (numbers.empty() || kernel.has(numbers)) return;
  {
    const std::lock_guard lock(kernel.copies_mutex_);
    if (!kernel.copies_.empty()) {
      copy_ = std::move(kernel.copies_.back());
      kernel.copies_.pop_back();
    }
  }
  if (!copy_) copy_ = std::make_unique<Program>(kernel.computed());
  for (const LaunchNumber& number : kernel.numbers_) {
    copy_->attributes[number.attribute] = Attribute::of(numbers[number.number]);
  }
}

Kernel::ProgramOfLaunch::~ProgramOfLaunch() {
  if (!copy_) return;
  const std::lock_guard lock(kernel_.copies_mutex_);
  // One is enough: launches of one kernel at the same time, on several devices, are rare.
  if (kernel_.copies_.empty()) kernel_.copies_.push_back(std::move(copy_));
}

Timing Kernel::timing(const ControlLog& log) const {
  // Read anew for each launch, as settings are, but only where it counts.
  const bool has_forecasts =
      std::any_of(program_->loops.begin(), program_->loops.end(), [](const Loop& loop) {
        return loop.kind != LoopKind::kCounted || loop.register_index >= 0;
      });
  const std::optional<int64_t> trips = has_forecasts ? assumed_trips() : std::nullopt;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(known_.begin(), known_.end(), [&](const Known& known) {
      return known.log == log && known.assumed_trips == trips;
    });
    if (found != known_.end()) return found->timing;
    ++simulations_;
  }
  // Without the lock: a thread that waits for it could not be interrupted.
  Timing timing = simulate(*program_, log, {.dynamic_trips = trips});
  const std::lock_guard lock(mutex_);
  size_t values = log.values.size();
  for (const Known& known : known_) values += known.log.values.size();
  while (known_.size() == kKeptTimings || (!known_.empty() && values > kKeptLogValues)) {
    values -= known_.front().log.values.size();
    known_.erase(known_.begin());
  }
  known_.push_back({log, trips, timing});
  return timing;
}

int64_t Kernel::simulations() const {
  const std::lock_guard lock(mutex_);
  return simulations_;
}

}  // namespace neuron_sim
