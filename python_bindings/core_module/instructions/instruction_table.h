#pragma once
// The instructions as Python dictionaries, for the generated documentation.

#include <nanobind/nanobind.h>

#include <string>

namespace neuron_sim {

/// One dictionary per instruction, in the order of the list: name; operands, each {name, direction
/// "read", "write" or "read, write", optional}; attributes (names); engine, where it runs on fp32
/// tiles in SBUF unless told otherwise ("" when that depends on more); exists, whether the
/// architecture has it.
nanobind::list instruction_table(const std::string& architecture);
/// Names and values of the compile-time queries.
nanobind::dict compile_time_query_values(const std::string& architecture);

}  // namespace neuron_sim
