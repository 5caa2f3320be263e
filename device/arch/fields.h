#pragma once
// The schema of an architecture file: one table of keys.

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "device/arch/architecture.h"
#include "device/arch/ranges.h"

namespace neuron_sim {

/// How a value is written.
enum class Form : uint8_t {
  kInteger,  ///< 128
  kNumber,   ///< 2.4 or 2
  kBoolean,  ///< true
};

/// One key of an architecture file and the member of Architecture it fills.
struct Field {
  std::string key;   ///< "limits.partitions"
  std::string unit;  ///< the only unit accepted
  Form form;
  Range range;
  std::function<void(Architecture&, double)> set;
  std::function<double(const Architecture&)> get;  ///< in `unit`
};

/// Every key, in the order of the members of Architecture. Built once.
const std::vector<Field>& architecture_fields();

/// The sections of the engines that are EngineTiming, and the one of a file for all of them.
inline constexpr std::array<std::string_view, 4> kEngineSections = {"vector", "scalar", "gpsimd",
                                                                    "sync"};
inline constexpr std::string_view kAllEngines = "engine";

/// What a fact may say of how well it is known.
inline constexpr std::array<std::string_view, 5> kCertainties = {"documented", "measured", "fitted",
                                                                 "assumed", "derived"};

/// What a file may state: every key, and those of [engine]. Built once.
const std::vector<Field>& file_fields();

}  // namespace neuron_sim
