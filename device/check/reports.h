#pragma once
// The findings of one walk: each once, in order, with what all of them say.

#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "device/check/finding.h"

namespace neuron_sim {

/// An instance of an instruction: with the values of the loops around it.
struct InstanceName {
  uint32_t instruction = 0;
  std::vector<int64_t> index;
};

/// "'nc_matmul' of kernel 'k'[ in iteration [1, 2]]".
std::string describe(const Program& program, const InstanceName& instance);

/// Collects findings; a rule is reported once per operand of a source line (of an instruction
/// without one) and tile.
class Reports {
 public:
  explicit Reports(const Program& program) : program_(program) {}

  /// Whether this would be a new finding.
  bool is_new(Rule rule, uint32_t instruction, size_t operand, TileId tile) const {
    return !known_.contains(key(rule, instruction, operand, tile));
  }
  /// `sentence` follows "'type' of kernel 'k' in iteration [i]" and ends without a full stop.
  void add(Rule rule, const InstanceName& instance, size_t operand, TileId tile,
           const FoundPlace& place, const std::string& sentence, const std::string& other_line);
  void add(Finding finding) { findings_.push_back(std::move(finding)); }

  std::vector<Finding> take() { return std::move(findings_); }

 private:
  using Key = std::tuple<Rule, int32_t, uint32_t, size_t, TileId>;
  Key key(Rule rule, uint32_t instruction, size_t operand, TileId tile) const {
    const int32_t line = program_.instructions[instruction].source_line;
    return {rule, line, line < 0 ? instruction : 0, operand, tile};
  }

  const Program& program_;
  std::set<Key> known_;
  std::vector<Finding> findings_;
};

}  // namespace neuron_sim
