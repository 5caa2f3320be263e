#include "python_bindings/torch_module/launches.h"

#include <fstream>

#include "csrc/errors.h"
#include "csrc/launches.h"
#include "device/execute/thread_pool.h"
#include "device/program/engine.h"
#include "device/runtime/kernel_cache.h"
#include "device/timeline/overlaps.h"

namespace py = pybind11;

namespace neuron_sim {
namespace {

double microseconds(Picoseconds time) { return static_cast<double>(time.count) * 1e-6; }

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

void write_trace_file(const LaunchRecord& launch, const std::string& path) {
  std::ofstream file(path);
  write_trace(file, launch);
  file.close();
  TORCH_CHECK(file.good(), "the trace could not be written to '", path, "'");
}

py::dict launch_facts(const LaunchRecord& launch) {
  const Program& program = launch.kernel->program();
  const Timing& timing = launch.timing;
  py::dict facts;
  facts["name"] = program.kernel;
  facts["shapes"] = shapes_text(launch);
  facts["device"] = launch.device;
  facts["start_us"] = microseconds(launch.span.start);
  facts["end_us"] = microseconds(launch.span.end);
  facts["body_us"] = microseconds(timing.body);
  facts["latency_us"] = microseconds(timing.benchmark(*program.architecture));
  facts["utilisation"] = utilisation(timing);
  facts["bottleneck"] = timing.bottleneck();
  facts["dma_transfers"] = timing.dma_transfers;
  facts["dma_bytes"] = timing.dma_bytes;
  facts["instructions"] = timing.instances;
  const OverlapReport overlaps = report_overlaps(program);
  facts["overlapping_tiles"] = overlaps.tiles;
  facts["overlap_lost_us"] = microseconds(overlaps.lost);
  return facts;
}

py::tuple cache_facts() {
  const CacheStatistics statistics = kernel_cache().statistics();
  return py::make_tuple(statistics.hits, statistics.misses, statistics.kernels);
}

}  // namespace

void bind_launches(py::module_& m) {
  py::class_<LaunchRecord>(m, "LaunchRecord")
      .def("facts", &launch_facts)
      .def("write_trace", &write_trace_file, py::call_guard<py::gil_scoped_release>());
  m.def("start_recording", &start_recording);
  m.def("finish_recording", &finish_recording);
  m.def("kernel_cache_info", &cache_facts);
  m.def("clear_kernel_cache", [] { kernel_cache().clear(); });
  m.def("host_threads", [] { return thread_pool().threads(); });
  m.def("set_host_threads",
        [](int threads) { translate_errors([&] { set_host_threads(threads); }); });
}

}  // namespace neuron_sim
