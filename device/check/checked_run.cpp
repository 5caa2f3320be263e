#include "device/check/checked_run.h"

#include <memory>

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
  std::unique_ptr<FirstNonFinite> non_finite;
  std::unique_ptr<PrecisionLoss> precision;
  if (program.uses_registers) {
    walk = std::make_unique<RunWalk>(program, options);
    observers.add(walk.get());
  } else {
    append(found, findings(program, options));
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
