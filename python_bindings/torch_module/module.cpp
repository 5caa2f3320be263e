// Module neuron_sim._C: additions of torch.neuron_sim to PyTorch's generic device functions. Only
// this library links libtorch_python.

#include <ATen/Context.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/Generator.h>
#include <torch/csrc/utils/device_lazy_init.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/version.h>

#include "csrc/aten/dispatch/fallback.h"
#include "csrc/aten/dispatch/fallback_warning.h"
#include "csrc/profiler/profile_observer.h"
#include "csrc/registration/xla_device.h"
#include "csrc/runtime/errors.h"
#include "csrc/runtime/generator.h"
#include "csrc/runtime/runtime.h"
#include "device/runtime/devices.h"
#include "device/runtime/launch_blocking.h"
#include "device/runtime/timing_only.h"
#include "python_bindings/core_module/signals.h"
#include "python_bindings/torch_module/distributed.h"
#include "python_bindings/torch_module/graphs.h"
#include "python_bindings/torch_module/kernel_launch.h"
#include "python_bindings/torch_module/launches.h"
#include "python_bindings/torch_module/memory.h"

namespace py = pybind11;

namespace neuron_sim {
namespace {

py::object default_generator_object(int device) {
  const at::Device place(kDeviceType, static_cast<c10::DeviceIndex>(checked_device(device)));
  return py::reinterpret_steal<py::object>(
      THPGenerator_initDefaultGenerator(at::globalContext().defaultGenerator(place)));
}

/// The architecture's key figures for get_device_properties.
py::dict device_properties(int device) {
  return translate_errors([&] {
    const Architecture& architecture = device_architecture(checked_device(device));
    py::dict properties;
    properties["architecture"] = architecture.name;
    properties["neuron_core"] = architecture.neuron_core;
    properties["generation"] = architecture.generation;
    properties["total_memory"] = hbm().capacity().count;
    properties["partitions"] = architecture.limits.partitions;
    properties["sbuf_bytes"] =
        architecture.limits.partitions * architecture.limits.sbuf_partition.count;
    properties["psum_bytes"] = architecture.limits.partitions * architecture.limits.psum_banks *
                               architecture.limits.psum_bank.count;
    return properties;
  });
}

/// Occupies the core of `device` for `cycles` of its vector engine, on the current stream.
void sleep_cycles(int device, int64_t cycles) {
  TORCH_CHECK_VALUE(cycles >= 0, "torch.neuron_sim._sleep: 'cycles' is ", cycles,
                    " and must not be negative");
  const Architecture& architecture = device_architecture(checked_device(device));
  const auto duration = architecture.clocks.vector.duration(static_cast<double>(cycles));
  submit(device, Resource::kCore, duration);
}

/// A UserWarning at the line of Python that runs; a filter may make it an exception.
void warn_in_python(const std::string& text) {
  const py::gil_scoped_acquire gil;
  if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) == 0) return;
  python_error error;
  error.persist();
  throw error;
}

/// `observer(configuration, started)` hears of every profile of torch.profiler on the devices.
void observe_profiles(const py::function& observer) {
  auto* const kept = new py::function(observer);  // profiles may end until the process ends
  set_profile_observer([kept](const std::string& configuration, bool started) {
    const py::gil_scoped_acquire locked;
    (*kept)(configuration, started);
  });
}

const char* policy_name(FallbackPolicy policy) {
  switch (policy) {
    case FallbackPolicy::kAllow: return "allow";
    case FallbackPolicy::kWarn: return "warn";
    case FallbackPolicy::kError: return "error";
  }
  return "";
}

/// (op, count, reason, bytes moved) of each.
std::vector<std::tuple<std::string, int64_t, std::string, int64_t>> fallback_facts() {
  std::vector<std::tuple<std::string, int64_t, std::string, int64_t>> facts;
  for (const Fallback& fallback : fallbacks()) {
    facts.emplace_back(fallback.op, fallback.count, fallback.reason, fallback.moved.count);
  }
  return facts;
}

/// An exception of a Python signal handler, for PyTorch to raise again: also where its own
/// bindings lie between the simulator and the program.
class TorchInterruption final : public RaisedBySignal, public python_error {
 public:
  TorchInterruption() {
    const InterpreterLock lock;
    RaisedBySignal::raise();
    persist();
  }
  void raise() override { restore(); }
};

/// c10 errors become the Python classes PyTorch has for them (ValueError, OutOfMemoryError, ...).
void translate_c10_error(std::exception_ptr pointer) {
  try {
    std::rethrow_exception(pointer);
  } catch (Interruption& interruption) {
    interruption.raise();
  } catch (const c10::Error&) {
    torch::translate_exception_to_python(pointer);
  }
}

}  // namespace

PYBIND11_MODULE(_C, m) {
  py::register_local_exception_translator(translate_c10_error);
  set_interruption_check(check_signals<TorchInterruption>);
  m.attr("torch_version") = TORCH_VERSION;
  m.def("initialize", [] {
    torch::utils::register_fork_handler_for_device_init(kDeviceType);
    at::globalContext().lazyInitDevice(kDeviceType);
  });
  m.def("is_in_bad_fork", [] { return torch::utils::is_device_in_bad_fork(kDeviceType); });

  m.def("register_xla_device",
        [] { register_xla_device([] { torch::utils::device_lazy_init(kDeviceType); }); });
  m.def("device_count", &visible_devices);
  m.def("current_device", &current_device);
  m.def("set_device", &set_device);
  m.def("exchange_device", &exchange_device);
  m.def("checked_device", &checked_device);
  m.def("device_properties", &device_properties);
  m.def("default_generator", &default_generator_object);
  m.def("synchronize", &synchronize);
  m.def("simulated_time_ps", [](int device) { return simulated_time(device).count; });

  m.def("sleep_cycles", &sleep_cycles);
  m.def("set_launch_blocking", &set_launch_blocking);

  set_fallback_warning(&warn_in_python);
  m.def("fallbacks", &fallback_facts);
  m.def("host_operators", &host_operators);
  m.def("reset_fallbacks", &reset_fallbacks);
  m.def("fallback_policy", [] { return policy_name(fallback_policy()); });
  m.def("set_fallback_policy",
        [](const std::string& name) { set_fallback_policy(parse_fallback_policy(name)); });
  m.def("timing_only", &timing_only);
  m.def("set_timing_only", &set_timing_only);
  m.def("random_source", [] { return random_source() == RandomSource::kHost ? "host" : "chip"; });
  m.def("set_random_source",
        [](const std::string& name) { set_random_source(parse_random_source(name)); });
  bind_graphs(m);
  bind_launches(m);
  bind_kernel_launch(m);
  bind_distributed(m);
  bind_memory(m);
  m.def("observe_profiles", &observe_profiles);
}

}  // namespace neuron_sim
