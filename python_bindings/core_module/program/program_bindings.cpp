// Program for Python: its time, its steps, its bytes.

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "device/analysis/dependencies.h"
#include "device/analysis/memory_use.h"
#include "device/base/errors.h"
#include "device/check/carried_writes.h"
#include "device/check/checked_run.h"
#include "device/execute/executor.h"
#include "device/execute/run_instance.h"
#include "device/execute/run_ranks.h"
#include "device/observe/program_counters.h"
#include "device/runtime/kernel.h"
#include "python_bindings/core_module/program/bindings.h"
#include "python_bindings/core_module/program/check_bindings.h"
#include "python_bindings/core_module/program/facts.h"
#include "python_bindings/core_module/program/operation_list.h"
#include "python_bindings/core_module/program/program_timing.h"
#include "python_bindings/core_module/program/recording_bindings.h"
#include "python_bindings/core_module/program/recording_names.h"

namespace nb = nanobind;

namespace neuron_sim {
namespace {

/// Collects the steps of a run as dicts.
class StepList : public TimelineObserver {
 public:
  void step(const Program& program, const StepEvent& event) override {
    nb::dict entry;
    const std::string_view instruction = program.instructions[event.instruction].type->name;
    entry["index"] = event.instruction;
    entry["instruction"] = nb::str(instruction.data(), instruction.size());
    entry["unit"] = unit_name(event.unit);
    entry["engine"] = name(event.engine);
    entry["core"] = event.core;
    entry["kind"] = kind_name(event.kind);
    entry["pair"] = event.pair;
    entry["start_ns"] = event.span.start.nanoseconds();
    entry["end_ns"] = event.span.end.nanoseconds();
    entry["done_ns"] = event.span.done.nanoseconds();
    entry["bytes"] = event.bytes;
    steps.append(entry);
  }

  nb::list steps;

