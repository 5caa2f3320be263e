#pragma once
// The generic form of an instruction and its table entry. Generic code (text
// form, bindings, dependencies, trace) works on these; only an instruction's own file knows more.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "device/arch/architecture.h"
#include "device/base/bounds.h"
#include "device/instruction/demand.h"
#include "device/instruction/replica_groups.h"
#include "device/operand/engine.h"
#include "device/operand/view.h"

namespace neuron_sim {

enum class Direction : uint8_t { kRead, kWrite, kReadWrite };

/// Most operands of an instruction: dma_compute has sixteen sources.
inline constexpr int kMaximumOperands = 18;
/// Most attributes: nc_stream_shuffle has a mask of 32.
inline constexpr int kMaximumAttributes = 33;

/// An immediate of an instruction: an integer, an enumerator, a flag or a real number.
struct Attribute {
  int64_t bits = 0;
  static Attribute of(int64_t value) { return {value}; }
  static Attribute of(double value) { return {std::bit_cast<int64_t>(value)}; }
  static Attribute of(bool value) { return {value ? 1 : 0}; }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  static Attribute of(Enum value) { return {static_cast<int64_t>(value)}; }
  int64_t integer() const { return bits; }
  double real() const { return std::bit_cast<double>(bits); }
  bool flag() const { return bits != 0; }
  template <typename Enum>
  Enum as() const {
    return static_cast<Enum>(bits);
  }
};

struct InstructionType;

/// An instruction as a front end writes it, before it is checked and stored in a Program.
struct Draft {
  Draft();
  Draft(const Draft&);
  Draft(Draft&&) noexcept;
  Draft& operator=(const Draft&);
  Draft& operator=(Draft&&) noexcept;
  ~Draft();

  const InstructionType* type = nullptr;
  EngineKind engine = EngineKind::kAuto;
  std::vector<View> operands;         ///< in the order of the field table
  std::vector<Attribute> attributes;  ///< in the order of the field table
  int core = 0;                       ///< of the logical core; set by the Builder
  /// The replica groups of a collective, whose attribute 0 (kReplicaGroups) becomes their number in
  /// the Program.
  std::shared_ptr<const ReplicaGroups> groups;

  int operand_count() const { return static_cast<int>(operands.size()); }
  /// Operands up to the last one that is present: those that a Program stores.
  int stored_count() const {
    int count = operand_count();
    while (count > 0 && !operand(count - 1).present()) --count;
    return count;
  }
  int attribute_count() const { return static_cast<int>(attributes.size()); }
  const View& operand(int index) const { return operands[static_cast<size_t>(index)]; }
  const Attribute& attribute(int index) const { return attributes[static_cast<size_t>(index)]; }
};

/// Builds a Draft in the order of the field table.
Draft make_draft(const InstructionType& type, EngineKind engine,
                 std::initializer_list<const View*> operands,
                 std::initializer_list<Attribute> attributes);

/// A draft of these operands, null where one is hidden, whose attributes are 0. (Out of line, so
/// that draft_of() of a struct in device/instruction/fields.h compiles only what is its own.)
Draft draft_of_operands(const InstructionType& type, std::span<const View* const> operands);

/// One operand of one instance with its storage resolved, ready to be read or written.
/// Rank counts free dimensions only; sizes of absent dimensions are 1.
struct Access {
  std::byte* data = nullptr;     ///< first element of the first partition
  int64_t partition_stride = 0;  ///< bytes from partition to partition
  int32_t partitions = 0;
  Dtype dtype = Dtype::kFloat32;
  MemoryKind memory = MemoryKind::kNone;
  int rank = 0;
  std::array<Dimension, kMaximumFreeDimensions> free{};  ///< outermost first, strides in bytes
  /// fp32 copy of a low-precision on-chip operand, kept by the executor; null when there is none.
  /// Its strides are those of the operand times 4 / itemsize.
  float* widened = nullptr;
  int64_t widened_partition_stride = 0;  ///< in floats
  const int32_t* rows = nullptr;         ///< indirect operand: row of each partition, -1 is skipped

  bool present() const { return memory != MemoryKind::kNone; }
  int64_t elements() const;  ///< per partition
  std::byte* partition(int64_t index) const {
    return data + partition_stride * (rows == nullptr ? index : rows[index]);
  }
};

/// Registers of one sequencer; a Program's register instructions and loops use them.
struct RegisterFile {
  std::array<int64_t, kMaximumRegisters> values{};
};

/// The input of `run`: operands in field order, attributes, and the few states instructions share.
struct Instance {
  EngineKind engine{};
  const Architecture* architecture = nullptr;
  std::span<const Access> operands;
  std::span<const Attribute> attributes;
  RegisterFile* registers = nullptr;
  int64_t rank = 0;                       ///< of the program among those that run together
  const ReplicaGroups* groups = nullptr;  ///< of an instruction with kReplicaGroups
  const Access* later = nullptr;          ///< an operand in HBM that is read soon; null: none

