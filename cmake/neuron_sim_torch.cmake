# Defines neuron_sim::torch from the folder of an installed torch package. Used by our build and
# installed with the package. Torch's own TorchConfig.cmake is not used: with a CUDA wheel it
# demands a CUDA toolkit, which a CPU-side backend does not need.

# The minor versions of torch that neuron_sim builds for. It uses interfaces that change between
# them, so a build serves only the one that it was made with.
set(NEURON_SIM_TORCH_VERSIONS 2.13 2.14 2.15)

function(neuron_sim_import_torch folder)
  file(STRINGS "${folder}/version.py" line REGEX "^__version__" LIMIT_COUNT 1)
  string(REGEX MATCH "([0-9]+\\.[0-9]+)\\.[0-9]+" version "${line}")
  set(series "${CMAKE_MATCH_1}")
  if(NOT series IN_LIST NEURON_SIM_TORCH_VERSIONS)
    list(JOIN NEURON_SIM_TORCH_VERSIONS " or " versions)
    message(FATAL_ERROR "neuron_sim needs torch ${versions}, but ${folder} holds torch ${version}.")
  endif()
  set(Torch_VERSION "${version}" PARENT_SCOPE)
  set(NEURON_SIM_TORCH_SERIES "${series}" PARENT_SCOPE)
  set(NEURON_SIM_TORCH_FOLDER "${folder}" PARENT_SCOPE)
  if(TARGET neuron_sim::torch)
    return()
  endif()
  add_library(neuron_sim::torch INTERFACE IMPORTED)
  foreach(library torch torch_cpu c10)
    add_library(neuron_sim::${library}_library SHARED IMPORTED)
    set_target_properties(neuron_sim::${library}_library PROPERTIES
      IMPORTED_LOCATION "${folder}/lib/lib${library}.so" IMPORTED_SONAME "lib${library}.so")
    target_link_libraries(neuron_sim::torch INTERFACE neuron_sim::${library}_library)
  endforeach()
  target_include_directories(neuron_sim::torch SYSTEM INTERFACE
    "${folder}/include" "${folder}/include/torch/csrc/api/include")
endfunction()
