#pragma once
// Instructions of the vendor's interface that no engine executes: questions to the compiler.

#include <cstdint>
#include <span>
#include <string_view>

#include "device/arch/architecture.h"

namespace neuron_sim {

/// A question about the architecture whose answer is known before the kernel runs.
struct CompileTimeQuery {
  std::string_view name;
  int64_t (*value)(const Architecture&);
};

/// All of them, in alphabetical order; the list is device/isa/list.cpp.
std::span<const CompileTimeQuery> compile_time_queries();

}  // namespace neuron_sim
