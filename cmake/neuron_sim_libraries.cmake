# libneuron_sim_core.so (device + ops, no torch, no oneDNN), neuron_sim_reference (CPU references of
# ops, by oneDNN) and libtorch_neuron_sim.so (csrc).

neuron_sim_glob(architecture_files device/arch/*.toml)
neuron_sim_glob(core_sources device/*.cpp ops/*.cpp)
neuron_sim_glob(reference_sources ops/reference/*.cpp)
list(REMOVE_ITEM core_sources ${reference_sources})
# What is named after an instruction set is for its kind of processor.
if(NEURON_SIM_ARM64)
  list(FILTER core_sources EXCLUDE REGEX "_(amx|avx2|avx512)\\.cpp$")
  list(FILTER reference_sources EXCLUDE REGEX "/primitives\\.cpp$")
else()
  list(FILTER core_sources EXCLUDE REGEX "_neon\\.cpp$")
  list(FILTER reference_sources EXCLUDE REGEX "/primitives_plain\\.cpp$")
endif()

if(core_sources)
  # The architecture files become string constants (device/arch/embedded.h).
  set(embedded "${CMAKE_CURRENT_BINARY_DIR}/generated/embedded_architectures.cpp")
  add_custom_command(
    OUTPUT "${embedded}"
    COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${embedded}" "-DARCHITECTURE_FILES=${architecture_files}"
            -P "${PROJECT_SOURCE_DIR}/cmake/embed_architectures.cmake"
    DEPENDS ${architecture_files} "${PROJECT_SOURCE_DIR}/cmake/embed_architectures.cmake"
    COMMENT "Embedding the architecture files" VERBATIM)

  set(planning_sources ${core_sources})
  list(FILTER planning_sources INCLUDE REGEX
       "/(ops|device/(analysis|arch|check|compiler|observe))/")
  list(REMOVE_ITEM core_sources ${planning_sources})
  add_library(neuron_sim_planning OBJECT ${planning_sources})
  target_compile_options(neuron_sim_planning PRIVATE ${NEURON_SIM_LOW_OPTIMIZATION})

  add_library(neuron_sim_core SHARED
    ${core_sources} "${embedded}" $<TARGET_OBJECTS:neuron_sim_planning>)
  target_include_directories(neuron_sim_core PUBLIC "${PROJECT_SOURCE_DIR}")
  foreach(target neuron_sim_planning neuron_sim_core)
    # The timeline and the executor go through many small functions, millions of times per second:
    # none of them is to be replaced when the library is loaded, so that the compiler may inline
    # them.
    target_compile_options(${target} PRIVATE -fno-semantic-interposition)
    target_precompile_headers(${target} PRIVATE
      <algorithm> <array> <cmath> <functional> <map> <memory> <optional> <set> <span> <string>
      <string_view> <unordered_map> <utility> <vector>)
    target_link_libraries(${target}
      PRIVATE neuron_sim_flags fmt::fmt-header-only neuron_sim_tomlplusplus)
  endforeach()
  target_include_directories(neuron_sim_planning PRIVATE "${PROJECT_SOURCE_DIR}")
  neuron_sim_unity_groups(neuron_sim_planning 16 ${planning_sources})
  neuron_sim_unity_groups(neuron_sim_core 12 ${core_sources})
  target_link_libraries(neuron_sim_core PUBLIC Threads::Threads)
  if(NEURON_SIM_SANITIZE)
    # It leaves the run-time's symbols to the program, but calls its own inline functions, not those
    # of a program that is not sanitized (tools/test_sanitized.sh --library).
    target_link_options(neuron_sim_core PRIVATE LINKER:-Bsymbolic-functions)
  else()
    target_link_options(neuron_sim_core PRIVATE LINKER:-z,defs)
  endif()
endif()

# Part of the torch layer and of core_tests, so that the core needs no oneDNN.
if(NEURON_SIM_TORCH OR NEURON_SIM_TESTS)
  add_library(neuron_sim_reference STATIC ${reference_sources})
  target_link_libraries(neuron_sim_reference
    PUBLIC neuron_sim_core
    PRIVATE neuron_sim_flags $<TARGET_NAME_IF_EXISTS:DNNL::dnnl>)
endif()

neuron_sim_glob(torch_sources csrc/*.cpp)

if(NEURON_SIM_TORCH AND TARGET neuron_sim_core AND torch_sources)
  add_library(torch_neuron_sim SHARED ${torch_sources})
  target_link_libraries(torch_neuron_sim
    PUBLIC neuron_sim_core neuron_sim::torch
    PRIVATE neuron_sim_flags neuron_sim_reference)
  # Headers of torch then include the operators that they call, not all two thousand.
  target_compile_definitions(torch_neuron_sim PUBLIC AT_PER_OPERATOR_HEADERS)
  # Headers of libtorch take three quarters of the time that a file of csrc/ takes to compile. Other
  # targets reuse them as they are precompiled here, so with no macro of this target's own.
  set_target_properties(torch_neuron_sim PROPERTIES DEFINE_SYMBOL "")
  target_precompile_headers(torch_neuron_sim PRIVATE
    <ATen/TensorOperators.h> <ATen/WrapDimUtils.h> <ATen/core/dispatch/Dispatcher.h>
    <ATen/native/Resize.h> <ATen/ops/empty.h> <c10/core/DeviceGuard.h> <torch/library.h>
    <algorithm> <array> <functional> <map> <string> <vector>)
  target_compile_options(torch_neuron_sim PRIVATE ${NEURON_SIM_LOW_OPTIMIZATION})
  # A file with a custom op's program takes as long as two others.
  set(custom_op_sources ${torch_sources})
  list(FILTER custom_op_sources INCLUDE REGEX "/csrc/custom_ops/")
  list(REMOVE_ITEM torch_sources ${custom_op_sources})
  neuron_sim_unity_groups(torch_neuron_sim 6 ${custom_op_sources})
  neuron_sim_unity_groups(torch_neuron_sim 16 ${torch_sources})
  # A header of torch's profiler includes those of Kineto by their bare names.
  get_target_property(folders neuron_sim::torch INTERFACE_INCLUDE_DIRECTORIES)
  list(TRANSFORM folders APPEND /kineto)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/csrc/profiler/profiler_registration.cpp
    PROPERTIES INCLUDE_DIRECTORIES "${folders}" SKIP_PRECOMPILE_HEADERS ON)
  target_link_options(torch_neuron_sim PRIVATE LINKER:-z,defs)
endif()
