#include "device/compiler/batching/gather_operands.h"

#include <algorithm>
#include <map>
#include <utility>

#include "device/analysis/access_runs.h"
#include "device/base/errors.h"
#include "device/base/interruption.h"
#include "device/compiler/batching/batch_narrow_operations.h"
#include "device/compiler/line/access_pattern.h"
#include "device/compiler/tiles/tile_uses.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/tensor/nc_matmul.h"
#include "device/isa/tensor/nc_transpose.h"

namespace neuron_sim {
namespace {

/// Copies of operands, each at the distance `step` from the one before it, in one instruction.
struct Gathering {
  Operand first;              ///< the source of the first one
  int64_t step = 0;           ///< bytes in the source; known from the second one on
  std::vector<TileUse> uses;  ///< the operands, in program order
};

/// Whether two operands differ in nothing but their offset.
bool same_shape(const Operand& a, const Operand& b) {
  const auto equal = [](const Dimension& x, const Dimension& y) {
    return x.size == y.size && x.stride == y.stride;
  };
  return a.tile == b.tile && a.dtype == b.dtype && a.rank == b.rank &&
         a.partitions == b.partitions && a.start_partition == b.start_partition &&
         std::equal(a.free.begin(), a.free.begin() + a.rank, b.free.begin(), equal);
}

class Gatherings {
 public:
  explicit Gatherings(StraightLine& line) : line_(line), uses_(line) {}

  void run() {
    for (uint32_t i = 0; i < line_.instructions.size(); ++i) {
      poll_interruption();
      const StraightInstruction& instance = line_.instructions[i];
      if (!same_run(instance)) open_.clear();
      const auto operands = line_.operands_of(instance);
      for (uint32_t operand = 0; operand < operands.size(); ++operand) {
        if (is_scattered(instance, operand)) add({i, operand});
      }
    }
    insert();
  }

 private:
  /// Whether the instance is in the same run of its innermost loop as the one before it.
  bool same_run(const StraightInstruction& instance) {
    const Nest& nest = line_.nest_of(instance);
    const Nest* before = std::exchange(last_, &nest);
    if (before == nullptr || before->depth != nest.depth || nest.depth == 0) return false;
    return std::equal(nest.loops.begin(), nest.loops.begin() + nest.depth, before->loops.begin()) &&
           std::equal(nest.iteration.begin(), nest.iteration.begin() + (nest.depth - 1),
                      before->iteration.begin());
  }

  /// Whether the PE array would read an operand in pieces.
  bool is_scattered(const StraightInstruction& instance, uint32_t index) const {
    if (instance.instruction.engine != EngineKind::kTensor) return false;
    const InstructionType* type = instance.instruction.type;
    const bool product = type == &kNcMatmul;
    if (!product && type != &kNcTranspose) return false;
    const Operand& operand = line_.operands_of(instance)[index];
    if (operand.memory != MemoryKind::kSbuf || operand.direction != Direction::kRead ||
        line_.tile_of(operand).placed ||
        (operand.partition_stride != 1 && operand.partitions > 1)) {
      return false;
    }
    constexpr uint32_t kStationaryOfBoth = NcMatmul::kStationary;
    static_assert(kStationaryOfBoth == static_cast<uint32_t>(NcTranspose::kData));
    const Demand& demand = line_.demands[instance.instruction.demand];
    if (index == kStationaryOfBoth) return demand.steps[0].strided;
    return product && itemsize(operand.dtype) == 4 && innermost_run(operand).outer > 0;
  }

  /// Adds an operand to the copy that those before it in its loop share, or begins a copy.
  void add(const TileUse& use) {
    const Operand& operand = operand_at(line_, use);
    const uint32_t statement = line_.instructions[use.instance].statement;
    const auto opened = open_.find({statement, use.operand});
    Gathering* current = opened == open_.end() ? nullptr : &gatherings_[opened->second];
    if (current != nullptr && joins(*current, use)) {
      current->uses.push_back(use);
      return;
    }
    open_[{statement, use.operand}] = gatherings_.size();
    gatherings_.push_back({operand, 0, {use}});
  }

  bool joins(Gathering& gathering, const TileUse& use) const {
    const Operand& operand = operand_at(line_, use);
    if (!same_shape(gathering.first, operand)) return false;
    const auto count = static_cast<int64_t>(gathering.uses.size());
    const int64_t distance = operand.offset - gathering.first.offset;
    const int64_t step = count == 1 ? distance : gathering.step;
    const bool fits = (count + 1) * free_elements(operand) <= kBatchElements &&
                      std::ssize(merged_dimensions(operand)) < kMaximumFreeDimensions;
    if (step < 0 || distance != count * step || !(step == 0 || fits)) return false;
    if (is_written(operand.tile, gathering.uses.front().instance, use.instance)) return false;
    gathering.step = step;
    return true;
  }

