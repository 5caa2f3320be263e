#pragma once
// The form that all passes of the compiler work on: the instructions of one core with their loops
// unrolled, every operand at one fixed place. Passes change instructions, operands and tiles
// freely, then lower() makes a Program of the result.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/compiler/line/operand_patterns.h"
#include "device/program/program.h"

namespace neuron_sim {

class PeerAccesses;

/// Most instances that are unrolled. The compiler unrolls all static loops before it schedules; the
/// bound keeps memory and time in check, which grow with the instances.
inline constexpr int64_t kMaximumUnrolled = 2'000'000;

/// The loops around an instance, outermost first; the first `depth` entries of both arrays.
struct Nest {
  std::array<int32_t, kMaximumLoopDepth> iteration{};  ///< their variables
  /// Numbers that are equal for instances of one loop.
  std::array<uint32_t, kMaximumLoopDepth> loops{};
  int8_t depth = 0;
  bool operator==(const Nest&) const = default;
};

/// One instruction instance.
struct StraightInstruction {
  /// Type, engine and indices: operands and attributes are runs of those of the StraightLine.
  Instruction instruction;
  /// Index of the instruction in the program that was unrolled: its statement. Instances that a
  /// pass creates keep that of the first instance they replace.
  uint32_t statement = 0;
  uint32_t nest = 0;  ///< index into StraightLine::nests
  /// Right before it in the kernel stood an instance of the statement that the other core runs.
  bool follows_other_core = false;
};

/// One core of a program without loops, registers or rings. The order of `instructions` is the
/// program order; other pools may hold entries that nothing refers to.
struct StraightLine {
  std::string kernel;
  std::shared_ptr<const PeerAccesses> peer;  ///< the other core (meetings.h); null without one
  const Architecture* architecture = nullptr;
  /// It is a core's part of a program of one core, whose tiles outside of HBM become its own.
  bool is_copy_of_first = false;
  std::vector<StraightInstruction> instructions;
  std::vector<Nest> nests;  ///< shared by instances: append, do not change
  std::vector<StraightOperand> operands;
  OperandPatterns patterns;           ///< of the operands: append, do not change
  std::vector<Attribute> attributes;  ///< runs may be shared by instances: append, do not change
  std::vector<Tile> tiles;  ///< as in Program; on chip, those of the other core have no memory
  size_t kernel_tiles = 0;  ///< of the program: the first ones, in HBM the same on all cores
  std::vector<TileId> version_of;  ///< per tile: the kernel's tile that it is a version of
  std::vector<Argument> arguments;
  std::vector<std::vector<std::byte>> constants;
  std::vector<Demand> demands;  ///< shared by instances: append, do not change
  std::vector<std::string> source_lines;
  std::vector<std::shared_ptr<const ReplicaGroups>> replica_groups;  ///< as in Program
  std::vector<Edge> edges;  ///< of statements: an instance waits for the last one of the producer
  uint32_t loops = 0;  ///< loops that are numbered; passes that split a loop number the parts anew
  Spills spills;

