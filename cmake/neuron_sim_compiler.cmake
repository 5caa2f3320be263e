# How every C++ file of the project is compiled.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG")
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug or Release" FORCE)
endif()

find_program(NEURON_SIM_CCACHE ccache)
if(NEURON_SIM_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  # Precompiled headers are cached only if macros and time stamps in them may be ignored.
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros "${NEURON_SIM_CCACHE}")
endif()

# Flags of our own targets only; imported targets never inherit them. No -march: the library runs
# on any x86-64 (device/isa/tensor/product_kernel.h and oneDNN choose instruction sets at run time).
# Contraction is off and fast-math is absent because simulated bytes must not depend on what the
# compiler fuses.
add_library(neuron_sim_flags INTERFACE)
# Without traps and errno, loops over roots and clamps vectorise; their values stay the same.
# __FILE__ is the path from the repository root, so that no machine's paths end up in a library.
target_compile_options(neuron_sim_flags INTERFACE
  -Wall -Wextra -ffp-contract=off -fno-trapping-math -fno-math-errno
  "-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=")

if(NEURON_SIM_SANITIZE)
  set(flags "-fsanitize=${NEURON_SIM_SANITIZE}" -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_options(neuron_sim_flags INTERFACE ${flags} -g1)
  target_link_options(neuron_sim_flags INTERFACE ${flags})
endif()

# Globs sources of a folder, so that a new file is picked up by the next build.
function(neuron_sim_glob result)
  set(patterns ${ARGN})
  list(TRANSFORM patterns PREPEND "${PROJECT_SOURCE_DIR}/")
  file(GLOB_RECURSE found CONFIGURE_DEPENDS ${patterns})
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# Compiles sources of a target four at a time, files of one folder together: they instantiate the
# same templates of the standard library and of libtorch, which takes half to two thirds of the time
# of a single file. More at a time would make the next build after a change to one file slow.
# Sources that define an instruction or an operator are compiled alone, as each states the same
# names (kName, kOp, kOperands, check, ...) in its anonymous namespace.
option(NEURON_SIM_UNITY "Compile several files at a time" ON)
function(neuron_sim_unity_groups target)
  if(NOT NEURON_SIM_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(source ${ARGN})
    file(STRINGS "${source}" definition LIMIT_COUNT 1
         REGEX "^constexpr std::string_view k(Name|Op) =")
    if(definition OR source MATCHES "/device/isa/|/csrc/aten/pointwise/")
      continue()
    endif()
    cmake_path(GET source PARENT_PATH folder)
    string(MD5 key "${folder}")
    if(NOT DEFINED count_${key})
      set(count_${key} 0)
    endif()
    math(EXPR group "${count_${key}} / 4")
    math(EXPR count_${key} "${count_${key}} + 1")
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY "${PROJECT_SOURCE_DIR}")
    string(REPLACE "/" "_" name "${folder}_${group}")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${name})
  endforeach()
endfunction()
