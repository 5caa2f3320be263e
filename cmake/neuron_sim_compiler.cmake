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
# on any x86-64 or arm64 host (device/isa/tensor/product_kernel.h and oneDNN choose instruction sets
# at run time).
# Contraction is off and fast-math is absent because simulated bytes must not depend on what the
# compiler fuses.
add_library(neuron_sim_flags INTERFACE)
# Without traps and errno, loops over roots and clamps vectorise; their values stay the same.
# __FILE__ is the path from the repository root, so that no machine's paths end up in a library.
target_compile_options(neuron_sim_flags INTERFACE
  -Wall -Wextra -ffp-contract=off -fno-trapping-math -fno-math-errno
  "-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=")
# Otherwise char is unsigned there.
string(REGEX MATCH "aarch64|arm64" NEURON_SIM_ARM64 "${CMAKE_SYSTEM_PROCESSOR}")
if(NEURON_SIM_ARM64)
  target_compile_options(neuron_sim_flags INTERFACE -fsigned-char)
endif()
# GCC looks for garbage from 128 MB on, which a file that includes libtorch passes at once: a tenth
# of the time is saved, and hardly a megabyte more is used at the end.
target_compile_options(neuron_sim_flags INTERFACE
  $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=524288>)

# For code that runs once per call, kernel or program, not once per element, and for the passes of
# the compiler: with -O3 it takes half as long again to compile, and no user waits less. A
# precompiled header serves one level of optimisation only: GCC 12 fails at another.
set(NEURON_SIM_LOW_OPTIMIZATION $<$<CONFIG:Release>:-O1>)

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

# Compiles up to `size` sources of a target at a time, files of one room together: they instantiate
# the same templates of the standard library and of libtorch, which takes half to two thirds of the
# time of a single file, and those of a precompiled header even where nothing uses them. More at a
# time would make the next build after a change to one file slow. No two files of a group define the
# same name at the outermost level, as the files of instructions do (kName, check, run, ...).
option(NEURON_SIM_UNITY "Compile several files at a time" ON)
function(neuron_sim_unity_groups target size)
  if(NOT NEURON_SIM_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  set(folders "")
  foreach(source ${ARGN})
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY "${PROJECT_SOURCE_DIR}")
    # Tests define types of short names, so that those of one folder only go together.
    string(REGEX REPLACE
           "^(csrc/custom_ops|csrc/distributed|csrc|(device|ops|python_bindings)/[^/]+)/.*" "\\1"
           folder "${folder}/")
    string(REPLACE "/" "_" folder "${folder}")
    list(APPEND folders ${folder})
    list(APPEND sources_${folder} "${source}")
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder ${folders})
    list(LENGTH sources_${folder} count)
    math(EXPR groups "(${count} + ${size} - 1) / ${size}")
    math(EXPR most "(${count} + ${groups} - 1) / ${groups}")
    foreach(source ${sources_${folder}})
      neuron_sim_join_group(${folder} ${most} "${source}")
    endforeach()
  endforeach()
endfunction()

# Puts a source into the first group of the folder that has fewer than `most` and no name of it.
macro(neuron_sim_join_group folder most source)
  file(STRINGS "${source}" names REGEX "^[a-zA-Z].*[({=;]")
  list(FILTER names EXCLUDE REGEX "^(namespace|using|[A-Z_]+\\()")
  list(TRANSFORM names REPLACE "^(struct|class|enum|enum class) ([a-zA-Z0-9_]+).*" "\\2")
  list(TRANSFORM names REPLACE "^[^({=;]*[ *&]([a-zA-Z0-9_]+) *(\\[|[({=;]).*" "\\1")
  list(FILTER names INCLUDE REGEX "^[a-zA-Z0-9_]+$")
  list(REMOVE_DUPLICATES names)
  set(group 0)
  while(TRUE)
    set(name "${folder}_${group}")
    set(both ${names_${name}} ${names})
    list(LENGTH both count)
    list(REMOVE_DUPLICATES both)
    list(LENGTH both different)
    if(NOT DEFINED count_${name} OR (count_${name} LESS ${most} AND count EQUAL different))
      break()
    endif()
    math(EXPR group "${group} + 1")
  endwhile()
  set(names_${name} ${both})
  math(EXPR count_${name} "0${count_${name}} + 1")
  set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${name})
endmacro()