 private:
  static const char* kind_name(EventKind kind) {
    switch (kind) {
      case EventKind::kStep: return "step";
      case EventKind::kWait: return "wait";
      case EventKind::kTableLoad: return "table_load";
      case EventKind::kGeneration: return "generation";
      case EventKind::kTrigger: return "trigger";
      case EventKind::kTransfer: return "transfer";
    }
    return "";
  }
};

nb::list steps(const Program& program, const std::optional<std::string>& architecture,
               double clock_phase_ns, bool starts_warm, const std::vector<int64_t>& log) {
  StepList list;
  TimelineOptions options = timeline_options(program, architecture, clock_phase_ns, starts_warm);
  options.observer = &list;
  simulate(program, {log}, options);
  return list.steps;
}

using HostArray = nb::ndarray<nb::c_contig, nb::device::cpu>;

/// The arrays' addresses, after a check of their sizes.
std::vector<std::byte*> addresses_of(const Program& program,
                                     const std::vector<HostArray>& arguments) {
  if (arguments.size() != program.arguments.size()) {
    fail(text("kernel '", program.kernel, "' has ", program.arguments.size(), " arguments, not ",
              arguments.size(), "."));
  }
  std::vector<std::byte*> addresses;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Argument& argument = program.arguments[i];
    if (static_cast<int64_t>(arguments[i].nbytes()) != argument.bytes) {
      fail(text("kernel '", program.kernel, "': argument '", argument.label, "' has ",
                argument.bytes, " bytes, the array has ", arguments[i].nbytes(), "."));
    }
    addresses.push_back(static_cast<std::byte*>(arguments[i].data()));
  }
  return addresses;
}

nb::list static_findings(const Program& program, std::optional<size_t> inputs,
                         const std::vector<IterationTuple>& iterations, bool errors_only) {
  const CheckOptions options = check_options(program, inputs, iterations, errors_only);
  std::vector<Finding> found;
  {
    const nb::gil_scoped_release unlocked;
    found = findings(program, options);
  }
  return as_dicts(found);
}

nb::list carried(const Program& program, const std::vector<IterationTuple>& iterations) {
  nb::list result;
  for (const CarriedWrite& each :
       carried_writes(program, check_options(program, {}, iterations, false).iterations)) {
    result.append(nb::make_tuple(line_of(program, each.instruction), each.tile, each.loop));
  }
  return result;
}

/// run() under the checker.
nb::dict run_checked(const Program& program, const std::vector<HostArray>& arguments,
                     std::optional<size_t> inputs, const std::vector<IterationTuple>& iterations,
                     bool first_non_finite, bool precision) {
  const std::vector<std::byte*> addresses = addresses_of(program, arguments);
  const ProgramMemories memories(program);
  const CheckOptions options = check_options(program, inputs, iterations, false);
  std::vector<Finding> found;
  bool completed = true;
  std::vector<int64_t> log;
  try {
    const nb::gil_scoped_release unlocked;
    log = checked_run(program, make_plan(program), {memories.all(), addresses}, thread_pool(),
                      options, {first_non_finite, precision}, found)
              .values;
  } catch (const OutOfBounds&) {  // one of the findings
    completed = false;
  }
  nb::dict result;
  result["log"] = nb::cast(log);
  result["findings"] = as_dicts(found);
  result["completed"] = completed;
  return result;
}

/// Computes the program in fresh memories. Arrays are bytes laid out by the dtypes of the
/// arguments; written ones are changed in place. Returns the values of the ControlLog.
std::vector<int64_t> run(const Program& program, const std::vector<HostArray>& arguments) {
  const std::vector<std::byte*> addresses = addresses_of(program, arguments);
  const nb::gil_scoped_release unlocked;
  const ProgramMemories memories(program);
  return execute(program, make_plan(program), memories.all(), addresses, thread_pool()).values;
}

/// Runs programs on several ranks, one program and its arrays each.
std::vector<std::vector<int64_t>> run_on_ranks(
    const std::vector<std::shared_ptr<const Program>>& programs,
    const std::vector<std::vector<HostArray>>& arguments) {
  if (programs.empty() || programs.size() != arguments.size()) {
    fail(text(programs.size(), " programs and arrays of ", arguments.size(),
              " ranks: every rank has a program and its arrays."));
  }
  std::vector<RankLaunch> launches;
  for (size_t rank = 0; rank < programs.size(); ++rank) {
    launches.push_back({programs[rank], addresses_of(*programs[rank], arguments[rank])});
  }
  const nb::gil_scoped_release unlocked;
  std::vector<std::vector<int64_t>> values;
  for (ControlLog& log : run_ranks(launches)) values.push_back(std::move(log.values));
  return values;
}

/// A Kernel of the program, shared with its launcher (neuron_sim._C).
nb::capsule compiled_kernel(const std::shared_ptr<const Program>& program,
                            const std::shared_ptr<const Program>& computed) {
  auto kernel = std::make_unique<std::shared_ptr<const Kernel>>();
  {
    const nb::gil_scoped_release unlocked;
    *kernel = std::make_shared<const Kernel>(program, computed);
  }
  return nb::capsule(kernel.release(), kKernelCapsule, [](void* data) noexcept {
    delete static_cast<std::shared_ptr<const Kernel>*>(data);
  });
}

/// The program of a Kernel, for views of a launch of PyTorch.
std::shared_ptr<const Program> program_of_kernel(const nb::capsule& capsule) {
  const char* const given = capsule.name();
  if (given == nullptr || std::string_view(given) != kKernelCapsule) {
    fail("a kernel is a capsule of neuron_sim.", ErrorKind::kType);
  }
  const auto& kernel = *static_cast<const std::shared_ptr<const Kernel>*>(capsule.data());
  return {kernel, &kernel->program()};  // keeps the kernel
}

nb::list arguments_of(const Program& program) {
  nb::list result;
  for (const Argument& argument : program.arguments) {
    nb::dict entry;
    entry["label"] = argument.label;
    entry["shape"] = nb::cast(argument.shape);
    entry["dtype"] = std::string(name(argument.dtype));
    entry["bytes"] = argument.bytes;
    entry["read"] = argument.read;
    entry["written"] = argument.written;
    result.append(entry);
  }
  return result;
}

nb::dict spills_of(const Program& program) {
  const Spills& spills = program.spills;
  nb::dict result;
  result["saves"] = spills.saves;
  result["save_bytes"] = spills.save_bytes;
  result["reloads"] = spills.reloads;
  result["reload_bytes"] = spills.reload_bytes;
  result["repeated_loads"] = spills.repeated_loads;
  result["repeated_bytes"] = spills.repeated_bytes;
  result["psum_copies"] = spills.psum_copies;
  result["psum_bytes"] = spills.psum_bytes;
  return result;
}

}  // namespace

