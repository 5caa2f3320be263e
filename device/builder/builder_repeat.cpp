// Builder::repeat: an instruction again, without another draft of it.

#include <algorithm>

#include "device/builder/builder.h"

namespace neuron_sim {
namespace {

using Substitute = Builder::Substitute;

/// Whether the address of an operand is known when it is emitted, but for loop variables.
bool is_fixed(const Operand& operand) {
  const bool has_tile = operand.memory == MemoryKind::kHbm || operand.memory == MemoryKind::kSbuf ||
                        operand.memory == MemoryKind::kPsum;
  return has_tile && operand.ring == 1 && operand.register_index < 0 && !operand.indirect;
}

bool are_alike(const Tile& a, const Tile& b) {
  return a.bytes == b.bytes && a.partitions == b.partitions && a.core == b.core &&
         a.address == b.address && a.start_partition == b.start_partition;
}

/// Whether two views are the same elements of their tiles, which have the same sizes. Their
/// addresses depend on nothing but loop variables.
bool are_alike(const Program& program, const Substitute& views) {
  const View &before = *views.before, &now = *views.now;
  if (&before == &now) return true;
  if (before.memory() != now.memory() || before.dtype() != now.dtype() ||
      before.rank() != now.rank() || now.ring() != 1 || now.register_index() >= 0 ||
      now.is_indirect() || before.offset() != now.offset() ||
      before.partition() != now.partition()) {
    return false;
  }
  for (int i = 0; i < now.rank(); ++i) {
    const Dimension &one = before.dimension(i), &other = now.dimension(i);
    if (one.size != other.size || one.stride != other.stride) return false;
  }
  return before.tile() == now.tile() || are_alike(program.tiles[static_cast<size_t>(before.tile())],
                                                  program.tiles[static_cast<size_t>(now.tile())]);
}

/// Whether the same pairs of views share a tile before and now.
bool share_tiles_alike(std::span<const Substitute> views) {
  for (size_t i = 1; i < views.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const bool before = views[i].before->tile() == views[j].before->tile();
      if (before != (views[i].now->tile() == views[j].now->tile())) return false;
    }
  }
  return true;
}

/// The new view of operands on a tile; null when no view was on it.
const View* substitute_of(std::span<const Substitute> views, TileId tile) {
  const auto found = std::find_if(views.begin(), views.end(), [tile](const Substitute& each) {
    return each.before->tile() == tile;
  });
  return found == views.end() ? nullptr : found->now;
}

/// Whether the views are those of operands, in other places of the same kind.
bool are_alike(const Program& program, std::span<const Operand> operands,
               std::span<const Substitute> views) {
  return std::all_of(views.begin(), views.end(),
                     [&](const Substitute& each) { return are_alike(program, each); }) &&
         share_tiles_alike(views) &&
         std::all_of(operands.begin(), operands.end(), [&](const Operand& each) {
           return !each.present() || (is_fixed(each) && substitute_of(views, each.tile) != nullptr);
         });
}

}  // namespace

/// Whether a product continues or begins a sum in its new place as it did before; if so, the sum is
/// noted.
bool Builder::repeats_sum(const Instruction& earlier, std::span<const Substitute> views,
                          bool has_mode) {
  const int attribute = AccumulationGroups::attribute_of(*earlier.type);
  if (attribute < 0) return true;
  const size_t dst = AccumulationGroups::destination_of(*earlier.type, attribute);
  const TileId tile = program_->operands_of(earlier)[dst].tile;  // in PSUM, which it never reads
  const Attribute& mode = program_->attributes_of(earlier)[static_cast<size_t>(attribute)];
  const View& view = *substitute_of(views, tile);
  return has_mode ? accumulation_.note(view, loop_path())
                  : accumulation_.repeats(mode.as<Accumulate>(), view, loop_path());
}

bool Builder::repeat(uint32_t number, std::span<const Substitute> views, bool has_mode) {
  Instruction instruction = program_->instructions[number];
  const bool is_here = source_line_ >= 0 && instruction.source_line == source_line_ &&
                       instruction.core == core_ && loop_of_[number] == innermost_loop() &&
                       instruction.type->synchronises == Synchronisation::kNone;
  if (!is_here || !are_alike(*program_, program_->operands_of(instruction), views) ||
      !repeats_sum(instruction, views, has_mode)) {
    return false;
  }
  const bool moves = std::any_of(views.begin(), views.end(), [](const Substitute& each) {
    return each.before->tile() != each.now->tile();
  });
  if (moves) {
    const uint32_t first = instruction.first_operand;
    instruction.first_operand = static_cast<uint32_t>(program_->operands.size());
    make_room(instruction.operand_count);
    for (uint32_t i = first; i < first + instruction.operand_count; ++i) {
      Operand operand = program_->operands[i];
      if (operand.present()) operand.tile = substitute_of(views, operand.tile)->tile();
      program_->operands.push_back(operand);
    }
  }
  push(instruction);
  return true;
}

}  // namespace neuron_sim
