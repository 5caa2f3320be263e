// The module neuron_sim._core: the NeuronCore model without torch, for NumPy.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "device/arch/architecture.h"
#include "device/arch/fact_groups.h"
#include "device/arch/fields.h"
#include "device/base/errors.h"
#include "device/base/memory_reserve.h"
#include "device/base/settings.h"
#include "device/instruction/instruction_type.h"
#include "device/isa/tensor/product_rate.h"
#include "device/numerics/dtype.h"
#include "device/numerics/packed.h"
#include "device/runtime/host_clock.h"
#include "python_bindings/core_module/entry.h"
#include "python_bindings/core_module/instructions/bindings.h"
#include "python_bindings/core_module/instructions/instruction_methods.h"
#include "python_bindings/core_module/instructions/instruction_table.h"
#include "python_bindings/core_module/program/bindings.h"
#include "python_bindings/core_module/program/build_kernel.h"
#include "python_bindings/core_module/program/facts.h"
#include "python_bindings/core_module/program/program_timing.h"
#include "python_bindings/core_module/signals.h"
#include "python_bindings/core_module/tracing/objects.h"

namespace nb = nanobind;

namespace neuron_sim {
namespace {

void translate(const std::exception_ptr& error, void*) {
  try {
    std::rethrow_exception(error);
  } catch (const KernelError& kernel_error) {
    PyObject* type = PyExc_ValueError;
    switch (kernel_error.kind()) {
      case ErrorKind::kValue: break;
      case ErrorKind::kType: type = PyExc_TypeError; break;
      case ErrorKind::kIndex: type = PyExc_IndexError; break;
      case ErrorKind::kOutOfMemory: type = PyExc_MemoryError; break;
      case ErrorKind::kNotImplemented: type = PyExc_NotImplementedError; break;
      case ErrorKind::kRuntime: type = PyExc_RuntimeError; break;
    }
    PyErr_SetString(type, kernel_error.what());
  } catch (Interruption& interruption) {
    interruption.raise();
  } catch (const std::bad_alloc&) {
    PyErr_SetString(PyExc_MemoryError, "the host is out of memory.");
  }
}

nb::object elementwise_instructions() {
  nb::set names;
  for (const InstructionType* type : instruction_list()) {
    if (type->is_elementwise) names.add(nb::str(type->name.data(), type->name.size()));
  }
  return nb::steal(PyFrozenSet_New(names.ptr()));
}

nb::dict architecture_facts(const std::string& name_or_path) {
  return facts_of(load_architecture(name_or_path));
}

nb::dict fact_group_names() {
  nb::dict result;
  for (const FactGroup& group : fact_groups()) {
    result[nb::cast(group.name)] = nb::cast(group.keys);
  }
  return result;
}

nb::list architecture_file_keys() {
  nb::list result;
  for (const Field& field : file_fields()) {
    nb::dict entry;
    entry["key"] = field.key;
    entry["unit"] = field.unit;
    entry["form"] = field.form == Form::kBoolean   ? "boolean"
                    : field.form == Form::kInteger ? "integer"
                                                   : "number";
    entry["least"] = field.range.least;
    entry["most"] = field.range.most;
    result.append(entry);
  }
  return result;
}

using FloatArray = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// Rounds values through elements that hold four each; the last one is padded with zeros.
void round_packed(const FloatArray& values, Dtype dtype, float* result) {
  const auto elements = static_cast<int64_t>((values.size() + kPackedValues - 1) / kPackedValues);
  std::vector<float> padded(static_cast<size_t>(elements * kPackedValues));
  std::copy_n(values.data(), values.size(), padded.data());
  std::vector<std::byte> stored(static_cast<size_t>(elements * itemsize(dtype)));
  store_packed(padded.data(), stored.data(), dtype, itemsize(dtype), elements);
  load_packed(stored.data(), dtype, itemsize(dtype), padded.data(), elements);
  std::copy_n(padded.data(), values.size(), result);
}

nb::object rounded(const FloatArray& values, const std::string& dtype_name) {
  const Dtype dtype = dtype_of_name(dtype_name);
  const auto count = static_cast<int64_t>(values.size());
  auto* result = new float[static_cast<size_t>(std::max<int64_t>(count, 1))];
  const nb::capsule owner(result, [](void* data) noexcept { delete[] static_cast<float*>(data); });
  if (is_packed(dtype)) {
    round_packed(values, dtype, result);
  } else {
    std::vector<std::byte> stored(static_cast<size_t>(count * itemsize(dtype)));
    store_floats(values.data(), stored.data(), dtype, itemsize(dtype), count);
    load_floats(stored.data(), dtype, itemsize(dtype), result, count);
  }
  return nb::cast(nb::ndarray<nb::numpy, float>(result, {values.size()}, owner));
}

/// Options as Python writes them: text, or whole numbers.
KernelOptions written(const nb::dict& options) {
  KernelOptions result;
  for (const auto& [key, value] : options) {
    std::string name;
    if (!nb::try_cast(key, name)) fail("options: a name is not a str.", ErrorKind::kType);
    const bool number = PyLong_Check(value.ptr()) != 0 && PyBool_Check(value.ptr()) == 0;
    if (!number && PyUnicode_Check(value.ptr()) == 0) {
      fail(text("options: '", name, "' is ", nb::repr(value).c_str(), ", not an int or a str."),
           ErrorKind::kType);
    }
    result[name] = nb::str(value).c_str();
  }
  return result;
}

/// build_kernel, while other Python threads run.
std::shared_ptr<const Program> built(const std::string& kernel,
                                     const std::vector<std::vector<int64_t>>& shapes,
                                     const std::string& dtype, const std::string& architecture,
                                     const nb::dict& options) {
  const KernelOptions texts = written(options);
  const nb::gil_scoped_release unlocked;
  return build_kernel(kernel, shapes, dtype, architecture, texts);
}

nb::dict time_kernel(const std::string& kernel, const std::vector<std::vector<int64_t>>& shapes,
                     const std::string& dtype, const std::string& architecture,
                     const nb::dict& options) {
  return program_timing_with_overlaps(*built(kernel, shapes, dtype, architecture, options));
}

nb::list settings_table() {
  nb::list rows;
  for (const Setting& each : settings()) {
    rows.append(nb::make_tuple(each.name, each.values, each.meaning));
  }
  return rows;
}

std::vector<std::string> instructions() {
  std::vector<std::string> result;
  for (const InstructionType* type : instruction_list()) result.emplace_back(type->name);
  return result;
}

}  // namespace

PyObject* tracing::raised() noexcept {
  try {
    throw;
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const tracing::IndexOverflow& error) {
    PyErr_SetString(PyExc_OverflowError, error.what());
  } catch (const tracing::LoopsNeeded& needed) {
    tracing::unroll(needed);
  } catch (const std::bad_cast&) {
    PyErr_SetString(PyExc_TypeError, "an argument is of a type that the simulator does not take.");
  } catch (...) {
    try {
      translate(std::current_exception(), nullptr);
    } catch (const std::exception& error) {
      PyErr_SetString(PyExc_RuntimeError, error.what());
    }
  }
  return nullptr;
}

}  // namespace neuron_sim

