#pragma once
// What a check of a program found, and the one table of the rules.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/program/program.h"
#include "device/program/shared_bytes.h"

namespace neuron_sim {

enum class Rule : uint8_t {
  kUninitialisedRead,
  kOverwrittenRead,
  kPartialOverlap,
  kUnwrittenOutput,
  kWrittenTwice,
  kOverwrittenOutput,
  kPsumBankCrossing,
  kPsumInterleavedGroups,
  kPsumReadBeforeStop,
  kPsumAccumulateWithoutStart,
  kLostSum,
  kCarriedDependency,
  kCarriedValue,
  kInstanceRace,
  kOutOfBounds,
  kFirstNonFinite,
  kPrecisionLost,
  kUnusedResult,
};

/// A row of the table of rules.
struct RuleEntry {
  Rule rule;
  const char* name;     ///< "uninitialised-read"
  bool is_note;         ///< an observation, not a defect
  const char* meaning;  ///< one line
  const char* remedy;   ///< how to mend it
};

/// All rules, in the order of the enumerators.
std::span<const RuleEntry> check_rules();
const RuleEntry& entry_of(Rule rule);

/// Where in a tile or tensor: bytes within a partition on chip, within the tensor in HBM.
struct FoundPlace {
  std::optional<ByteRange> bytes;
  std::optional<ByteRange> partitions;  ///< of the tile; none in HBM
};

/// A defect of a program, or a note about it.
struct Finding {
  Rule rule{};
  std::string kernel;
  std::string message;  ///< one sentence
  std::string instruction, operand, tile;
  FoundPlace place;
  std::vector<int64_t> index;  ///< of the loops around the instruction, outermost first
  std::string source_line;     ///< "file:line[:column]"; empty for a program without source lines
  std::string other_line;      ///< of the other instruction of a race, an overwrite, an origin
};

/// "file:line" of an instruction; empty without a source line.
std::string line_of(const Program& program, uint32_t instruction);
/// Name of an operand of an instruction, as in its field table.
std::string operand_name(const Program& program, uint32_t instruction, size_t operand);
/// A finding about an operand of an instruction, with all but its message and its place.
Finding finding_at(Rule rule, const Program& program, uint32_t instruction, size_t operand,
                   TileId tile);
/// "bytes [0, 64) of partitions [0, 128)"; empty without bytes.
std::string describe(const FoundPlace& place);

}  // namespace neuron_sim
