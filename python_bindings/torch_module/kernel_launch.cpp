#include "python_bindings/torch_module/kernel_launch.h"

#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "csrc/launch/capture.h"
#include "csrc/launch/tensor_access.h"
#include "csrc/runtime/errors.h"
#include "csrc/runtime/runtime.h"
#include "device/base/errors.h"
#include "device/memory/write_watch.h"
#include "device/runtime/devices.h"
#include "device/runtime/launch.h"

namespace py = pybind11;

namespace neuron_sim {
namespace {

std::shared_ptr<const Kernel> kernel_of(const py::capsule& capsule) {
  void* held = PyCapsule_GetPointer(capsule.ptr(), kKernelCapsule);
  if (held == nullptr) throw py::error_already_set();
  return *static_cast<const std::shared_ptr<const Kernel>*>(held);
}

/// KernelError unless `tensor` is on `device`, dense and as large as the argument.
void check_tensor(const Program& program, size_t index, const at::Tensor& tensor, int device) {
  const Argument& argument = program.arguments[index];
  const std::string name = text("kernel '", program.kernel, "': argument '", argument.label, "' ");
  if (!on_device(tensor) || device_index(tensor) != device) {
    fail(text(name, "is on ", tensor.device().str(), ", not on neuron_sim:", device, "."));
  }
  if (!tensor.is_contiguous()) fail(text(name, "is not contiguous."));
  if (tensor_bytes(tensor).count != argument.bytes) {
    fail(text(name, "has ", argument.bytes, " bytes, the tensor has ", tensor_bytes(tensor).count,
              "."));
  }
}

/// Host addresses of the tensors' device pointers.
std::vector<std::byte*> addresses_of(const Program& program, const std::vector<at::Tensor>& tensors,
                                     int device) {
  if (tensors.size() != program.arguments.size()) {
    fail(text("kernel '", program.kernel, "' has ", program.arguments.size(), " arguments, not ",
              tensors.size(), "."));
  }
  std::vector<std::byte*> addresses;
  for (size_t i = 0; i < tensors.size(); ++i) {
    check_tensor(program, i, tensors[i], device);
    addresses.push_back(backing(tensors[i]));
  }
  return addresses;
}

/// Runs a kernel on the tensors' device and its current stream. Tensors from `first_new` on are
/// results, which start as zeros. Without `computes` the launch only takes simulated time. While a
/// graph is captured, `in_graph` is the kernel whose program becomes part of it.
void launch_kernel(const py::capsule& capsule, const std::vector<at::Tensor>& tensors,
                   size_t first_new, int device, bool computes,
                   const std::optional<py::capsule>& in_graph) {
  const std::shared_ptr<const Kernel> kernel = kernel_of(capsule);
  const std::shared_ptr<const Kernel> embedded = in_graph ? kernel_of(*in_graph) : kernel;
  const py::gil_scoped_release release;
  translate_errors([&] {
    const Program& program = kernel->program();
    if (program.architecture->name != device_architecture(device).name) {
      fail(text("kernel '", program.kernel, "' was traced for ", program.architecture->name,
                ", but neuron_sim:", device, " is a ", device_architecture(device).name, "."));
    }
    const std::vector<std::byte*> addresses = addresses_of(program, tensors, device);
    GraphCapture* const capture = GraphCapture::active();
    if (!computes) {
      if (capture != nullptr) capture->refuse("a kernel takes its time without computing");
      submit(device, Resource::kCore, kernel->timing().benchmark(*program.architecture));
      return;
    }
    for (size_t i = first_new; i < addresses.size(); ++i) {
      if (addresses[i] != nullptr) {
        std::memset(addresses[i], 0, static_cast<size_t>(program.arguments[i].bytes));
        note_write({addresses[i], addresses[i] + program.arguments[i].bytes});
      }
    }
    if (capture != nullptr) return capture->add_program(kernel, embedded, tensors, first_new);
    launch(device, current_stream(device), kernel, addresses);
  });
}

}  // namespace

void bind_kernel_launch(py::module_& m) {
  m.def("launch_kernel", &launch_kernel, py::arg("kernel"), py::arg("tensors"),
        py::arg("first_new"), py::arg("device"), py::arg("computes"),
        py::arg("in_graph") = std::nullopt);
  m.def("is_capturing", [] { return GraphCapture::active() != nullptr; });
}

}  // namespace neuron_sim
