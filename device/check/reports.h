#pragma once
// The findings of one walk: each once, in order, with what all of them say.

#include <map>
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
    const auto known = known_.find(key(rule, instruction, operand, tile));
    return known == known_.end() || !entries_[known->second].is_revealed;
  }
  /// `sentence` follows "'type' of kernel 'k' in iteration [i]" and ends without a full stop.
  void add(Rule rule, const InstanceName& instance, size_t operand, TileId tile,
           const FoundPlace& place, const std::string& sentence, const std::string& other_line) {
    reveal(suspect(rule, instance, operand, tile, place, sentence, other_line));
  }
  void add(Finding finding) { entries_.push_back({std::move(finding), true}); }

  /// Records a possible finding, reported only if reveal() is called with the number returned.
  /// Equal findings share a number.
  size_t suspect(Rule rule, const InstanceName& instance, size_t operand, TileId tile,
                 const FoundPlace& place, const std::string& sentence,
                 const std::string& other_line);
  void reveal(size_t number) { entries_[number].is_revealed = true; }

  /// Those that were added or revealed, in the order in which they arose.
  std::vector<Finding> take();

 private:
  using Key = std::tuple<Rule, int32_t, uint32_t, size_t, TileId>;
  Key key(Rule rule, uint32_t instruction, size_t operand, TileId tile) const {
    const int32_t line = program_.instructions[instruction].source_line;
    return {rule, line, line < 0 ? instruction : 0, operand, tile};
  }

  struct Entry {
    Finding finding;
    bool is_revealed = false;
  };

  const Program& program_;
  std::map<Key, size_t> known_;
  std::vector<Entry> entries_;
};

}  // namespace neuron_sim