void bind_program(nb::module_& module) {
  bind_checks(module);
  module.def("run_ranks", &run_on_ranks, nb::arg("programs"), nb::arg("arguments"),
             "Computes programs[r] on the arrays arguments[r], as Program.run, for all ranks r at "
             "once; they meet at their collectives.");
  module.def("program_of_kernel", &program_of_kernel, nb::arg("kernel"),
             "The Program of a capsule as Program.compiled_kernel() makes them.");
  nb::class_<Program>(module, "Program", "A finished kernel. Immutable.")
      .def_prop_ro("kernel", [](const Program& self) { return self.kernel; })
      .def_prop_ro("architecture", [](const Program& self) { return self.architecture->name; })
      .def_prop_ro("generation", [](const Program& self) { return self.architecture->generation; })
      .def_prop_ro("architecture", [](const Program& self) { return self.architecture->name; })
      .def_prop_ro(
          "facts", [](const Program& self) { return facts_of(*self.architecture); },
          "Every value of the program's architecture, as architecture_facts().")
      .def_prop_ro("arguments", &arguments_of)
      .def_prop_ro(
          "peak_bytes",
          [](const Program& self) { return nb::make_tuple(self.sbuf_peak, self.psum_peak); },
          "(of SBUF, of PSUM): bytes of a partition in use at most, on any core.")
      .def_prop_ro(
          "instructions", [](const Program& self) { return self.instructions.size(); },
          "Number of stored instructions; loops repeat them.")
      .def_prop_ro(
          "overflow", [](const Program& self) { return self.overflow; },
          "Why its tiles do not fit SBUF or PSUM, a sentence, a line break and the table of the "
          "live "
          "tiles; empty when they do. "
          "compile_program spills tiles of such a program.")
      .def_prop_ro("spills", &spills_of,
                   "What compile_program did to make the tiles fit: saves, save_bytes, reloads, "
                   "reload_bytes (of tiles, to and from HBM), repeated_loads, repeated_bytes (of "
                   "tensors that the program never writes), psum_copies, psum_bytes (from PSUM to "
                   "SBUF and back).")
      .def("time", &program_timing, nb::arg("architecture") = nb::none(),
           nb::arg("clock_phase_ns") = 0.0, nb::arg("starts_warm") = false,
           nb::arg("log") = std::vector<int64_t>{},
           "Simulated time: body_us, latency_us (nc_latency), profile_us (total_time), "
           "first_profile_us (that of a first execution), bottleneck, ... Another "
           "architecture (a name or a TOML file, of the same generation) times the same program "
           "with that one's parameters. clock_phase_ns shifts the windows of the PE clock. log: "
           "what run() returned, for programs whose loops depend on data.")
      .def("steps", &steps, nb::arg("architecture") = nb::none(), nb::arg("clock_phase_ns") = 0.0,
           nb::arg("starts_warm") = false, nb::arg("log") = std::vector<int64_t>{},
           "Every step of every instruction in the order of the walk, timed like time(): start_ns "
           "(issue), end_ns (the unit is free), done_ns (the result is visible); kind: step, wait, "
           "table_load, generation (of descriptors), trigger or transfer (of a DMA); pair: 1 for "
           "the high half of fp32 weights.")
      .def("dependencies", &dependencies,
           "Per instance of an instruction, in program order, the instances it waits for.")
      .def("findings", &static_findings, nb::arg("inputs") = nb::none(),
           nb::arg("iterations") = std::vector<IterationTuple>{}, nb::arg("errors_only") = false,
           "What is wrong with the program, found without data, as dicts: rule, severity, kernel, "
           "message, instruction, operand, tile, bytes, partitions, index, source_line, "
           "other_line, remedy. inputs: how many of the first arguments hold data when it starts "
           "(None: all); the others are its outputs. iterations: (kind, first, end, level, group, "
           "iteration, line) per parallel loop, or per iteration of an unrolled one: instructions "
           "[first, end); kind loop or instance; level: program loops around it, -1 unrolled.")
      .def(
          "carried_writes", &carried, nb::arg("iterations"),
          "Writes of tiles on chip in loops of the program among `iterations`, as findings() takes "
          "them, that another iteration read before: (line, tile, line of the loop).")
      .def("run_checked", &run_checked, nb::arg("arguments"), nb::arg("inputs") = nb::none(),
           nb::arg("iterations") = std::vector<IterationTuple>{},
           nb::arg("first_non_finite") = false, nb::arg("precision") = false,
           "run() under the checker: log, findings (those of findings(), exact to what the run "
           "touches), completed (False when an index out of range, which is a finding, ended it).")
      .def_prop_ro("has_dynamic_loops", &has_dynamic_loops,
                   "Whether a loop runs as often as a register says: its time needs a log.")
      .def(
          "counters",
          [](const Program& self, const std::vector<int64_t>& log) {
            return counters_by_name(program_counters(self, {log}));
          },
          nb::arg("log") = std::vector<int64_t>{},
          "What a profiler counts of one run: bytes read and written per memory, DMA packets by "
          "who makes their descriptors, matmuls and their operations.")
      .def("operations", &operation_list,
           "Its instructions as the kernel asks for them, equal ones once: dicts of name, engine, "
           "names_engine, source, attributes, and operands by name (tile, memory, dtype, "
           "partitions, elements, is_dynamic).")
      .def("instruction_counters", &instruction_counts,
           "The same for one instance of each instruction of recording()['names'], in its order, "
           "with queue_type (of a transfer) and dtype (of the first input).")
      .def("memory_listing", &memory_listing,
           "What fills SBUF and PSUM: sizes, most bytes live, live ranges of every tensor's tiles, "
           "spills.")
      .def("listing", [](const Program& self) { return listing(self); })
      .def("compiled_kernel", &compiled_kernel, nb::arg("computed"),
           "A capsule that neuron_sim._C.launch_kernel launches: it takes the time of this program "
           "and computes the bytes of `computed`, the program it was compiled from, planned once.")
      .def("perfetto", &perfetto_bytes, nb::arg("log") = std::vector<int64_t>{},
           "The timeline for https://ui.perfetto.dev, with dependences and counters.")
      .def(
          "recording", &recording_dict, nb::arg("architecture") = nb::none(),
          nb::arg("log") = std::vector<int64_t>{},
          "Everything that a run did, timed like time(): columns (bytes by name; times are float64 "
          "picoseconds since the start of the body) and what their indices mean.")
      .def("shares_by_source", &source_share_list, nb::arg("log") = std::vector<int64_t>{},
           "A run by the source lines of its instructions: dicts with source, path_us (the part of "
           "the critical path, by what it is spent on), instructions, dma_bytes, hbm_bytes and "
           "multiply_accumulates.")
      .def("run", &run, nb::arg("arguments"),
           "Computes the kernel on NumPy arrays, one per argument, contiguous, with the bytes of "
           "the argument's dtype; written ones are changed in place. Returns what data decided "
           "(trip "
           "counts, rows that were moved), which time(), steps(), perfetto(), counters() take as "
           "log.");
}

}  // namespace neuron_sim