  bool is_written(TileId tile, uint32_t first, uint32_t last) const {
    const std::span<const TileUse> uses = uses_.of(tile);
    return std::any_of(uses.begin(), uses.end(), [&](const TileUse& use) {
      return use.instance > first && use.instance < last && operand_at(line_, use).writes();
    });
  }

  /// Puts each copy before the first instance that reads it.
  void insert() {
    std::multimap<uint32_t, StraightInstruction> copies;  // by the instance that they precede
    for (const Gathering& gathering : gatherings_) {
      const uint32_t first = gathering.uses.front().instance;
      copies.emplace(first, copy_of(gathering));
      for (const TileUse& use : gathering.uses)
        renew_demand(line_, line_.instructions[use.instance]);
    }
    std::vector<StraightInstruction> order;
    order.reserve(line_.instructions.size() + copies.size());
    for (uint32_t i = 0; i < line_.instructions.size(); ++i) {
      const auto [begin, end] = copies.equal_range(i);
      for (auto copy = begin; copy != end; ++copy) order.push_back(copy->second);
      order.push_back(line_.instructions[i]);
    }
    line_.instructions = std::move(order);
  }

  /// The instruction that makes a copy; its readers read the new tile.
  StraightInstruction copy_of(const Gathering& gathering) {
    const int64_t matrices = gathering.step == 0 ? 1 : std::ssize(gathering.uses);
    const Operand target = target_of(gathering.first, matrices);
    const int64_t bytes = line_.tile_of(target).bytes / matrices;
    Operand source = gathering.first;
    const std::vector<Dimension> dimensions = merged_dimensions(source);
    source.free.fill({});
    std::copy(dimensions.begin(), dimensions.end(), source.free.begin() + (matrices > 1 ? 1 : 0));
    if (matrices > 1) source.free[0] = {matrices, gathering.step};
    source.rank = static_cast<int8_t>(dimensions.size() + (matrices > 1 ? 1 : 0));
    renew_region(line_, source);
    for (size_t i = 0; i < gathering.uses.size(); ++i) {
      Operand& reader = operand_at(line_, gathering.uses[i]);
      const Operand own = reader;
      reader = target;
      reader.direction = own.direction;
      reader.rank = own.rank;
      reader.free = own.free;
      int64_t stride = itemsize(own.dtype);
      for (auto d = static_cast<size_t>(own.rank); d-- > 0;) {
        reader.free[d].stride = stride;
        stride *= own.free[d].size;
      }
      if (matrices > 1) reader.offset += static_cast<int64_t>(i) * bytes;
      renew_region(line_, reader);
    }
    return instruction_of(target, source, line_.instructions[gathering.uses.front().instance]);
  }

  /// A new tile for so many operands, whole.
  Operand target_of(const Operand& operand, int64_t count) {
    const int64_t elements = count * free_elements(operand), size = itemsize(operand.dtype);
    const TileId id = add_version(line_, operand.tile);
    Tile& tile = line_.tiles.back();
    tile.label = text("gathered ", tile.label);
    tile.dtype = operand.dtype;
    tile.bytes = elements * size;
    tile.start_partition = operand.start_partition;
    tile.partitions = operand.partitions;
    tile.widened = false;
    Operand target = operand;
    target.tile = id;
    target.direction = Direction::kWrite;
    target.partition_stride = 1;
    target.offset = tile.address;
    target.rank = 1;
    target.free.fill({});
    target.free[0] = {elements, size};
    renew_region(line_, target);
    return target;
  }

  StraightInstruction instruction_of(const Operand& dst, const Operand& src,
                                     const StraightInstruction& reader) {
    const Draft form = TensorCopy{}.draft();
    StraightInstruction copy = reader;
    Instruction& instruction = copy.instruction;
    instruction.type = form.type;
    instruction.engine_given = false;
    instruction.operand_count = static_cast<uint8_t>(form.operands.size());
    instruction.first_operand = static_cast<uint32_t>(line_.operands.size());
    line_.operands.insert(line_.operands.end(), {dst, src});
    instruction.attribute_count = 0;
    instruction.engine = form.type->choose_engine(draft_of(line_, copy), *line_.architecture);
    require(is_legal(line_, copy), "what a product reads can be copied");
    renew_demand(line_, copy);
    return copy;
  }

  StraightLine& line_;
  const TileUses uses_;
  const Nest* last_ = nullptr;
  std::vector<Gathering> gatherings_;
  /// By statement and operand: the copies that the next instances of a loop may join.
  std::map<std::pair<uint32_t, uint32_t>, size_t> open_;
};

}  // namespace

void gather_operands(StraightLine& line) { Gatherings(line).run(); }

}  // namespace neuron_sim
