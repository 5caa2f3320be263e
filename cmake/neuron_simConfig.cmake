# find_package(neuron_sim): targets of the installed Python package neuron_sim.
#
#   neuron_sim::core        the simulator without torch
#   neuron_sim::neuron_sim  the PyTorch backend; links the torch next to it. A program linked to it
#                           loads the backend even when it calls none of its functions.

get_filename_component(neuron_sim_PACKAGE "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
get_filename_component(neuron_sim_SITE "${neuron_sim_PACKAGE}" DIRECTORY)

include(CMakeFindDependencyMacro)
find_dependency(Threads)

if(NOT TARGET neuron_sim::core)
  add_library(neuron_sim::core SHARED IMPORTED)
  set_target_properties(neuron_sim::core PROPERTIES
    IMPORTED_LOCATION "${neuron_sim_PACKAGE}/lib/libneuron_sim_core.so"
    IMPORTED_SONAME libneuron_sim_core.so)
  target_include_directories(neuron_sim::core INTERFACE
    "${neuron_sim_PACKAGE}/include" "${neuron_sim_PACKAGE}/include/neuron_sim")
  target_compile_features(neuron_sim::core INTERFACE cxx_std_20)
  target_link_libraries(neuron_sim::core INTERFACE Threads::Threads)
endif()

set(neuron_sim_LAYER "${neuron_sim_SITE}/neuron_sim_torch")
if(EXISTS "${neuron_sim_LAYER}" AND NOT TARGET neuron_sim::neuron_sim)
  if(NOT EXISTS "${neuron_sim_SITE}/torch/version.py")
    set(neuron_sim_FOUND FALSE)
    set(neuron_sim_NOT_FOUND_MESSAGE "no torch in ${neuron_sim_SITE}, next to neuron_sim_torch")
    return()
  endif()
  include("${CMAKE_CURRENT_LIST_DIR}/neuron_sim_torch.cmake")
  neuron_sim_import_torch("${neuron_sim_SITE}/torch")
  string(REPLACE "." "_" neuron_sim_FOLDER "torch_${NEURON_SIM_TORCH_SERIES}")
  set(neuron_sim_LIBRARY "${neuron_sim_LAYER}/${neuron_sim_FOLDER}/libtorch_neuron_sim.so")
  if(NOT EXISTS "${neuron_sim_LIBRARY}")
    set(neuron_sim_FOUND FALSE)
    set(neuron_sim_NOT_FOUND_MESSAGE "neuron_sim_torch has no library for torch ${Torch_VERSION}")
    return()
  endif()
  # A find_package(Torch) that follows finds the same torch.
  list(APPEND CMAKE_PREFIX_PATH "${neuron_sim_SITE}/torch")

  add_library(neuron_sim::neuron_sim SHARED IMPORTED)
  set_target_properties(neuron_sim::neuron_sim PROPERTIES
    IMPORTED_LOCATION "${neuron_sim_LIBRARY}"
    IMPORTED_SONAME libtorch_neuron_sim.so)
  target_include_directories(neuron_sim::neuron_sim INTERFACE
    "${neuron_sim_LAYER}/include" "${neuron_sim_LAYER}/include/neuron_sim")
  target_link_libraries(neuron_sim::neuron_sim INTERFACE neuron_sim::core neuron_sim::torch)
  target_link_options(neuron_sim::neuron_sim INTERFACE LINKER:--no-as-needed)
endif()
