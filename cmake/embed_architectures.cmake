# cmake -DOUTPUT=x.cpp -DARCHITECTURE_FILES=a.toml;b.toml -P embed_architectures.cmake
# Writes the definitions that device/arch/embedded.h declares.

# Raw literals are cut here, below the 64 KiB that the standard asks every compiler to accept.
set(piece_length 15000)
set(entries "")
set(count 0)
list(SORT ARCHITECTURE_FILES)
foreach(path IN LISTS ARCHITECTURE_FILES)
  cmake_path(GET path STEM name)
  file(READ "${path}" content)
  if(content MATCHES "\\)neuron_sim\"")
    message(FATAL_ERROR "${path} contains the end mark of the literal it would be embedded in.")
  endif()
  string(LENGTH "${content}" length)
  set(literal "\"\"")
  set(start 0)
  while(start LESS length)
    string(SUBSTRING "${content}" ${start} ${piece_length} piece)
    string(APPEND literal "\n     R\"neuron_sim(${piece})neuron_sim\"")
    math(EXPR start "${start} + ${piece_length}")
  endwhile()
  string(APPEND entries "    {\"${name}\", ${literal}},\n")
  math(EXPR count "${count} + 1")
endforeach()

file(WRITE "${OUTPUT}" "// Generated from device/arch/*.toml; see cmake/embed_architectures.cmake.
#include \"device/arch/embedded.h\"

namespace neuron_sim {

const EmbeddedFile kEmbeddedArchitectures[] = {
${entries}    {nullptr, nullptr}};
const int kEmbeddedArchitectureCount = ${count};

}  // namespace neuron_sim
")
