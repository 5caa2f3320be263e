#include "device/check/finding.h"

#include <algorithm>
#include <array>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

constexpr std::array kRules = {
    RuleEntry{Rule::kUninitialisedRead, "uninitialised-read", false,
              "a result depends on bytes that nothing wrote",
              "write the bytes first, or narrow the access to the part that is written"},
    RuleEntry{Rule::kOverwrittenRead, "overwritten-read", false,
              "a tile placed by hand is read after another tile took its bytes",
              "move one of the tiles, or read the first before the second is written"},
    RuleEntry{Rule::kPartialOverlap, "partial-overlap", false,
              "an instruction reads bytes that it also writes, in another order",
              "write to another tile, or read and write exactly the same elements"},
    RuleEntry{Rule::kUnwrittenOutput, "unwritten-output", false,
              "bytes of an output are never written",
              "store to all of the output, or make it smaller"},
    RuleEntry{Rule::kWrittenTwice, "written-twice", false,
              "a store to an output is repeated at its bytes before anything read them",
              "let every iteration store to bytes that no other one stores to"},
    RuleEntry{Rule::kOverwrittenOutput, "overwritten-output", true,
              "bytes of an output are overwritten before anything read them",
              "drop the first store, or store to other bytes"},
    RuleEntry{Rule::kPsumBankCrossing, "psum-bank-crossing", false,
              "one matrix product writes to two banks of PSUM",
              "split the product where the bank ends"},
    RuleEntry{Rule::kPsumInterleavedGroups, "psum-interleaved-groups", false,
              "a sum continues in a PSUM bank after another sum has begun there",
              "finish one sum before the other begins, or keep them in different banks"},
    RuleEntry{Rule::kPsumReadBeforeStop, "psum-read-before-stop", false,
              "a sum in PSUM continues after it was read", "read the sum after its last product"},
    RuleEntry{Rule::kPsumAccumulateWithoutStart, "psum-accumulate-without-start", false,
              "a matrix product adds to a place in PSUM where no sum has begun",
              "let the first product of the sum overwrite (accumulate=False)"},
    RuleEntry{Rule::kLostSum, "lost-sum", false,
              "a matrix product overwrites a sum in PSUM that nothing read",
              "read the sum first, or add to it (accumulate=True)"},
    RuleEntry{Rule::kCarriedDependency, "carried-dependency", false,
              "iterations of a parallel loop depend on each other",
              "use sequential_range, or give every iteration its own bytes"},
    RuleEntry{Rule::kCarriedValue, "carried-value", true,
              "a parallel iteration reads what the previous one wrote, and overwrites it",
              "use sequential_range when the order of the iterations matters"},
    RuleEntry{Rule::kInstanceRace, "instance-race", false,
              "instances of a grid use the same bytes, and one of them writes",
              "let every instance write its own bytes, or synchronise the instances"},
    RuleEntry{Rule::kOutOfBounds, "out-of-bounds", false,
              "an index or an address from a register lies outside of its tensor",
              "bound the index, or skip such rows with oob_mode=skip"},
    RuleEntry{Rule::kFirstNonFinite, "first-non-finite", true,
              "the first instruction that makes NaN or infinity of finite inputs",
              "look at the inputs of this instruction: a division by zero, an overflow"},
    RuleEntry{Rule::kPrecisionLost, "precision-lost", true,
              "how far a low-precision tile is from the same program in fp32",
              "keep the tile in float32 if the error matters"},
    RuleEntry{Rule::kUnusedResult, "unused-result", true,
              "nothing reads what an instruction computed",
              "store the result, or drop the instruction"},
};

}  // namespace

std::span<const RuleEntry> check_rules() { return kRules; }

const RuleEntry& entry_of(Rule rule) {
  const RuleEntry& entry = kRules.at(static_cast<size_t>(rule));
  require(entry.rule == rule, "the rules are in the order of their enumerators");
  return entry;
}

std::string line_of(const Program& program, uint32_t instruction) {
  const int32_t line = program.instructions[instruction].source_line;
  return line < 0 ? std::string() : program.source_lines[static_cast<size_t>(line)];
}

std::string operand_name(const Program& program, uint32_t instruction, size_t operand) {
  return program.instructions[instruction].type->operands[operand].name;
}

Finding finding_at(Rule rule, const Program& program, uint32_t instruction, size_t operand,
                   TileId tile) {
  Finding finding;
  finding.rule = rule;
  finding.kernel = program.kernel;
  finding.instruction = program.instructions[instruction].type->name;
  finding.operand = operand_name(program, instruction, operand);
  finding.tile = program.tiles[static_cast<size_t>(tile)].label;
  finding.source_line = line_of(program, instruction);
  return finding;
}

std::string describe(const FoundPlace& place) {
  if (!place.bytes) return "";
  std::string result = text("bytes [", place.bytes->begin, ", ", place.bytes->end, ")");
  if (place.partitions) {
    result += text(" of partitions [", place.partitions->begin, ", ", place.partitions->end, ")");
  }
  return result;
}

}  // namespace neuron_sim
