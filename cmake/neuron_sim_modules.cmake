# The two extension modules of the Python package.

# _core: nanobind over the core; no torch.
neuron_sim_glob(core_module_sources python_bindings/core_module/*.cpp)
if(NEURON_SIM_PYTHON AND TARGET neuron_sim_core AND core_module_sources)
  nanobind_add_module(_core NOMINSIZE ${core_module_sources})
  # Its twelve sources as one, which nanobind has for builds without CMake.
  get_target_property(nanobind _core LINK_LIBRARIES)
  list(FILTER nanobind INCLUDE REGEX "^nanobind")
  set_target_properties(${nanobind} PROPERTIES SOURCES "${NB_DIR}/src/nb_combined.cpp")
  target_precompile_headers(_core PRIVATE
    <nanobind/nanobind.h> <nanobind/stl/string.h> <nanobind/stl/vector.h>
    <algorithm> <array> <functional> <map> <optional> <span> <string> <string_view> <vector>)
  neuron_sim_unity_groups(_core 8 ${core_module_sources})
  target_link_libraries(_core PRIVATE neuron_sim_flags neuron_sim_core)
endif()

# _C: the pybind11 that torch ships, so that both share one registry of types.
neuron_sim_glob(torch_module_sources python_bindings/torch_module/*.cpp)
if(NEURON_SIM_PYTHON AND TARGET torch_neuron_sim AND torch_module_sources)
  Python_add_library(_C MODULE WITH_SOABI ${torch_module_sources})
  target_compile_definitions(_C PRIVATE TORCH_EXTENSION_NAME=_C)
  target_compile_options(_C PRIVATE ${NEURON_SIM_LOW_OPTIMIZATION})
  target_precompile_headers(_C REUSE_FROM torch_neuron_sim)
  neuron_sim_unity_groups(_C 8 ${torch_module_sources})
  if(SKBUILD_SOABI)  # of a Python that does not run here, too
    set_target_properties(_C PROPERTIES SUFFIX ".${SKBUILD_SOABI}.so")
  endif()
  target_link_libraries(_C PRIVATE neuron_sim_flags torch_neuron_sim
                                   "${NEURON_SIM_TORCH_FOLDER}/lib/libtorch_python.so")
endif()
