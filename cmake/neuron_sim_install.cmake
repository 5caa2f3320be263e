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

# Under its soname and as a file of its own: a link into the environment would not survive. Its
# symbol table, a fifth of the file, is of no use without its sources.
get_target_property(dnnl_file DNNL::dnnl LOCATION)
install(FILES "${dnnl_file}" DESTINATION neuron_sim/lib RENAME libdnnl.so.3)
install(CODE "execute_process(
  COMMAND \"${CMAKE_STRIP}\" --strip-all
          \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/neuron_sim/lib/libdnnl.so.3\"
  COMMAND_ERROR_IS_FATAL ANY)")
# The licence texts of its wheel, with those of the programs inside it.
install(FILES "${python_prefix}/share/doc/onednn/LICENSE"
              "${python_prefix}/share/doc/onednn/THIRD-PARTY-PROGRAMS"
        DESTINATION neuron_sim/licenses/oneDNN)

foreach(module _core _C)
  if(TARGET ${module})
    set_target_properties(${module} PROPERTIES
      INSTALL_RPATH "$ORIGIN:$ORIGIN/lib:$ORIGIN/../torch/lib")
    install(TARGETS ${module} LIBRARY DESTINATION neuron_sim)
  endif()
endforeach()

# The types of _core, read off the module itself, which needs no torch.
if(TARGET _core)
  nanobind_add_stub(core_stub MODULE _core OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/generated/_core.pyi"
                    PYTHON_PATH "$<TARGET_FILE_DIR:_core>" DEPENDS _core)
  # The versions that Python asks for, stated in CMakeLists.txt and neuron_sim_torch.cmake.
  configure_file("${PROJECT_SOURCE_DIR}/cmake/build.py.in"
                 "${CMAKE_CURRENT_BINARY_DIR}/generated/_build.py" @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/generated/_core.pyi"
                "${CMAKE_CURRENT_BINARY_DIR}/generated/_build.py"
          DESTINATION neuron_sim)
endif()

# Headers include each other by their paths from the repository root, which is include/neuron_sim.
foreach(folder device ops csrc)
  if(IS_DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}")
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}" DESTINATION neuron_sim/include/neuron_sim
            FILES_MATCHING PATTERN "*.h")
  endif()
endforeach()
install(DIRECTORY "${generated_headers}/" DESTINATION neuron_sim/include/neuron_sim)

include(CMakePackageConfigHelpers)
set(package_folder neuron_sim/share/cmake/neuron_sim)
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/neuron_simConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/neuron_simConfigVersion.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/neuron_simConfig.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/neuron_sim_torch.cmake"
        DESTINATION ${package_folder})
