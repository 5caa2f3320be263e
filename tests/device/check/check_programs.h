#pragma once
// Short forms for programs that are checked.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "device/builder/builder.h"
#include "device/check/findings.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/tensor/nc_matmul.h"

namespace neuron_sim {

inline const Architecture& trn2() { return load_architecture("trn2"); }

/// Names of the rules of findings, in order.
inline std::vector<std::string> rules_of(const std::vector<Finding>& findings) {
  std::vector<std::string> names;
  for (const Finding& finding : findings) names.emplace_back(entry_of(finding.rule).name);
  return names;
}

using Rules = std::vector<std::string>;

/// Messages of the findings that refuse a kernel without the sanitizer too.
inline std::vector<std::string> always_wrong(const std::vector<Finding>& findings) {
  std::vector<std::string> messages;
  for (const Finding& finding : findings) {
    const bool unwritten = finding.rule == Rule::kUnwrittenOutput && finding.instruction.empty();
    if (unwritten || finding.rule == Rule::kPsumBankCrossing ||
        finding.rule == Rule::kPsumInterleavedGroups || finding.rule == Rule::kInstanceRace ||
        finding.rule == Rule::kCarriedDependency) {
      messages.push_back(finding.message);
    }
  }
  return messages;
}

/// What findings() says about a builder's program, of which `inputs` arguments hold data, but for
/// results that nothing reads, as many here; with errors_only it says the same of what is always
/// wrong.
inline std::vector<Finding> check(Builder& builder, size_t inputs,
                                  const std::vector<IterationMark>& iterations = {}) {
  const std::shared_ptr<const Program> program = builder.finish();
  std::vector<Finding> all = findings(*program, {inputs, iterations, false});
  std::erase_if(all, [](const Finding& each) { return each.rule == Rule::kUnusedResult; });
  EXPECT_EQ(always_wrong(findings(*program, {inputs, iterations, true})), always_wrong(all));
  return all;
}

/// The mark of the outermost loop of a program, around all of its instructions.
inline IterationMark parallel(IterationMark::Kind kind, uint32_t first = 0,
                              uint32_t end = UINT32_MAX) {
  return {kind, first, end, 0, -1, -1, "loop.py:1"};
}

/// Iteration `iteration` of an unrolled loop.
inline IterationMark unrolled(IterationMark::Kind kind, uint32_t first, uint32_t end,
                              int64_t iteration, int64_t group = 0) {
  return {kind, first, end, -1, group, iteration, "loop.py:1"};
}

inline constexpr IterationMark::Kind kLoop = IterationMark::Kind::kLoop;
inline constexpr IterationMark::Kind kGrid = IterationMark::Kind::kInstance;

}  // namespace neuron_sim
