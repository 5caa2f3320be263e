# device/isa/list.h, below the build folder: an instruction is listed by having a header, which
# declares one struct and its InstructionType:
#   struct TensorTensor { ... };
#   extern const InstructionType kTensorTensor;

set(generated_headers "${CMAKE_CURRENT_BINARY_DIR}/generated/include")

function(neuron_sim_write_instruction_list)
  neuron_sim_glob(headers device/isa/*.h)
  list(SORT headers COMPARE FILE_BASENAME)
  set(INSTRUCTION_HEADERS "")
  set(INSTRUCTION_ENTRIES "")
  foreach(header IN LISTS headers)
    file(STRINGS "${header}" types REGEX "^extern const InstructionType k[A-Za-z0-9]+;$")
    if(NOT types)
      continue()
    endif()
    # A struct that is renamed is listed anew by the next build.
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${header}")
    file(STRINGS "${header}" structs REGEX "^struct [A-Za-z0-9]+ {$")
    list(LENGTH types type_count)
    list(LENGTH structs struct_count)
    if(NOT type_count EQUAL 1 OR NOT struct_count EQUAL 1)
      message(FATAL_ERROR "${header} declares ${struct_count} structs and ${type_count} "
                          "InstructionTypes; an instruction's header declares one of each.")
    endif()
    string(REGEX MATCH "k[A-Z][A-Za-z0-9]+" type "${types}")
    string(REGEX MATCH "[A-Z][A-Za-z0-9]+" struct "${structs}")
    cmake_path(RELATIVE_PATH header BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE name)
    string(APPEND INSTRUCTION_HEADERS "#include \"${name}\"\n")
    string(APPEND INSTRUCTION_ENTRIES "    ListedInstruction<${struct}>{&${type}},\n")
  endforeach()
  configure_file("${PROJECT_SOURCE_DIR}/device/isa/list.h.in"
                 "${generated_headers}/device/isa/list.h" @ONLY)
endfunction()

neuron_sim_write_instruction_list()

# The sources that are instantiated for every instruction.
set_source_files_properties(
  "${PROJECT_SOURCE_DIR}/device/isa/list.cpp"
  "${PROJECT_SOURCE_DIR}/python_bindings/core_module/instructions/instruction_methods.cpp"
  PROPERTIES INCLUDE_DIRECTORIES "${generated_headers}")
