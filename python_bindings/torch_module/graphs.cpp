#include "python_bindings/torch_module/graphs.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/DeviceGuard.h>
#include <torch/csrc/Exceptions.h>

#include <map>

#include "csrc/launch/auto_cast.h"
#include "csrc/launch/capture.h"
#include "csrc/runtime/errors.h"
#include "device/base/interruption.h"

namespace py = pybind11;

namespace neuron_sim {
namespace {

GraphProgramOptions options_of(bool fuse, const std::map<std::string, int64_t>& passes) {
  GraphProgramOptions options;
  options.fuse = fuse;
  translate_errors([&] {
    for (const auto& [pass, value] : passes) options.passes.set(pass, value);
  });
  return options;
}

py::dict facts_of(const CapturedGraph& graph) {
  const GraphFacts& facts = graph.facts();
  py::dict result;
  result["kernels"] = facts.kernels;
  result["kernel_bodies_us"] = facts.kernel_bodies.microseconds();
  result["constant_kernels"] = facts.constant_kernels;
  result["arranged_bytes"] = facts.arranged_bytes;
  result["kernels_after_fusion"] = facts.emitted;
  result["programs"] = facts.programs;
  result["program_bodies_us"] = facts.program_bodies.microseconds();
  result["program_sources"] = facts.program_sources;
  result["separate_programs"] = facts.separate_programs;
  result["host_operators"] = facts.host_operators;
  result["unchanged"] = facts.unchanged;
  result["skipped_passes"] = facts.skipped_passes;
  return result;
}

/// Runs `function()` (`constants`: places in `inputs`, see GraphCapture; `product_dtype`: see
/// AutoCast), which returns a list of
/// tensors, and captures it: (graph, "", outputs), or (None, reason, []) when it cannot be captured
/// and has changed no input.
py::tuple capture_graph(const py::function& function, at::Device device,
                        const std::vector<at::Tensor>& inputs, bool fuse,
                        const std::map<std::string, int64_t>& passes,
                        const std::vector<int64_t>& constants, bool exact_transposes,
                        std::optional<at::ScalarType> product_dtype) {
  const c10::DeviceGuard guard(device);
  GraphProgramOptions options = options_of(fuse, passes);
  options.exact_transposes = exact_transposes;
  GraphCapture capture(device, inputs, options, constants);
  try {
    std::vector<at::Tensor> outputs;
    {
      const AutoCast cast(product_dtype);
      const py::object result = function();
      outputs = result.cast<std::vector<at::Tensor>>();
    }
    const at::AutoDispatchBelowADInplaceOrView no_autograd;
    auto graph = capture.finish(outputs);
    return py::make_tuple(graph, "", outputs);
  } catch (const Interruption&) {
    throw;
  } catch (const std::exception&) {
    if (capture.refusal().empty() || capture.wrote_inputs()) throw;
  }
  return py::make_tuple(py::none(), capture.refusal(), py::list());
}

}  // namespace

void bind_graphs(py::module_& m) {
  py::class_<CapturedGraph, std::shared_ptr<CapturedGraph>>(m, "CapturedGraph")
      .def(
          "run",
          [](const CapturedGraph& graph, const std::vector<at::Tensor>& inputs) {
            return graph.run(inputs);
          },
          py::call_guard<py::gil_scoped_release>())
      .def("facts", &facts_of);
  m.def("capture_graph", &capture_graph);
  m.def("set_capture_source", &GraphCapture::set_source);
}

}  // namespace neuron_sim
