#include "device/observe/program_counters.h"

#include <algorithm>

#include "device/analysis/access_runs.h"
#include "device/program/cursor.h"
#include "device/timeline/core_walk.h"
#include "device/timeline/loop_forecast.h"

namespace neuron_sim {
namespace {

/// The counts of a memory; null for one that a profiler does not count.
Traffic* traffic_of(MemoryKind memory, ProgramCounters& counters) {
  switch (memory) {
    case MemoryKind::kHbm: return &counters.hbm;
    case MemoryKind::kSbuf: return &counters.sbuf;
    case MemoryKind::kPsum: return &counters.psum;
    default: return nullptr;
  }
}

DescriptorTraffic& traffic_of(DescriptorKind kind, ProgramCounters& counters) {
  switch (kind) {
    case DescriptorKind::kStatic: return counters.static_dma;
    case DescriptorKind::kHardware: return counters.hardware_dynamic_dma;
    case DescriptorKind::kSoftware: return counters.software_dynamic_dma;
  }
  detail::throw_bug("descriptors have a kind");
}

bool multiplies(const Demand& demand) {
  return demand.count > 1 && demand.steps[1].unit == Unit::kMultiplyMoving;
}

int64_t bytes_of(const Operand& operand) { return elements_of(operand) * itemsize(operand.dtype); }

/// Whether an operand that a matmul reads has elements of 32 bits.
bool reads_fp32(const Program& program, const Instruction& instruction) {
  for (const Operand& operand : program.operands_of(instruction)) {
    if (operand.present() && !operand.writes() && itemsize(operand.dtype) == 4) return true;
  }
  return false;
}

void count_matmul(const Program& program, const Instruction& instruction, int64_t instances,
                  ProgramCounters& counters) {
  const Demand& demand = program.demands[instruction.demand];
  counters.matmul_instructions += instances;
  if (const int64_t products = product_multiply_accumulates(demand); products > 0) {
    counters.multiply_accumulates += instances * products;
    if (reads_fp32(program, instruction)) {
      counters.fp32_multiply_accumulates += instances * products;
    }
    return;
  }
  // The data passes an identity of its own number of partitions.
  for (const Operand& operand : program.operands_of(instruction)) {
    if (!operand.present() || operand.writes()) continue;
    const int64_t elements = bytes_of(operand) / itemsize(operand.dtype);
    counters.transpose_multiply_accumulates += instances * elements * operand.partitions;
    break;
  }
}

void count_packets(const Step& step, int64_t instances, ProgramCounters& counters) {
  DescriptorTraffic& traffic = traffic_of(step.descriptors, counters);
  traffic.packets += instances * step.elements;
  traffic.bytes += instances * step.elements * step.bytes;
}

void count(const Program& program, const Instruction& instruction, int64_t instances,
           ProgramCounters& counters) {
  int64_t from_psum = 0;
  bool to_sbuf = false;
  for (const Operand& operand : program.operands_of(instruction)) {
    const int64_t bytes = operand.present() ? bytes_of(operand) : 0;
    if (Traffic* const traffic = traffic_of(operand.memory, counters)) {
      if (operand.reads()) traffic->read += instances * bytes;
      if (operand.writes()) traffic->written += instances * bytes;
    }
    if (operand.memory == MemoryKind::kPsum && operand.reads()) from_psum += bytes;
    to_sbuf |= operand.memory == MemoryKind::kSbuf && operand.writes();
  }
  if (from_psum > 0 && to_sbuf) {
    counters.psum_to_sbuf_instructions += instances;
    counters.psum_to_sbuf_bytes += instances * from_psum;
  }
  const Demand& demand = program.demands[instruction.demand];
  if (multiplies(demand)) {
    count_matmul(program, instruction, instances, counters);
  }
  if (demand.count > 0 && demand.steps[0].unit == Unit::kDma) {
    count_packets(demand.steps[0], instances, counters);
  }
}

/// Visitor that counts the instances of every instruction of a run, or of one as it is forecast.
class InstanceCount {
 public:
  InstanceCount(const Program& program, const ControlLog& log)
      : program_(program),
        log_(log),
        forecasts_(program.cores.size(), LoopForecast(program, assumed_trips())),
        instances_(program.instructions.size()) {}

  int64_t trip_count(const Loop& loop) {
    if (loop.kind == LoopKind::kWhile) return kUnbounded;
    if (loop.register_index < 0) return loop.trip_count;
    const bool forecast = loop.kind == LoopKind::kRange && !log_.is_present();
    return forecast ? forecasts_[loop.core].trips(loop) : log_.next(loop.bound);
  }
  int64_t boundary(const Loop& loop, uint32_t, int64_t iteration, int64_t trips) {
    if (loop.kind != LoopKind::kWhile) return 0;
    const bool continues =
        log_.is_present() ? log_.next(0) != 0 : forecasts_[loop.core].continues(loop, iteration);
    return continues ? 0 : trips - iteration;
  }
  void instruction(uint32_t index, const int64_t*) {
    ++instances_[index];
    const Instruction& instruction = program_.instructions[index];
    if (!log_.is_present()) forecasts_[instruction.core].pass(instruction);
    for (const Operand& operand : program_.operands_of(instruction)) {
      if (!operand.indirect) continue;
      log_.next(0);
      break;
    }
  }
  void meet(const Meeting& meeting) {
    for (const int64_t index : meeting.instruction) ++instances_[static_cast<size_t>(index)];
  }

  void add_to(ProgramCounters& counters) const {
    for (size_t i = 0; i < instances_.size(); ++i) {
      if (instances_[i] > 0) count(program_, program_.instructions[i], instances_[i], counters);
    }
  }

 private:
  const Program& program_;
  LogReader log_;
  std::vector<LoopForecast> forecasts_;  // by core
  std::vector<int64_t> instances_;
};

void count(const Program& program, const Block& block, int64_t instances,
           ProgramCounters& counters) {
  for (const Node& node : block) {
    if (node.kind == Node::Kind::kLoop) {
      const Loop& loop = program.loops[node.index];
      count(program, loop.body, instances * loop.bound, counters);
    } else {
      count(program, program.instructions[node.index], instances, counters);
    }
  }
}

}  // namespace

int64_t product_multiply_accumulates(const Demand& demand) {
  return multiplies(demand) && !demand.steps[1].transpose ? demand.multiply_accumulates : 0;
}

bool has_dynamic_loops(const Program& program) {
  return std::any_of(program.loops.begin(), program.loops.end(),
                     [](const Loop& loop) { return loop.kind != LoopKind::kCounted; });
}

ProgramCounters instruction_counters(const Program& program, const Instruction& instruction) {
  ProgramCounters counters;
  count(program, instruction, 1, counters);
  return counters;
}

ProgramCounters program_counters(const Program& program, const ControlLog& log) {
  ProgramCounters counters;
  if (has_dynamic_loops(program)) {
    InstanceCount run(program, log);
    Cursor<InstanceCount>(program, run).walk();
    run.add_to(counters);
  } else {
    for (const Block& core : program.cores) count(program, core, 1, counters);
  }
  return counters;
}

}  // namespace neuron_sim
