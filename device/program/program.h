#pragma once
// A kernel as the simulator sees it: a tree of instructions and counted loops, stored compactly,
// that the executor, the timeline and the definedness check read through one cursor.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/arch/architecture.h"
#include "device/base/bounds.h"
#include "device/instruction/instruction_type.h"
#include "device/operand/region.h"

namespace neuron_sim {

/// A tile of SBUF or PSUM, or an HBM tensor (argument, constant or scratch).
struct Tile {
  std::string label;
  MemoryKind memory = MemoryKind::kNone;
  Dtype dtype = Dtype::kFloat32;
  int32_t start_partition = 0;
  int32_t partitions = 0;
  int64_t address = 0;        ///< on chip: first byte within each partition
  int64_t bytes = 0;          ///< on chip: bytes per partition; HBM: bytes of the tensor
  int32_t argument = -1;      ///< HBM: slot of the argument, -1 for others
  int32_t constant = -1;      ///< HBM: index into Program::constants
  int32_t scratch = -1;       ///< HBM: index into Program::scratch
  int32_t hazard_group = -1;  ///< tiles whose bytes overlap share one history; -1: none
  uint8_t core = 0;           ///< on chip: whose memory; HBM belongs to all cores
  bool widened = false;       ///< the executor keeps an fp32 copy for nc_matmul
  bool placed = false;        ///< on chip: by hand, so that it may overlap other tiles
};

/// How an address depends on one enclosing loop.
struct Term {
  int32_t level = 0;
  int32_t ring_step = 0;
  int32_t partition_step = 0;
  int64_t offset_step = 0;
};

/// An operand as stored: the View resolved as far as it is constant.
struct Operand {
  TileId tile = kNoTile;  ///< first tile of the ring
  int32_t ring = 1;
  int32_t ring_start = 0;
  int64_t ring_stride = 0;  ///< bytes (on chip)
  MemoryKind memory = MemoryKind::kNone;
  Dtype dtype = Dtype::kFloat32;
  Direction direction = Direction::kRead;
  int8_t rank = 0;  ///< free dimensions
  int16_t register_index = -1;
  bool indirect = false;
  uint8_t term_count = 0;
  uint32_t first_term = 0;
  int32_t start_partition = 0;  ///< on chip
  int32_t partitions = 0;
  int64_t partition_stride = 0;  ///< HBM: bytes; on chip: 1, or 0 to broadcast one partition
  int64_t offset = 0;            ///< on chip: byte within the partition; HBM: within the tensor
  int64_t register_scale = 0;
  int64_t index_rows = 0;
  std::array<Dimension, kMaximumFreeDimensions> free{};
  Region region{};  ///< with loop variables, ring index and registers at 0

  bool present() const { return memory != MemoryKind::kNone; }
  bool reads() const { return direction != Direction::kWrite; }
  bool writes() const { return direction != Direction::kRead; }
};

/// Whether an instruction with those operands has the one of that index.
inline bool has_operand(std::span<const Operand> operands, size_t index) {
  return index < operands.size() && operands[index].present();
}

/// One instruction; operands and attributes are runs of the Program's pools.
struct Instruction {
  const InstructionType* type = nullptr;
  EngineKind engine{};
  uint8_t core = 0;
  uint8_t operand_count = 0;  ///< up to the last one that is present (Draft::stored_count)
  uint8_t attribute_count = 0;
  bool engine_given = false;  ///< the kernel named the engine; else the instruction chose it
  uint32_t first_operand = 0;
  uint32_t first_attribute = 0;
  uint32_t demand = 0;
  int32_t source_line = -1;  ///< index into Program::source_lines
};

/// Child of a block: an instruction, a loop, or an instruction that meets one of the other core.
struct Node {
  enum class Kind : uint8_t { kInstruction, kLoop, kSynchronisation } kind = Kind::kInstruction;
  uint32_t index = 0;
};
using Block = std::vector<Node>;

/// How the trip count of a loop is determined.
enum class LoopKind : uint8_t {
  kCounted,  ///< a trip count, constant or in a register at entry
  kRange,    ///< a register runs from `start` to `stop`, both read at entry, in steps of `step`
  kWhile,    ///< while a register is not zero, tested before each iteration
};

/// A constant, or the value of a register.
struct RegisterValue {
  int64_t constant = 0;
  int16_t register_index = -1;  ///< -1: the constant
};

/// A loop on chip. `register_index` is a register of `engine`: the trip count of a counted loop
/// (-1: constant), the variable of a range, the condition of a while loop.
struct Loop {
  LoopKind kind = LoopKind::kCounted;
  int32_t level = 0;
  int64_t trip_count = 0;
  int16_t register_index = -1;
  EngineKind engine = EngineKind::kSync;
  int64_t bound = 0;              ///< largest trip count; equals trip_count when that is constant
  int64_t period = 1;             ///< least common multiple of the rings its variable turns
  uint8_t core = 0;               ///< whose instructions it repeats
  RegisterValue start{}, stop{};  ///< of a range
  int64_t step = 1;               ///< of a range, positive
  bool changes_condition = true;  ///< of a while loop: its body writes the register
  int32_t source_line = -1;       ///< index into Program::source_lines
  Block body;
};

/// Trip count of loops that may run any number of times.
inline constexpr int64_t kUnbounded = int64_t{1} << 40;

/// Iterations of a range; 0 when `stop` is not above `start`.
inline int64_t range_trips(int64_t start, int64_t stop, int64_t step) {
  return stop > start ? (stop - start + step - 1) / step : 0;
}

/// `consumer` starts after `producer` is complete, even if they share no bytes: indices of
/// instructions of one core, the producer in the same loops as the consumer or outside of them.
struct Edge {
  uint32_t consumer = 0;
  uint32_t producer = 0;
  bool operator==(const Edge&) const = default;
};

/// An HBM tensor the caller passes.
struct Argument {
  std::string label;
  Dtype dtype = Dtype::kFloat32;
  std::vector<int64_t> shape;  ///< as the kernel names it
  int64_t bytes = 0;
  bool read = false;
  bool written = false;
};

/// Where an operand of one instance lies.
struct Location {
  TileId tile = kNoTile;
  int32_t partition = 0;
  int64_t offset = 0;
};

/// How the compiler made the tiles of a program fit SBUF and PSUM. Bytes are those of all
/// partitions.
struct Spills {
  int64_t saves = 0, save_bytes = 0;               ///< tiles stored to HBM, to be loaded again
  int64_t reloads = 0, reload_bytes = 0;           ///< of these
  int64_t repeated_loads = 0, repeated_bytes = 0;  ///< of tensors that the program never writes
  int64_t psum_copies = 0, psum_bytes = 0;         ///< from PSUM to SBUF, and back

