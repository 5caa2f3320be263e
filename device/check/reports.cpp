#include "device/check/reports.h"

#include <utility>

#include "device/base/errors.h"

namespace neuron_sim {

std::string describe(const Program& program, const InstanceName& instance) {
  std::string result = text("'", program.instructions[instance.instruction].type->name,
                            "' of kernel '", program.kernel, "'");
  for (size_t i = 0; i < instance.index.size(); ++i) {
    result += text(i == 0 ? " in iteration [" : ", ", instance.index[i]);
  }
  return instance.index.empty() ? result : result + "]";
}

size_t Reports::suspect(Rule rule, const InstanceName& instance, size_t operand, TileId tile,
                        const FoundPlace& place, const std::string& sentence,
                        const std::string& other_line) {
  const auto [known, is_new] =
      known_.try_emplace(key(rule, instance.instruction, operand, tile), entries_.size());
  if (!is_new) return known->second;
  Finding finding = finding_at(rule, program_, instance.instruction, operand, tile);
  finding.place = place;
  finding.index = instance.index;
  finding.other_line = other_line;
  finding.message = text(describe(program_, instance), " ", sentence, ".");
  entries_.push_back({std::move(finding)});
  return entries_.size() - 1;
}

std::vector<Finding> Reports::take() {
  std::vector<Finding> findings;
  for (Entry& entry : entries_) {
    if (entry.is_revealed) findings.push_back(std::move(entry.finding));
  }
  return findings;
}

}  // namespace neuron_sim
