# One executable per file in models/cpp and in benchmarks.

# Registering a backend happens when its library is loaded; a program that calls none of its
# functions must load it all the same.
function(neuron_sim_link_backend target)
  target_link_libraries(${target} PRIVATE neuron_sim_flags torch_neuron_sim)
  target_link_options(${target} PRIVATE LINKER:--no-as-needed)
  # The headers that are precompiled for the library, whose position-independent code they are.
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${target} PRIVATE -fPIC)
  target_compile_options(${target} PRIVATE ${NEURON_SIM_LOW_OPTIMIZATION})
  target_precompile_headers(${target} REUSE_FROM torch_neuron_sim)
endfunction()

if(NEURON_SIM_MODELS AND TARGET torch_neuron_sim)
  neuron_sim_glob(model_sources models/cpp/*.cpp)
  foreach(source IN LISTS model_sources)
    cmake_path(GET source STEM name)
    add_executable(model_${name} "${source}")
    neuron_sim_link_backend(model_${name})
    set_target_properties(model_${name} PROPERTIES
      OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/models")
    # tests/python/package/test_cpp_programs.py builds this one from models/consumer, as users do;
    # here it is built only by name (a minute).
    if(name STREQUAL "training_loop")
      set_target_properties(model_${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
  endforeach()
endif()

if(NEURON_SIM_BENCHMARKS AND TARGET neuron_sim_core)
  neuron_sim_glob(benchmark_sources benchmarks/*.cpp)
  foreach(source IN LISTS benchmark_sources)
    cmake_path(GET source STEM name)
    add_executable(benchmark_${name} "${source}")
    target_link_libraries(benchmark_${name} PRIVATE neuron_sim_flags neuron_sim_core)
    set_target_properties(benchmark_${name} PROPERTIES
      OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/benchmarks")
  endforeach()
endif()
