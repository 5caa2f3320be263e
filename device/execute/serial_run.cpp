#include "device/execute/serial_run.h"

#include "device/base/errors.h"
#include "device/base/interruption.h"
#include "device/base/settings.h"

namespace neuron_sim {
namespace {

constexpr const char* kMaximumVariable = "NEURON_SIM_MAXIMUM_ITERATIONS";
constexpr int64_t kMaximumIterations = int64_t{1} << 20;

/// Where the operands of an instance lie, with registers as they are.
std::array<Location, kMaximumOperands> locations_of(const Program& program,
                                                    const Instruction& instruction,
                                                    const int64_t* variables,
                                                    InstanceRunner& runner) {
  const auto operands = program.operands_of(instruction);
  const int64_t* registers = runner.registers(instruction.core, instruction.engine).values.data();
  std::array<Location, kMaximumOperands> locations;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].present()) locations[i] = locate(program, operands[i], variables, registers);
  }
  return locations;
}

}  // namespace

int64_t maximum_iterations() {
  const std::string given = setting(kMaximumVariable);
  if (given.empty()) return kMaximumIterations;
  if (const auto iterations = whole_number(given, 1, kUnbounded - 1)) return *iterations;
  fail(text(kMaximumVariable, " is '", given, "'; it is a number of iterations from 1 to ",
            kUnbounded - 1, "."));
}

void meet_in_memory(const Program& program, const Meeting& meeting, InstanceRunner& runner) {
  if (meeting.of(program, 0).type->synchronises != Synchronisation::kExchange) return;
  std::array<std::array<Location, kMaximumOperands>, kMaximumCores> locations;
  for (size_t core = 0; core < kMaximumCores; ++core) {
    locations[core] = locations_of(program, meeting.of(program, static_cast<int>(core)),
                                   meeting.variables[core], runner);
  }
  for (size_t core = 0; core < kMaximumCores; ++core) {
    runner.receive(meeting.of(program, static_cast<int>(core)), locations[core].data(),
                   meeting.of(program, 1 - static_cast<int>(core)), locations[1 - core].data());
  }
}

int64_t SerialRun::value(const Loop& loop, int64_t register_index) {
  return runner_.registers(loop.core, loop.engine).values[static_cast<size_t>(register_index)];
}

int64_t SerialRun::value(const Loop& loop, const RegisterValue& given) {
  return given.register_index < 0 ? given.constant : value(loop, given.register_index);
}

void SerialRun::set(const Loop& loop, int64_t value) {
  for (int engine = 0; engine < kEngineCount; ++engine) {
    RegisterFile& file = runner_.registers(loop.core, static_cast<EngineKind>(engine));
    file.values[static_cast<size_t>(loop.register_index)] = value;
  }
}

std::string SerialRun::describe(const Loop& loop) const {
  return text(loop.kind == LoopKind::kWhile ? "while loop" : "loop", " of kernel '",
              program_.kernel, "'");
}

void SerialRun::refuse(const Loop& loop, int64_t held) const {
  const std::string line = at_source_line(program_, loop.source_line);
  if (!loop.changes_condition) {
    fail(text(describe(loop), " does not end: its register holds ", held,
              ", and nothing in its body writes it.", line));
  }
  const bool is_while = loop.kind == LoopKind::kWhile;
  fail(text(describe(loop), is_while ? " has not ended: its register holds " : " has ", held,
            is_while ? text(" after ", maximum_) : std::string(" more"),
            " iterations of loops on registers, of which a run may take ", maximum_, " (",
            kMaximumVariable, ").", line));
}

int64_t SerialRun::trip_count(const Loop& loop) {
  if (loop.kind == LoopKind::kWhile) return kUnbounded;
  if (loop.register_index < 0) return loop.trip_count;
  int64_t trips = 0;
  if (loop.kind == LoopKind::kRange) {
    trips = range_trips(value(loop, loop.start), value(loop, loop.stop), loop.step);
    if (trips > maximum_ - iterations_) refuse(loop, trips);
    iterations_ += trips;
    start_[static_cast<size_t>(loop.level) + size_t{kMaximumLoopDepth} * loop.core] =
        value(loop, loop.start);
  } else {
    trips = value(loop, loop.register_index);
    if (trips < 0 || trips > loop.bound) {
      fail(text(describe(loop), ": register ", loop.register_index, " holds a trip count of ",
                trips, ", the loop allows 0 to ", loop.bound, "."),
           ErrorKind::kIndex);
    }
  }
  log.values.push_back(trips);
  return trips;
}

int64_t SerialRun::boundary(const Loop& loop, uint32_t, int64_t iteration, int64_t trips) {
  poll_interruption();  // a loop may have no instruction
  if (observer_ != nullptr) observer_->iteration(loop, iteration);
  if (loop.kind == LoopKind::kRange) {
    const size_t level = static_cast<size_t>(loop.level) + size_t{kMaximumLoopDepth} * loop.core;
    set(loop, start_[level] + iteration * loop.step);
  }
  if (loop.kind != LoopKind::kWhile) return 0;
  const int64_t held = value(loop, loop.register_index);
  log.values.push_back(held != 0 ? 1 : 0);
  if (held == 0) return trips - iteration;
  if (!loop.changes_condition || iterations_ == maximum_) refuse(loop, held);
  ++iterations_;
  return 0;
}

void SerialRun::instruction(uint32_t index, const int64_t* variables) {
  poll_interruption();
  const Instruction& instruction = program_.instructions[index];
  const auto locations = locations_of(program_, instruction, variables, runner_);
  if (observer_ != nullptr) observer_->starts({index, variables, locations.data()});
  runner_.run(instruction, locations.data());
  if (observer_ != nullptr) {
    observer_->after({index, variables, locations.data()}, runner_.operands(instruction),
                     runner_.facts());
  }
  if (runner_.moved_rows() >= 0) log.values.push_back(runner_.moved_rows());
}

}  // namespace neuron_sim