  const Access& operand(int index) const { return operands[static_cast<size_t>(index)]; }
  const Attribute& attribute(int index) const { return attributes[static_cast<size_t>(index)]; }
};

/// What an instruction makes of undefined elements of an operand that it reads.
enum class UndefinedUse : uint8_t {
  kReported,     ///< an address, a decision: all of the result depends on them
  kPassedOn,     ///< element i of dst becomes undefined, nothing else depends on it
  kTransposed,   ///< element (p, i) of the operand goes to element (i, p) of dst
  kReduced,      ///< element (p, i, j) goes to element (p, i) of dst: a sum over j
  kToRow,        ///< element (p, i) goes to all of row p of dst
  kToColumn,     ///< element (p, i) goes to all of column i of dst
  kColumnToRow,  ///< element (p, i) goes to all of row i of dst
  kKept,         ///< they stay as they are unless the instruction writes them
};

struct OperandField {
  const char* name;
  Direction direction;
  bool optional = false;
  /// A written operand that is read as well when this attribute is true (accumulation); -1 never.
  int8_t read_if_attribute = -1;
  bool per_partition = false;  ///< [P, 1], used for all elements of its partition
  /// Ignored for element-wise instructions and Direction::kReadWrite: undefined_use() knows both.
  UndefinedUse undefined = UndefinedUse::kReported;
};

/// kAccumulate: an Accumulate, which the Builder resolves to kOverwrite or kAdd.
enum class AttributeKind : uint8_t {
  kInteger,
  kReal,
  kFlag,
  kAluOp,
  kActivation,
  kDescriptor,
  kRegister,  ///< a register of the sequencer that the instruction reads, -1 none
  kAccumulate,
  kReplicaGroups,  ///< index into Program::replica_groups; always attribute 0
};

/// How a matrix product treats the contents of its destination.
enum class Accumulate : uint8_t {
  kOverwrite,
  kAdd,
  kAuto,  ///< the first write to a location overwrites, later ones add (accumulate=None)
};

struct AttributeField {
  const char* name;
  AttributeKind kind;
};

/// Whether an instruction meets one of another core or another rank.
enum class Synchronisation : uint8_t {
  kNone,
  kBarrier,     ///< both cores of a two-core program wait for each other
  kExchange,    ///< both send operand 1 (src) to operand 0 (dst) of the other
  kCollective,  ///< the same core of all ranks of a replica group
};

/// Whether the instruction after it on its core waits for another core of the program.
inline bool meets_other_core(Synchronisation synchronisation) {
  return synchronisation == Synchronisation::kBarrier ||
         synchronisation == Synchronisation::kExchange;
}

/// The table entry of an instruction. `check` sees a Draft whose engine is already chosen.
struct InstructionType {
  std::string_view name;
  std::span<const OperandField> operands;
  std::span<const AttributeField> attributes;
  /// The engine for EngineKind::kAuto.
  EngineKind (*choose_engine)(const Draft&, const Architecture&);
  /// Throws KernelError in the vendor's wording where it exists.
  void (*check)(const Draft&, const Architecture&);
  /// Computes bytes and never sees time. Null for instructions only the sequencer executes, and for
  /// collectives (device/execute/collective_exchange.h). In an exchange, operand 1 is that of the
  /// other core.
  void (*run)(const Instance&);
  /// The hardware resources it needs, never a time.
  Demand (*demand)(const Draft&, const Architecture&);
  Synchronisation synchronises = Synchronisation::kNone;
  /// For instructions with indirect operands: the operand with their rows, and the attribute that
  /// says whether rows out of range are skipped; -1 for others.
  int index_operand = -1;
  int oob_skip_attribute = -1;
  /// Without its optional operands, except those of OperandField::per_partition, each element of a
  /// result depends only on the elements at its position: it may be emitted for parts.
  bool is_elementwise = false;
  /// Without the same operands, the compiler may combine instances of a statement into one
  /// instruction with another free dimension, outermost (device/compiler/batching).
  bool is_stackable = false;
};

/// A table entry whose instruction is element-wise.
constexpr InstructionType as_elementwise(InstructionType type) {
  type.is_elementwise = true;
  return type;
}
/// A table entry whose instances may be combined.
constexpr InstructionType as_stackable(InstructionType type) {
  type.is_stackable = true;
  return type;
}

/// All entries; the one list is device/isa/list.h.
std::span<const InstructionType* const> instruction_list();

}  // namespace neuron_sim
