#include "device/timeline/loop_forecast.h"

#include "device/analysis/register_write.h"
#include "device/base/errors.h"
#include "device/base/settings.h"

namespace neuron_sim {
namespace {

constexpr const char* kAssumedVariable = "NEURON_SIM_DYNAMIC_TRIPS";
// Constants that iterations only move between 64 registers have reached the condition by then.
constexpr int64_t kConstantIterations = 4096;

}  // namespace

std::optional<int64_t> assumed_trips() {
  const std::string given = setting(kAssumedVariable);
  if (given.empty()) return std::nullopt;
  if (const auto trips = whole_number(given, 0, kUnbounded - 1)) return trips;
  fail(text(kAssumedVariable, " is '", given, "'; it is a number of iterations from 0 to ",
            kUnbounded - 1, "."));
}

void LoopForecast::pass(const Instruction& instruction) {
  const auto write = register_write(program_, instruction);
  if (!write) return;
  const auto own = static_cast<size_t>(instruction.engine);
  Value value;
  if (write->source == RegisterWrite::Source::kConstant) value = write->constant;
  if (write->source == RegisterWrite::Source::kRegister) {
    value = values_[own][static_cast<size_t>(write->register_index)];
  }
  for (size_t engine = 0; engine < values_.size(); ++engine) {
    if (!write->is_virtual && engine != own) continue;
    values_[engine][static_cast<size_t>(write->dst)] = value;
  }
}

LoopForecast::Value LoopForecast::value(const Loop& loop, const RegisterValue& given) const {
  if (given.register_index < 0) return given.constant;
  return values_[static_cast<size_t>(loop.engine)][static_cast<size_t>(given.register_index)];
}

int64_t LoopForecast::assumed(const Loop& loop) const {
  if (assumed_) return *assumed_;
  fail(text("the time of kernel '", program_.kernel, "' depends on data: a ",
            loop.kind == LoopKind::kWhile ? "while loop" : "loop",
            " runs as often as a register says that is loaded from memory, and nothing was "
            "computed; run the kernel, or say with ",
            kAssumedVariable, " how many iterations to assume.",
            at_source_line(program_, loop.source_line)));
}

int64_t LoopForecast::trips(const Loop& loop) {
  for (auto& registers : values_) registers[static_cast<size_t>(loop.register_index)].reset();
  const Value start = value(loop, loop.start), stop = value(loop, loop.stop);
  return start && stop ? range_trips(*start, *stop, loop.step) : assumed(loop);
}

bool LoopForecast::continues(const Loop& loop, int64_t iteration) {
  const Value condition = value(loop, {0, loop.register_index});
  if (!condition) return iteration < assumed(loop);
  if (*condition != 0 && iteration >= kConstantIterations) {
    fail(text("while loop of kernel '", program_.kernel, "' does not end: its register holds ",
              *condition, " after ", iteration, " iterations, and nothing of it is from memory.",
              at_source_line(program_, loop.source_line)));
  }
  return *condition != 0;
}

}  // namespace neuron_sim
