# Two packages, one install component for each. Run paths are relative to the file itself: both
# packages and torch lie side by side in site-packages.
#
#   core   neuron_sim/: the module _core, lib/, include/, share/cmake/neuron_sim/
#   torch  neuron_sim_torch/: torch_2_13/ and so on with the library and the module _C for that
#          torch, lib/ with oneDNN, include/

if(NOT TARGET neuron_sim_core)
  return()
endif()

# Writes to `result` the headers that the named ones include, and themselves. Includes are paths
# from the root of the repository, or of the generated headers.
function(neuron_sim_public_headers result)
  set(pending ${ARGN})
  set(headers "")
  while(pending)
    list(POP_FRONT pending header)
    if(header IN_LIST headers OR EXISTS "${generated_headers}/${header}")
      continue()
    endif()
    list(APPEND headers "${header}")
    file(STRINGS "${PROJECT_SOURCE_DIR}/${header}" includes REGEX "^#include \"")
    list(TRANSFORM includes REPLACE "^#include \"([^\"]*)\".*" "\\1")
    list(APPEND pending ${includes})
  endwhile()
  set(${result} ${headers} PARENT_SCOPE)
endfunction()

function(neuron_sim_install_headers package component)
  foreach(header ${ARGN})
    cmake_path(GET header PARENT_PATH folder)
    install(FILES "${PROJECT_SOURCE_DIR}/${header}" COMPONENT ${component}
            DESTINATION ${package}/include/neuron_sim/${folder})
  endforeach()
endfunction()

# What a C++ program without torch uses: programs of every instruction, checked or not, with their
# timeline, on any architecture.
neuron_sim_glob(instruction_headers device/isa/*.h)
list(TRANSFORM instruction_headers REPLACE "^${PROJECT_SOURCE_DIR}/" "")
neuron_sim_public_headers(core_headers
  device/arch/architecture.h device/builder/builder.h device/check/checked_run.h
  device/execute/executor.h device/timeline/timeline.h ops/contract/named_kernel.h
  ${instruction_headers})
neuron_sim_install_headers(neuron_sim core ${core_headers})
install(DIRECTORY "${generated_headers}/" COMPONENT core
        DESTINATION neuron_sim/include/neuron_sim)

install(TARGETS neuron_sim_core LIBRARY DESTINATION neuron_sim/lib COMPONENT core)
if(TARGET _core)
  set_target_properties(_core PROPERTIES INSTALL_RPATH "$ORIGIN/lib")
  install(TARGETS _core LIBRARY DESTINATION neuron_sim COMPONENT core)
  # The types of _core, read off the module itself, which needs no torch. They are the same on all
  # processors: where the module does not run, those that tools/core_stub.py wrote are taken.
  if(CMAKE_CROSSCOMPILING)
    add_custom_target(core_stub DEPENDS _core
      COMMAND "${CMAKE_COMMAND}" -E copy
              "${PROJECT_SOURCE_DIR}/python_bindings/neuron_sim/_core.pyi"
              "${CMAKE_CURRENT_BINARY_DIR}/generated/_core.pyi" VERBATIM)
  else()
    nanobind_add_stub(core_stub MODULE _core
                      OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/generated/_core.pyi"
                      PYTHON_PATH "$<TARGET_FILE_DIR:_core>" DEPENDS _core)
  endif()
  configure_file("${PROJECT_SOURCE_DIR}/cmake/build.py.in"
                 "${CMAKE_CURRENT_BINARY_DIR}/generated/_build.py" @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/generated/_core.pyi"
                "${CMAKE_CURRENT_BINARY_DIR}/generated/_build.py"
          DESTINATION neuron_sim COMPONENT core)
endif()

include(CMakePackageConfigHelpers)
set(package_folder neuron_sim/share/cmake/neuron_sim)
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/neuron_simConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/neuron_simConfigVersion.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/neuron_simConfig.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/neuron_sim_torch.cmake"
        DESTINATION ${package_folder} COMPONENT core)

if(NOT TARGET torch_neuron_sim)
  return()
endif()

# The folder of one torch; neuron_sim_torch/__init__.py and neuron_simConfig.cmake find it by name.
string(REPLACE "." "_" torch_folder_name "torch_${NEURON_SIM_TORCH_SERIES}")
set(torch_layer neuron_sim_torch/${torch_folder_name})
foreach(target torch_neuron_sim _C)
  if(TARGET ${target})
    set_target_properties(${target} PROPERTIES INSTALL_RPATH
      "$ORIGIN:$ORIGIN/../lib:$ORIGIN/../../neuron_sim/lib:$ORIGIN/../../torch/lib")
    install(TARGETS ${target} LIBRARY DESTINATION ${torch_layer} COMPONENT torch)
  endif()
endforeach()
neuron_sim_public_headers(layer_headers csrc/neuron_sim.h)
list(REMOVE_ITEM layer_headers ${core_headers})
neuron_sim_install_headers(neuron_sim_torch torch ${layer_headers})
install(FILES "${PROJECT_SOURCE_DIR}/python_bindings/neuron_sim_torch/__init__.py"
        DESTINATION neuron_sim_torch COMPONENT torch)

if(NOT TARGET DNNL::dnnl)
  return()
endif()

# Under its soname and as a file of its own: a link into the environment would not survive. Its
# symbol table, a fifth of the file, is of no use without its sources.
get_target_property(dnnl_file DNNL::dnnl LOCATION)
install(FILES "${dnnl_file}" DESTINATION neuron_sim_torch/lib RENAME libdnnl.so.3 COMPONENT torch)
install(CODE "execute_process(
  COMMAND \"${CMAKE_STRIP}\" --strip-all
          \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/neuron_sim_torch/lib/libdnnl.so.3\"
  COMMAND_ERROR_IS_FATAL ANY)" COMPONENT torch)
# The licence texts of its wheel, with those of the programs inside it.
install(FILES "${python_prefix}/share/doc/onednn/LICENSE"
              "${python_prefix}/share/doc/onednn/THIRD-PARTY-PROGRAMS"
        DESTINATION neuron_sim_torch/licenses/oneDNN COMPONENT torch)
