#include "device/check/checked_run.h"

#include <map>
#include <memory>
#include <string_view>

#include "device/analysis/access_runs.h"
#include "device/base/errors.h"
#include "device/check/first_non_finite.h"
#include "device/check/precision_loss.h"
#include "device/check/shadow_walk.h"
#include "device/execute/run_instance.h"

namespace neuron_sim {
namespace {

/// Hands a run on to everybody who looks on.
class Observers : public RunObserver {
 public:
  void add(RunObserver* observer) { observers_.push_back(observer); }
  void iteration(const Loop& loop, int64_t iteration) override {
    for (RunObserver* observer : observers_) observer->iteration(loop, iteration);
  }
  void starts(const ObservedInstance& instance) override {
    for (RunObserver* observer : observers_) observer->starts(instance);
  }
  void before(std::span<const Access> operands) override {
    for (RunObserver* observer : observers_) observer->before(operands);
  }
  void after(const ObservedInstance& instance, std::span<const Access> operands,
             const InstanceFacts& facts) override {
    for (RunObserver* observer : observers_) observer->after(instance, operands, facts);
  }
  void meets(const Meeting& meeting) override {
    for (RunObserver* observer : observers_) observer->meets(meeting);
  }
  bool empty() const { return observers_.empty(); }

 private:
  std::vector<RunObserver*> observers_;
};

/// Two cores may write the same bytes from the same line, with the same values (check_races()):
/// looks whether the values are the same. What a meeting of the cores lies between is in order.
class CoreValues : public RunObserver {
 public:
  explicit CoreValues(const Program& program)
      : program_(program), reports_(program), depths_(loop_depths(program)) {}

  void meets(const Meeting&) override { writes_.clear(); }
  void after(const ObservedInstance& instance, std::span<const Access> accesses,
             const InstanceFacts& facts) override {
    const Instruction& instruction = program_.instructions[instance.instruction];
    const bool is_own = instruction.type->synchronises == Synchronisation::kNone;
    if (!is_own || instruction.source_line < 0 || !facts.moves) return;
    const auto operands = program_.operands_of(instruction);
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].memory != MemoryKind::kHbm || operands[i].direction != Direction::kWrite)
        continue;
      const Location& at = instance.locations[i];
      auto& by_core = writes_[{instruction.source_line, at.tile, at.offset}];
      auto& own = by_core[instruction.core];
      const auto& other = by_core[1 - instruction.core];
      own.push_back(hash(operands[i], accesses[i]));
      if (other.size() < own.size() || other[own.size() - 1] == own.back()) continue;
      const int64_t* indices = instance.variables;
      reports_.add(Rule::kInstanceRace,
                   {instance.instruction, {indices, indices + depths_[instance.instruction]}}, i,
                   at.tile, {},
                   text("writes '", program_.tiles[static_cast<size_t>(at.tile)].label,
                        "', to which the other core writes other values from the same line"),
                   line_of(program_, instance.instruction));
    }
  }
  std::vector<Finding> take() { return reports_.take(); }

 private:
  static size_t hash(const Operand& operand, const Access& access) {
    size_t result = 0;
    for (int64_t p = 0; p < access.partitions; ++p) {
      if (access.rows != nullptr && access.rows[p] < 0) continue;
      const auto* bytes = reinterpret_cast<const char*>(access.partition(p));
      each_free_run(operand, 0, [&](int64_t begin, int64_t length) {
        const std::string_view run(bytes + begin, static_cast<size_t>(length));
        result = result * 31 + std::hash<std::string_view>{}(run);
      });
    }
    return result;
  }

  const Program& program_;
  Reports reports_;
  std::vector<size_t> depths_;
  /// Hashes of what each core wrote, by line, tensor and offset.
  std::map<std::tuple<int32_t, TileId, int64_t>, std::array<std::vector<size_t>, kMaximumCores>>
      writes_;
};

/// The checks of findings() on what a run does.
class RunWalk : public RunObserver {
 public:
  RunWalk(const Program& program, const CheckOptions& options)
      : program_(program), walk_(program, options, true), depths_(loop_depths(program)) {}

  void iteration(const Loop& loop, int64_t iteration) override { walk_.begin(loop, iteration); }
  void starts(const ObservedInstance& instance) override {
    instruction_ = instance.instruction;
    const int64_t* end = instance.variables + depths_[instruction_];
    index_.assign(instance.variables, end);
  }
  void after(const ObservedInstance& instance, std::span<const Access>,
             const InstanceFacts& facts) override {
    walk_.instance(instance.instruction, instance.variables, instance.locations, &facts);
  }
  void meets(const Meeting& meeting) override { walk_.meet(meeting); }

  void finish() { walk_.finish(); }
  void fail(const OutOfBounds& error) {
    const Operand& operand =
        program_.operands_of(program_.instructions[instruction_])[error.operand()];
    FoundPlace place;
    if (error.partition() >= 0)
      place.partitions = ByteRange{error.partition(), error.partition() + 1};
    Finding finding =
        finding_at(Rule::kOutOfBounds, program_, instruction_, error.operand(), operand.tile);
    finding.place = place;
    finding.index = index_;
    const std::string sentence = error.what();
    finding.message = text(describe(program_, InstanceName{instruction_, index_}), ": ",
                           sentence.substr(0, sentence.find('\n')));
    walk_.reports.add(std::move(finding));
  }
  std::vector<Finding> take() { return walk_.reports.take(); }

 private:
  const Program& program_;
  ShadowWalk walk_;
  std::vector<size_t> depths_;
  uint32_t instruction_ = 0;
  std::vector<int64_t> index_;
};

void append(std::vector<Finding>& found, std::vector<Finding> more) {
  found.insert(found.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
}

}  // namespace

ControlLog checked_run(const Program& program, const ExecutionPlan& plan, const RunStorage& storage,
                       ThreadPool& pool, const CheckOptions& options, const RunNotes& notes,
                       std::vector<Finding>& found) {
  Observers observers;
  std::unique_ptr<RunWalk> walk;
  std::unique_ptr<CoreValues> core_values;
  std::unique_ptr<FirstNonFinite> non_finite;
  std::unique_ptr<PrecisionLoss> precision;
  if (program.uses_registers) {
    walk = std::make_unique<RunWalk>(program, options);
    observers.add(walk.get());
  } else {
    append(found, findings(program, options));
  }
  if (program.cores.size() == kMaximumCores) {
    core_values = std::make_unique<CoreValues>(program);
    observers.add(core_values.get());
  }
  if (notes.first_non_finite) {
    non_finite = std::make_unique<FirstNonFinite>(program);
    observers.add(non_finite.get());
  }
  if (notes.precision) {
    precision = std::make_unique<PrecisionLoss>(program, storage.memories);
    observers.add(precision.get());
  }
  const auto take = [&] {
    if (walk != nullptr) append(found, walk->take());
    if (core_values != nullptr) append(found, core_values->take());
    if (non_finite != nullptr && non_finite->found) found.push_back(*non_finite->found);
    if (precision != nullptr) append(found, precision->take());
  };
  ControlLog log;
  try {
    log = execute(program, plan, storage.memories, storage.arguments, pool, nullptr,
                  observers.empty() ? nullptr : &observers);
  } catch (const OutOfBounds& error) {
    if (walk != nullptr) walk->fail(error);
    take();
    throw;
  } catch (...) {
    take();
    throw;
  }
  if (walk != nullptr) walk->finish();
  take();
  return log;
}

}  // namespace neuron_sim
