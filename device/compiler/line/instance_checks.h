#pragma once
// Checks and demands of changed instances, made once for all that are alike.

#include <string>
#include <unordered_map>

#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// Checks the instances of one straight line. Instances are alike when their drafts differ in
/// nothing but the numbers and labels of their tiles, which no check and no demand depends on
/// beyond whether two operands have the same one.
class InstanceChecks {
 public:
  /// Whether the instruction's own check accepts the instance, which then gets its demand.
  bool renew_demand(StraightLine& line, StraightInstruction& instance);

 private:
  static constexpr uint32_t kIllegal = UINT32_MAX;

  std::unordered_map<std::string, uint32_t> demands_;  ///< by draft: its demand, or kIllegal
  std::string key_;
};

}  // namespace neuron_sim
