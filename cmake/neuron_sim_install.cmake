# Layout inside the wheel, below neuron_sim/: the modules, lib/, include/, share/cmake/neuron_sim/.
# Run paths are relative to the file itself; torch lies next to neuron_sim in site-packages.

if(NOT TARGET neuron_sim_core)
  return()
endif()

set(installed_libraries neuron_sim_core)
if(TARGET torch_neuron_sim)
  list(APPEND installed_libraries torch_neuron_sim)
endif()
set_target_properties(${installed_libraries} PROPERTIES
  INSTALL_RPATH "$ORIGIN:$ORIGIN/../../torch/lib")
install(TARGETS ${installed_libraries} LIBRARY DESTINATION neuron_sim/lib)

# Under its soname and as a file of its own: a link into the environment would not survive.
get_target_property(dnnl_file DNNL::dnnl LOCATION)
install(FILES "${dnnl_file}" DESTINATION neuron_sim/lib RENAME libdnnl.so.3)

foreach(module _core _C)
  if(TARGET ${module})
    set_target_properties(${module} PROPERTIES
      INSTALL_RPATH "$ORIGIN:$ORIGIN/lib:$ORIGIN/../torch/lib")
    install(TARGETS ${module} LIBRARY DESTINATION neuron_sim)
  endif()
endforeach()

foreach(folder device ops csrc)
  if(IS_DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}")
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}" DESTINATION neuron_sim/include
            FILES_MATCHING PATTERN "*.h")
  endif()
endforeach()

include(CMakePackageConfigHelpers)
set(package_folder neuron_sim/share/cmake/neuron_sim)
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/neuron_simConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/neuron_simConfigVersion.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/neuron_simConfig.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/neuron_sim_torch.cmake"
        DESTINATION ${package_folder})
