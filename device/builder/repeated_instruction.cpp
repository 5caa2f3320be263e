#include "device/builder/repeated_instruction.h"

#include <algorithm>

namespace neuron_sim {
namespace {

/// How far to look back, and how many instructions of the line to compare: loops of eight columns
/// and of eight instructions are found, others cost little.
constexpr size_t kInstructions = 64, kOfTheLine = 8;

bool has_terms(const Program& program, const Operand& operand, const View& view) {
  const int levels = std::max(view.offset().levels(), view.partition().levels());
  uint8_t known = 0;
  for (int level = 0; level < levels; ++level) {
    const int64_t bytes = view.offset().coefficient(level);
    const int64_t partitions = view.partition().coefficient(level);
    if (bytes == 0 && partitions == 0) continue;
    if (known == operand.term_count) return false;
    const Term& term = program.terms[operand.first_term + known++];
    if (term.level != level || term.offset_step != bytes || term.partition_step != partitions) {
      return false;
    }
  }
  return known == operand.term_count;
}

/// Whether a view is stored like `operand`, on the same tile or on another one of the same size.
bool is_stored_as(const Program& program, const View& view, const Operand& operand) {
  if (view.memory() != operand.memory) return false;
  if (!view.present()) return true;
  const bool on_chip = view.memory() == MemoryKind::kSbuf || view.memory() == MemoryKind::kPsum;
  if (!on_chip && view.memory() != MemoryKind::kHbm) return false;
  const Tile& tile = program.tiles[static_cast<size_t>(operand.tile)];
  if (view.tile() != operand.tile) {
    const Tile& other = program.tiles[static_cast<size_t>(view.tile())];
    if (other.bytes != tile.bytes || other.partitions != tile.partitions ||
        other.core != tile.core) {
      return false;
    }
  }
  const bool fixed = view.ring() == 1 && operand.ring == 1 && view.register_index() < 0 &&
                     operand.register_index < 0 && !view.is_indirect() && !operand.indirect;
  if (!fixed || view.dtype() != operand.dtype || view.rank() != operand.rank + 1 ||
      view.partitions() != operand.partitions ||
      view.dimension(0).stride != operand.partition_stride ||
      view.offset().constant() + (on_chip ? tile.address : 0) != operand.offset ||
      (on_chip && view.partition().constant() + tile.start_partition != operand.start_partition)) {
    return false;
  }
  for (int i = 1; i < view.rank(); ++i) {
    const Dimension& free = operand.free[static_cast<size_t>(i) - 1];
    if (view.size(i) != free.size || view.dimension(i).stride != free.stride) return false;
  }
  return has_terms(program, operand, view);
}

/// Whether the same pairs of operands share a tile in the draft and in the instruction.
bool shares_tiles_alike(std::span<const Operand> operands, const Draft& draft) {
  for (size_t i = 0; i < operands.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if ((operands[i].tile == operands[j].tile) !=
          (draft.operands[i].tile() == draft.operands[j].tile())) {
        return false;
      }
    }
  }
  return true;
}

bool is_alike(const Program& program, const Instruction& instruction, const Draft& draft) {
  if (instruction.type != draft.type || instruction.engine != draft.engine ||
      instruction.core != draft.core || instruction.operand_count != draft.stored_count() ||
      instruction.attribute_count != draft.attributes.size()) {
    return false;
  }
  const auto operands = program.operands_of(instruction);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!is_stored_as(program, draft.operands[i], operands[i])) return false;
  }
  const auto attributes = program.attributes_of(instruction);
  return std::equal(attributes.begin(), attributes.end(), draft.attributes.begin(),
                    [](const Attribute& a, const Attribute& b) { return a.bits == b.bits; });
}

}  // namespace

std::optional<Repeated> repeated_instruction(const Program& program, const Draft& draft,
                                             int32_t source_line,
                                             const std::vector<int32_t>& loop_of, int32_t loop) {
  if (source_line < 0 || draft.groups != nullptr) return {};
  const auto newest = static_cast<TileId>(program.tiles.size()) - 1;
  const bool uses_newest = std::any_of(draft.operands.begin(), draft.operands.end(),
                                       [&](const View& view) { return view.tile() == newest; });
  const size_t count = program.instructions.size();
  size_t left = kOfTheLine;
  std::optional<Repeated> on_other_tiles;
  for (size_t i = count; left > 0 && i > 0 && count - i < kInstructions; --i) {
    const Instruction& instruction = program.instructions[i - 1];
    if (instruction.source_line != source_line) continue;
    --left;
    if (loop_of[i - 1] != loop || !is_alike(program, instruction, draft)) continue;
    const auto operands = program.operands_of(instruction);
    const auto number = static_cast<uint32_t>(i - 1);
    if (std::equal(operands.begin(), operands.end(), draft.operands.begin(),
                   [](const Operand& a, const View& b) { return a.tile == b.tile(); })) {
      return Repeated{number, true};
    }
    if (!on_other_tiles && shares_tiles_alike(operands, draft)) {
      on_other_tiles = Repeated{number, false};
      if (uses_newest) break;  // hardly any earlier instruction does
    }
  }
  return on_other_tiles;
}

}  // namespace neuron_sim
