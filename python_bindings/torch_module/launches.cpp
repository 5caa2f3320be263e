#include "python_bindings/torch_module/launches.h"

#include "csrc/launch/launches.h"
#include "csrc/runtime/errors.h"
#include "device/execute/thread_pool.h"
#include "device/operand/engine.h"
#include "device/runtime/kernel_cache.h"

namespace py = pybind11;

namespace neuron_sim {
namespace {

/// Busy shares by engine, 0 to 1.
py::dict utilisation(const Timing& timing) {
  py::dict shares;
  for (int i = 0; i < kEngineCount; ++i) {
    const auto engine = static_cast<EngineKind>(i);
    shares[py::str(std::string(name(engine)))] = timing.utilisation(engine);
  }
  shares["DMA"] = timing.dma_utilisation();
  return shares;
}

/// Of which neuron_sim._core makes views.
py::capsule capsule_of(const std::shared_ptr<const Kernel>& kernel) {
  auto held = std::make_unique<std::shared_ptr<const Kernel>>(kernel);
  return py::capsule(held.release(), kKernelCapsule, [](PyObject* capsule) {
    delete static_cast<std::shared_ptr<const Kernel>*>(
        PyCapsule_GetPointer(capsule, kKernelCapsule));
  });
}

py::capsule recorded_kernel(const RecordedLaunch& launch) {
  check_kept(launch);
  return capsule_of(launch.kernel->kernel);
}

py::tuple sum_of(const LaunchSum& sum) {
  return py::make_tuple(sum.launches, sum.latency.microseconds());
}

/// The sums of a tally, times in microseconds.
py::dict facts_of(const LaunchTally& tally) {
  py::dict operators, bounds, facts;
  for (const auto& [name, sum] : tally.operators) operators[py::str(name)] = sum_of(sum);
  for (const auto& [name, time] : tally.bounds) bounds[py::str(name)] = time.microseconds();
  py::list kept;
  for (const TalliedProgram& program : tally.kept) {
    kept.append(py::make_tuple(capsule_of(program.kernel), program.op, program.sum.launches,
                               program.sum.latency.microseconds()));
  }
  facts["launches"] = tally.all.launches;
  facts["latency_us"] = tally.all.latency.microseconds();
  facts["body_us"] = tally.body.microseconds();
  facts["programs"] = tally.programs;
  facts["operators"] = operators;
  facts["bounds"] = bounds;
  facts["kept"] = kept;
  return facts;
}

double latency(const RecordedLaunch& launch) {
  return launch.timing->benchmark(*launch.kernel->architecture).microseconds();
}

/// Read when Python asks, so that a list of launches stays small.
void bind_recorded_launch(py::module_& m) {
  using Launch = const RecordedLaunch&;
  py::class_<RecordedLaunch>(m, "RecordedLaunch")
      .def_property_readonly("name", [](Launch launch) { return launch.kernel->name; })
      .def_property_readonly("shapes", [](Launch launch) { return launch.shapes(); })
      .def_property_readonly("arguments", [](Launch launch) { return launch.kernel->arguments; })
      .def_property_readonly("operator", [](Launch launch) { return launch.origin.op; })
      .def_property_readonly("module", [](Launch launch) { return launch.origin.place.module; })
      .def_property_readonly("source_line", [](Launch launch) { return launch.origin.place.line; })
      .def_property_readonly("allocated_bytes", [](Launch l) { return l.allocated_bytes; })
      .def_property_readonly("device", [](Launch launch) { return launch.device; })
      .def_property_readonly("start_us", [](Launch l) { return l.span.start.microseconds(); })
      .def_property_readonly("end_us", [](Launch l) { return l.span.end.microseconds(); })
      .def_property_readonly("body_us", [](Launch l) { return l.timing->body.microseconds(); })
      .def_property_readonly("latency_us", &latency)
      .def_property_readonly("utilisation", [](Launch l) { return utilisation(*l.timing); })
      .def_property_readonly("bottleneck", [](Launch l) { return l.timing->bottleneck(); })
      .def_property_readonly("dma_transfers", [](Launch l) { return l.timing->dma_transfers; })
      .def_property_readonly("dma_bytes", [](Launch l) { return l.timing->dma_bytes; })
      .def_property_readonly("instructions", [](Launch l) { return l.timing->instances; })
      .def_property_readonly("overlapping_tiles", [](Launch l) { return l.kernel->overlaps.tiles; })
      .def_property_readonly("overlap_lost_us",
                             [](Launch l) { return l.kernel->overlaps.lost.microseconds(); })
      .def_property_readonly("kernel_id",
                             [](Launch l) { return reinterpret_cast<uintptr_t>(l.kernel.get()); })
      .def("kernel", &recorded_kernel);
}

py::tuple cache_facts() {
  const CacheStatistics statistics = kernel_cache().statistics();
  return py::make_tuple(statistics.hits, statistics.misses, statistics.kernels, statistics.bytes,
                        statistics.evictions);
}

/// `finder()` returns the module and the line of the calling thread (CallingPlace).
void find_places_with(const py::function& finder) {
  auto* const kept = new py::function(finder);  // threads may launch until the process ends
  set_place_finder([kept]() -> CallingPlace {
    if (Py_IsInitialized() == 0) return {};
    const py::gil_scoped_acquire locked;
    const auto found = (*kept)().cast<std::pair<std::string, std::string>>();
    return {found.first, found.second};
  });
}

}  // namespace

void bind_launches(py::module_& m) {
  bind_recorded_launch(m);
  m.def("find_places_with", &find_places_with);
  m.def("start_recording", &start_recording);
  m.def("finish_recording", &finish_recording);
  m.def("start_tally", &start_tally);
  m.def("read_tally", [](TallyId tally) { return facts_of(read_tally(tally)); });
  m.def("finish_tally", [](TallyId tally) { return facts_of(finish_tally(tally)); });
  m.def("kernel_cache_info", &cache_facts);
  m.def("kernel_cache_limit", [] { return kernel_cache().limit(); });
  m.def("set_kernel_cache_limit",
        [](int64_t bytes) { translate_errors([&] { kernel_cache().set_limit(bytes); }); });
  m.def("clear_kernel_cache", [] { kernel_cache().clear(); });
  m.def("host_threads", [] { return thread_pool().threads(); });
  m.def("set_host_threads", [](int threads) {
    const py::gil_scoped_release unlocked;  // it waits for the kernels that run
    translate_errors([&] { set_host_threads(threads); });
  });
}

}  // namespace neuron_sim