NB_MODULE(_core, m) {
  using namespace neuron_sim;
  nb::register_exception_translator(translate);
  set_default_interruption_check(check_signals<RaisedBySignal>);
  install_memory_reserve();
  m.doc() = "The NeuronCore model without torch.";
  bind_views(m);
  bind_program(m);
  bind_builder(m);
  bind_eager_run(m);
  bind_passes(m);
  bind_traced_objects(m);
  tracing::bind_entry(m);
  m.def("architectures", &builtin_architectures, "Names of the built-in architectures.");
  m.attr("DEFAULT_ARCHITECTURE") = kDefaultArchitecture;
  m.def(
      "environment_architecture", &environment_architecture,
      "The name or file that NEURON_SIM_ARCH, else NEURON_PLATFORM_TARGET_OVERRIDE names; '' when "
      "neither does.");
  m.def("without_alias", &without_alias, nb::arg("name"),
        "The name that one of the vendor's other names stands for (gen2: trn1); others unchanged.");
  m.def("architecture_facts", &architecture_facts, nb::arg("name_or_path"),
        "Every value of an architecture: key -> {value, unit, source, certainty}.");
  m.def("fact_groups", &fact_group_names,
        "Names that an architecture file has for several facts: name -> keys.");
  m.attr("CERTAINTIES") =
      nb::cast(std::vector<std::string_view>(kCertainties.begin(), kCertainties.end()));
  m.def("architecture_file_keys", &architecture_file_keys,
        "The facts that an architecture file may state: {key, unit, form, least, most} of each.");
  m.def("settings", &settings_table, "(name, values, meaning) of all environment variables.");
  m.def(
      "setting",
      [](std::string_view name) {
        const std::string value = setting(name);  // may be a path of any bytes
        return nb::steal<nb::str>(
            PyUnicode_DecodeFSDefaultAndSize(value.data(), static_cast<Py_ssize_t>(value.size())));
      },
      nb::arg("name"),
      "What the environment says of one of settings(), now; '' when it says nothing.");
  m.def(
      "host_time_ps", [] { return host_clock().now().count; },
      "Simulated picoseconds that the program has waited for devices, or spent.");
  m.def(
      "spend_host_time", [](int64_t ps) { spend_host_time({ps}); }, nb::arg("picoseconds"),
      "The program works for that long in simulated time.");
  m.def(
      "set_submission_cost", [](int64_t ps) { set_submission_cost({ps}); }, nb::arg("picoseconds"),
      "The program works for that long before each task that it submits to a device.");
  m.def(
      "product_kernels",
      [] {
        const nb::gil_scoped_release released;
        std::vector<std::tuple<std::string_view, bool, double, double>> rows;
        for (const ProductKernel* kernel : product_kernels_of_host()) {
          rows.emplace_back(kernel->name, kernel == &product_kernel(), product_rate(*kernel, false),
                            product_rate(*kernel, true));
        }
        return rows;
      },
      "(name, whether this process uses it, GFLOP/s in fp32 and of values of bf16, measured now on "
      "one thread) of the host's kernels of products.");
  m.def("instructions", &instructions, "Names of all instructions, in the order of the list.");
  m.def("elementwise_instructions", &elementwise_instructions,
        "Names of the instructions that may be emitted for parts of their operands, as a set.");
  m.def("instruction_table", &instruction_table, nb::arg("architecture") = kDefaultArchitecture,
        "Operands, attributes and default engine of all instructions.");
  m.def("instruction_parameters", &instruction_parameters,
        "instruction -> ((parameter, whether it is required, default), ...) of Builder's methods.");
  m.def("compile_time_queries", &compile_time_query_values,
        nb::arg("architecture") = kDefaultArchitecture,
        "Names and values of the queries that are answered at compile time.");
  m.def("rounded", &rounded, nb::arg("values"), nb::arg("dtype"),
        "fp32 values [N] after one rounding to `dtype` and back. Other arrays become fp32 first.");
  m.def("kernels", &kernel_names, "Names that time_kernel and build_kernel know.");
  const char* arguments =
      "shapes: of the inputs, in order; dtype of all of them; architecture: a name or a TOML file; "
      "options: of the kernel, by name, each an int or a str.";
  m.def("time_kernel", &time_kernel, nb::arg("kernel"), nb::arg("shapes"),
        nb::arg("dtype") = "float32", nb::arg("architecture") = kDefaultArchitecture,
        nb::arg("options") = nb::dict(), arguments);
  m.def("build_kernel", &built, nb::arg("kernel"), nb::arg("shapes"), nb::arg("dtype") = "float32",
        nb::arg("architecture") = kDefaultArchitecture, nb::arg("options") = nb::dict(), arguments);
}