  bool any() const { return saves + reloads + repeated_loads + psum_copies > 0; }
};

/// A finished kernel. Immutable; shared by all launches.
struct Program {
  std::string kernel;  ///< "matmul", for messages, traces and reports
  const Architecture* architecture = nullptr;
  std::vector<Block> cores;  ///< one instruction order per core; at most kMaximumCores
  std::vector<Instruction> instructions;
  std::vector<Operand> operands;
  std::vector<Term> terms;
  std::vector<Attribute> attributes;
  std::vector<Loop> loops;
  std::vector<Edge> edges;  ///< by consumer, then producer
  std::vector<Tile> tiles;  ///< the first ones are those of EngineState, of core 0
  std::vector<Argument> arguments;
  std::vector<std::vector<std::byte>> constants;
  std::vector<TileId> scratch;  ///< HBM tensors that live as long as a run
  std::vector<Demand> demands;  ///< one per distinct demand
  std::vector<std::string> source_lines;
  std::vector<std::shared_ptr<const ReplicaGroups>> replica_groups;  ///< of its collectives
  int32_t hazard_groups = 0;
  int64_t sbuf_peak = 0, psum_peak = 0;  ///< bytes per partition in use at most, on any core
  /// Why its tiles do not fit the chip, a sentence; empty when they do (place_tiles.h).
  std::string overflow;
  Spills spills;
  bool uses_registers = false;   ///< a loop, operand or descriptor depends on data
  bool has_collectives = false;  ///< it meets other ranks

  std::span<const Operand> operands_of(const Instruction& instruction) const {
    return {operands.data() + instruction.first_operand, instruction.operand_count};
  }
  std::span<const Attribute> attributes_of(const Instruction& instruction) const {
    return {attributes.data() + instruction.first_attribute, instruction.attribute_count};
  }
};

/// Tile, partition and byte of an operand for these loop variables and registers (of the
/// instruction's engine; null when the program uses none).
inline Location locate(const Program& program, const Operand& operand, const int64_t* variables,
                       const int64_t* registers) {
  Location location{operand.tile, operand.start_partition, operand.offset};
  int64_t ring = operand.ring_start;
  const Term* term = program.terms.data() + operand.first_term;
  for (uint8_t i = 0; i < operand.term_count; ++i, ++term) {
    const int64_t variable = variables[term->level];
    location.offset += term->offset_step * variable;
    location.partition += static_cast<int32_t>(term->partition_step * variable);
    ring += term->ring_step * variable;
  }
  if (operand.ring > 1) {
    ring %= operand.ring;
    if (ring < 0) ring += operand.ring;
    location.tile += static_cast<TileId>(ring);
    location.offset += ring * operand.ring_stride;
  }
  if (operand.register_index >= 0) {
    // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): null only without uses_registers
    location.offset += registers[operand.register_index] * operand.register_scale;
  }
  return location;
}

/// The region of an operand at that location.
inline Region region_at(const Operand& operand, const Location& location) {
  Region region = operand.region;
  region.low += location.offset - operand.offset;
  region.partition += location.partition - operand.start_partition;
  return region;
}

/// "  at file:line" on its own line; empty without one.
std::string at_source_line(const Program& program, int32_t source_line);

/// The edges of a consumer.
std::span<const Edge> edges_of(const Program& program, uint32_t consumer);

/// Human-readable listing: one line per instruction, loops indented.
std::string listing(const Program& program);

}  // namespace neuron_sim
