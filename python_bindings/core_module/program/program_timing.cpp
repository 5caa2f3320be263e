#include "python_bindings/core_module/program/program_timing.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "device/base/errors.h"
#include "device/observe/dma_activity.h"
#include "device/observe/program_counters.h"
#include "device/timeline/overlaps.h"
#include "device/timeline/timeline.h"

namespace nb = nanobind;

namespace neuron_sim {

TimelineOptions timeline_options(const Program& program,
                                 const std::optional<std::string>& architecture,
                                 double clock_phase_ns, bool starts_warm) {
  TimelineOptions options;
  options.starts_warm = starts_warm;
  options.clock_phase = from_nanoseconds(clock_phase_ns);
  if (!architecture) return options;
  options.architecture = &load_architecture(*architecture);
  if (options.architecture->generation != program.architecture->generation) {
    fail(text("kernel '", program.kernel, "' was built for ", program.architecture->name,
              "; it cannot be timed as ", options.architecture->name,
              ", which is another generation."));
  }
  return options;
}

const char* unit_name(Unit unit) {
  switch (unit) {
    case Unit::kLoadStationary: return "load_stationary";
    case Unit::kMultiplyMoving: return "multiply_moving";
    case Unit::kElementwise: return "elementwise";
    case Unit::kDma: return "dma";
    case Unit::kSequencer: return "sequencer";
    case Unit::kBarrier: return "barrier";
    case Unit::kGpSimdDma: return "gpsimd_dma";
    case Unit::kCollective: return "collective";
  }
  return "";
}

namespace {

/// simulate(), while other Python threads run.
Timing simulated(const Program& program, const ControlLog& log, const TimelineOptions& options) {
  const nb::gil_scoped_release unlocked;
  return simulate(program, log, options);
}

/// Programs with more instances are not walked again for their DMA activity.
constexpr int64_t kObservedInstances = 10000;

nb::dict timing_dict(const Program& program, const TimelineOptions& options,
                     const ControlLog& log = {}) {
  const Architecture& architecture = architecture_of(program, options);
  const Timing timing = simulated(program, log, options);
  nb::dict result;
  result["body_us"] = timing.body.microseconds();
  result["latency_us"] = timing.benchmark(architecture).microseconds();
  result["profile_us"] = timing.profile(architecture).microseconds();
  result["first_profile_us"] = timing.first_profile(architecture).microseconds();
  result["bottleneck"] = timing.bottleneck();
  result["instructions"] = timing.instances;
  result["dma_transfers"] = timing.dma_transfers;
  result["dma_bytes"] = timing.dma_bytes;
  int64_t argument_bytes = 0;
  for (const Argument& argument : program.arguments) argument_bytes += argument.bytes;
  result["argument_bytes"] = argument_bytes;
  result["software_descriptors"] = timing.software_descriptors;
  result["multiply_accumulates"] = timing.multiply_accumulates;
  nb::dict utilisation, instructions;
  for (int engine = 0; engine < kEngineCount; ++engine) {
    const auto kind = static_cast<EngineKind>(engine);
    utilisation[name(kind)] = timing.utilisation(kind);
    instructions[name(kind)] = timing.instructions[static_cast<size_t>(engine)];
  }
  utilisation["DMA"] = timing.dma_utilisation();
  result["utilisation"] = utilisation;
  result["engine_instructions"] = instructions;
  return result;
}

}  // namespace

nb::dict program_timing(const Program& program, const std::optional<std::string>& architecture,
                        double clock_phase_ns, bool starts_warm,
                        const std::vector<int64_t>& values) {
  TimelineOptions options = timeline_options(program, architecture, clock_phase_ns, starts_warm);
  const ControlLog log{values};
  nb::dict result = timing_dict(program, options, log);
  if (nb::cast<int64_t>(result["instructions"]) <= kObservedInstances) {
    DmaActivity activity;
    options.observer = &activity;
    simulated(program, log, options);
    result["dma_active_us"] = activity.active().microseconds();
    result["dma_load_active_us"] = activity.active(false).microseconds();
    result["dma_load_bytes"] = activity.bytes(false);
  }
  return result;
}

nb::dict program_timing_with_overlaps(const Program& program) {
  nb::dict result = timing_dict(program, timeline_options(program));
  OverlapReport overlaps;
  {
    const nb::gil_scoped_release unlocked;
    overlaps = report_overlaps(program);
  }
  result["overlapping_tiles"] = overlaps.tiles;
  result["overlap_lost_us"] = overlaps.lost.microseconds();
  return result;
}

nb::dict counters_by_name(const ProgramCounters& counters) {
  nb::dict result;
  const auto add_memory = [&](const std::string& memory, const Traffic& traffic) {
    result[(memory + "_read_bytes").c_str()] = traffic.read;
    result[(memory + "_write_bytes").c_str()] = traffic.written;
  };
  add_memory("hbm", counters.hbm);
  add_memory("sbuf", counters.sbuf);
  add_memory("psum", counters.psum);
  const auto add_descriptors = [&](const std::string& kind, const DescriptorTraffic& traffic) {
    result[(kind + "_packets").c_str()] = traffic.packets;
    result[(kind + "_bytes").c_str()] = traffic.bytes;
  };
  add_descriptors("static_dma", counters.static_dma);
  add_descriptors("hardware_dynamic_dma", counters.hardware_dynamic_dma);
  add_descriptors("software_dynamic_dma", counters.software_dynamic_dma);
  result["matmul_instructions"] = counters.matmul_instructions;
  result["multiply_accumulates"] = counters.multiply_accumulates;
  result["fp32_multiply_accumulates"] = counters.fp32_multiply_accumulates;
  result["transpose_multiply_accumulates"] = counters.transpose_multiply_accumulates;
  result["psum_to_sbuf_instructions"] = counters.psum_to_sbuf_instructions;
  result["psum_to_sbuf_bytes"] = counters.psum_to_sbuf_bytes;
  return result;
}

}  // namespace neuron_sim
