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

/// What to capture besides the function.
struct CaptureRequest {
  at::Device device;
  std::vector<at::Tensor> inputs;  ///< see GraphCapture
  std::vector<int64_t> constants;  ///< places in `inputs`, see GraphCapture
  GraphProgramOptions options;
  std::optional<at::ScalarType> product_dtype;  ///< see AutoCast
};

CaptureRequest capture_request(at::Device device, std::vector<at::Tensor> inputs,
                               std::vector<int64_t> constants, bool fuse, bool exact_transposes,
                               const std::map<std::string, int64_t>& passes,
                               std::optional<std::set<std::string>> left_out,
                               std::optional<at::ScalarType> product_dtype) {
  GraphProgramOptions options{.fuse = fuse, .exact_transposes = exact_transposes};
  options.left_out = std::move(left_out);
  translate_errors([&] {
    for (const auto& [pass, value] : passes) options.passes.set(pass, value);
  });
  return {device, std::move(inputs), std::move(constants), std::move(options), product_dtype};
}

py::dict capture_facts(const CapturedGraph& graph) {
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
  result["left_out"] = std::vector(facts.left_out.begin(), facts.left_out.end());
  return result;
}

/// Runs `function()`, which returns a list of tensors, and captures it: (graph, "", outputs), or
/// (None, reason, []) when it cannot be captured and has changed no input.
py::tuple capture_graph(const py::function& function, const CaptureRequest& request) {
  const c10::DeviceGuard guard(request.device);
  GraphCapture capture(request.device, request.inputs, request.options, request.constants);
  try {
    std::vector<at::Tensor> outputs;
    {
      const AutoCast cast(request.product_dtype);
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
      .def("facts", &capture_facts);
  py::class_<CaptureRequest>(m, "CaptureRequest")
      .def(py::init(&capture_request), py::kw_only(), py::arg("device"), py::arg("inputs"),
           py::arg("constants"), py::arg("fuse"), py::arg("exact_transposes"), py::arg("passes"),
           py::arg("left_out"), py::arg("product_dtype"));
  m.def("capture_graph", &capture_graph);
  m.def("set_capture_source", &GraphCapture::set_source);
}

}  // namespace neuron_sim
