# Third-party packages. Everything from pip is found from the active Python's prefix, without
# importing it: importing torch would load our own backend while it is being built.

if(NOT DEFINED Python_EXECUTABLE)
  set(Python_FIND_VIRTUALENV FIRST)
endif()
if(NEURON_SIM_PYTHON)
  find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
else()
  find_package(Python 3.11 REQUIRED COMPONENTS Interpreter)
endif()

# Runs a line of Python and returns what it prints; an empty string when it fails.
function(neuron_sim_ask_python result line)
  execute_process(COMMAND "${Python_EXECUTABLE}" -c "${line}" OUTPUT_VARIABLE answer
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  set(${result} "${answer}" PARENT_SCOPE)
endfunction()

find_package(Threads REQUIRED)
find_package(fmt REQUIRED CONFIG)

# toml++ as headers. Debian's CMake package is not used: it links a shared library, which a wheel
# cannot rely on.
find_path(NEURON_SIM_TOMLPLUSPLUS_INCLUDE toml++/toml.h REQUIRED)
add_library(neuron_sim_tomlplusplus INTERFACE)
target_include_directories(neuron_sim_tomlplusplus SYSTEM
                           INTERFACE "${NEURON_SIM_TOMLPLUSPLUS_INCLUDE}")
target_compile_definitions(neuron_sim_tomlplusplus INTERFACE TOML_HEADER_ONLY=1)

# Runs the references of the torch layer and of core_tests. From the wheel onednn-devel-cpu-gomp,
# which installs into the prefix of the environment; looked up again at each configure, so that
# another environment takes effect. There is no such wheel for arm64.
if(NOT NEURON_SIM_ARM64 AND (NEURON_SIM_TORCH OR NEURON_SIM_TESTS))
  neuron_sim_ask_python(python_prefix "import sys; print(sys.prefix)")
  unset(dnnl_DIR CACHE)
  find_package(dnnl 3.2 CONFIG REQUIRED HINTS "${python_prefix}")
endif()

include(neuron_sim_torch)
if(NEURON_SIM_TORCH)
  # NEURON_SIM_TORCH_FOLDER may name the folder of a torch that is not installed.
  set(torch_folder "${NEURON_SIM_TORCH_FOLDER}")
  if(NOT torch_folder)
    neuron_sim_ask_python(torch_folder
      "import importlib.util, os; print(os.path.dirname(importlib.util.find_spec('torch').origin))")
  endif()
  if(NOT torch_folder)
    message(FATAL_ERROR "${Python_EXECUTABLE} has no torch: run `make setup`, or configure with "
                        "-DNEURON_SIM_TORCH=OFF for the core alone.")
  endif()
  neuron_sim_import_torch("${torch_folder}")
  # Checks inside torch's headers put __FILE__ into our library.
  target_compile_options(neuron_sim::torch INTERFACE "-fmacro-prefix-map=${torch_folder}/=torch/")
endif()

if(NEURON_SIM_PYTHON)
  neuron_sim_ask_python(nanobind_folder "import nanobind; print(nanobind.cmake_dir())")
  if(NOT nanobind_folder)
    message(FATAL_ERROR "${Python_EXECUTABLE} has no nanobind: run `make setup`, or configure with "
                        "-DNEURON_SIM_PYTHON=OFF.")
  endif()
  set(nanobind_DIR "${nanobind_folder}" CACHE INTERNAL "")
  find_package(nanobind CONFIG REQUIRED)
endif()