  std::span<StraightOperand> operands_of(const StraightInstruction& instance) {
    return {operands.data() + instance.instruction.first_operand,
            instance.instruction.operand_count};
  }
  std::span<const StraightOperand> operands_of(const StraightInstruction& instance) const {
    return {operands.data() + instance.instruction.first_operand,
            instance.instruction.operand_count};
  }
  /// All that is known of the operands of an instance.
  WholeOperands whole_operands_of(const StraightInstruction& instance) const {
    return {patterns, operands_of(instance)};
  }
  Operand whole(const StraightOperand& operand) const { return patterns.whole(operand); }
  /// The pattern of an operand: only what it shares with alike ones is to be read.
  const Operand& pattern_of(const StraightOperand& operand) const {
    return patterns[operand.pattern];
  }
  Region region_of(const StraightOperand& operand) const { return patterns.region_of(operand); }
  StraightOperand straight(const Operand& operand) { return patterns.straight(operand); }
  std::span<const Attribute> attributes_of(const StraightInstruction& instance) const {
    return {attributes.data() + instance.instruction.first_attribute,
            instance.instruction.attribute_count};
  }
  const Nest& nest_of(const StraightInstruction& instance) const { return nests[instance.nest]; }
  const Tile& tile_of(const Operand& operand) const {
    return tiles[static_cast<size_t>(operand.tile)];
  }
  const Tile& tile_of(const StraightOperand& operand) const {
    return tiles[static_cast<size_t>(operand.tile)];
  }
};

/// Whether a tile lies in SBUF or PSUM.
inline bool is_on_chip(const Tile& tile) {
  return tile.memory == MemoryKind::kSbuf || tile.memory == MemoryKind::kPsum;
}

/// Whether the instance meets other ranks.
inline bool is_collective(const StraightInstruction& instance) {
  return instance.instruction.type->synchronises == Synchronisation::kCollective;
}

/// Whether the instance moves bytes over the DMA engines.
inline bool is_transfer(const StraightLine& line, const StraightInstruction& instance) {
  const Demand& demand = line.demands[instance.instruction.demand];
  return demand.count > 0 && demand.steps[0].unit == Unit::kDma;
}

/// Replaces the operands of an instance.
void set_operands(StraightLine& line, StraightInstruction& instance,
                  std::span<const Operand> operands);

/// The straight line of a core, or the reason why there is none (one sentence).
struct Unrolled {
  std::optional<StraightLine> line;
  std::string reason;
};

/// Why the cores of a program have no straight lines, one clause; empty when they have.
std::string unroll_objection(const Program& program, int64_t maximum = kMaximumUnrolled);
/// Expands all counted loops of a core. Programs of two cores and several ranks, with loops,
/// addresses or descriptors that depend on registers or data, or with more than `maximum` instances
/// on all cores together have no straight lines.
Unrolled unroll(const Program& program, size_t core = 0, int64_t maximum = kMaximumUnrolled);

/// The program of the straight lines of its cores: unused tiles on chip are dropped, then
/// everything is derived as for a program of the Builder (finish_program).
std::shared_ptr<const Program> lower(std::vector<StraightLine> lines);
/// The program of one line. Of a program of two cores it is what analyses of the one core read: its
/// meetings are instructions like others, and edges keep the order that they need (meetings.h).
std::shared_ptr<const Program> lower(StraightLine line);

/// Whether out-of-range rows of an index leave bytes of the result unchanged. During the passes
/// such a result counts as read, so that it stays with the bytes before it; the program marks it as
/// only written, because a gather may target an unwritten tile.
bool may_keep_bytes(const Instruction& instruction, std::span<const Attribute> attributes);

/// Operand `index` of an instance as the view that an instruction's check and demand read.
View view_of(const StraightLine& line, const Operand& operand);
/// The instance as a Draft, for InstructionType::check and demand.
Draft draft_of(const StraightLine& line, const StraightInstruction& instance);

/// A line without instances: what draft_of() reads for the program's own instructions, whose places
/// within loops are their first ones.
StraightLine pools_of(const Program& program);

/// After a pass changed operands, engine or attributes: whether the instruction's own check accepts
/// the instance.
bool is_legal(const StraightLine& line, const StraightInstruction& instance);
/// After the same changes: appends the instance's new demand.
void renew_demand(StraightLine& line, StraightInstruction& instance);
/// Both: false, without a new demand, when the check does not accept the instance.
bool renew_demand_if_legal(StraightLine& line, StraightInstruction& instance);
/// After the pattern or place of an operand changed: updates its region.
void renew_region(const StraightLine& line, Operand& operand);
/// Moves an operand on chip to another tile of the same layout, at the same place within it.
void move_to_tile(const StraightLine& line, StraightOperand& operand, TileId tile);
/// Gives a tile on chip another address; all operands follow (one sweep for all tiles).
/// `addresses`: per tile, its new first byte within each partition, or -1 to leave it.
void move_tiles(StraightLine& line, const std::vector<int64_t>& addresses);
/// After many instances were replaced: frees the operands that nothing refers to, if they are most
/// of the pool. Sweeps over the pool would read them all.
void compact_operands(StraightLine& line);
/// Another tile like that one, at the same address until it is allocated.
TileId add_version(StraightLine& line, TileId tile);
/// Gives the instance a private copy of its attributes, to change one of them.
Attribute& own_attribute(StraightLine& line, StraightInstruction& instance, size_t index);
/// Index of the attribute of that name; -1 when the instruction has none.
int attribute_index(const InstructionType& type, std::string_view name);

}  // namespace neuron_sim
