#include "device/check/precision_loss.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "device/base/errors.h"
#include "device/check/float_elements.h"
#include "device/check/iterations.h"
#include "device/check/reports.h"
#include "device/numerics/operators.h"

namespace neuron_sim {
namespace {

/// Bytes of an element in a copy, and its dtype there.
int64_t copied_size(Dtype dtype) { return is_float(dtype) ? 4 : itemsize(dtype); }
Dtype copied_dtype(Dtype dtype) { return is_float(dtype) ? Dtype::kFloat32 : dtype; }

/// Element i of row p of `from`, converted to the dtype of `to`.
void convert(const Access& from, const Access& to) {
  const auto rank = static_cast<size_t>(from.rank);
  std::array<int64_t, kMaximumFreeDimensions> at{};
  const int64_t count = from.elements();
  for (int64_t p = 0; p < from.partitions; ++p) {
    if (from.rows != nullptr && from.rows[p] < 0) continue;
    at = {};
    for (int64_t i = 0; i < count; ++i) {
      int64_t source = 0, target = 0;
      for (size_t d = 0; d < rank; ++d) {
        source += at[d] * from.free[d].stride;
        target += at[d] * to.free[d].stride;
      }
      if (from.dtype == to.dtype) {
        std::memcpy(to.partition(p) + target, from.partition(p) + source,
                    static_cast<size_t>(itemsize(from.dtype)));
      } else {
        float value = 0;
        load_floats(from.partition(p) + source, from.dtype, 0, &value, 1);
        std::memcpy(to.partition(p) + target, &value, sizeof(value));
      }
      for (size_t d = rank; d > 0 && ++at[d - 1] == from.free[d - 1].size; --d) at[d - 1] = 0;
    }
  }
}

}  // namespace

PrecisionLoss::PrecisionLoss(const Program& program, std::span<CoreMemory* const> memories)
    : program_(program),
      memories_(memories),
      depths_(loop_depths(program)),
      mixed_(program.tiles.size()),
      copies_(program.tiles.size()) {
  for (size_t i = 0; i < program.tiles.size(); ++i) {
    const Tile& tile = program.tiles[i];
    mixed_[i] = tile.placed || is_packed(tile.dtype) || tile.memory == MemoryKind::kRandomState;
  }
  for (const Operand& operand : program.operands) {
    if (!operand.present()) continue;
    for (int32_t i = 0; i < operand.ring; ++i) {
      const size_t id = static_cast<size_t>(operand.tile) + static_cast<size_t>(i);
      if (operand.dtype != program.tiles[id].dtype) mixed_[id] = true;
    }
  }
  for (const Instruction& instruction : program.instructions) {
    computable_.push_back(can_compute(program, instruction));
  }
}

bool PrecisionLoss::can_compute(const Program& program, const Instruction& instruction) {
  const InstructionType& type = *instruction.type;
  if (type.run == nullptr || type.synchronises != Synchronisation::kNone) return false;
  if (program.demands[instruction.demand].steps[0].unit == Unit::kSequencer) return false;
  const auto attributes = program.attributes_of(instruction);
  for (size_t i = 0; i < attributes.size(); ++i) {
    const AttributeKind kind = type.attributes[i].kind;
    if (kind == AttributeKind::kRegister && attributes[i].integer() >= 0) return false;
    if (kind == AttributeKind::kAluOp && is_bitwise(attributes[i].as<AluOp>())) return false;
  }
  return true;
}

PrecisionLoss::Copy& PrecisionLoss::copy_of(size_t operand, const Access& real) {
  const Location& location = instance_.locations[operand];
  Copy& copy = copies_[static_cast<size_t>(location.tile)];
  if (!copy.bytes.empty()) return copy;
  const Tile& tile = program_.tiles[static_cast<size_t>(location.tile)];
  const int64_t elements = tile.bytes / itemsize(tile.dtype);
  const bool in_hbm = tile.memory == MemoryKind::kHbm;
  Access whole, target;
  whole.partitions = target.partitions = in_hbm ? 1 : tile.partitions;
  whole.rank = target.rank = 1;
  whole.dtype = tile.dtype;
  whole.free[0] = {elements, itemsize(tile.dtype)};
  whole.data = in_hbm ? real.data - location.offset
                      : memories_[tile.core]->at(tile.memory, tile.start_partition, tile.address);
  whole.partition_stride = in_hbm ? 0 : memories_[tile.core]->pitch(tile.memory);
  copy.pitch = elements * copied_size(tile.dtype);
  copy.bytes.resize(static_cast<size_t>(target.partitions * copy.pitch));
  target.dtype = copied_dtype(tile.dtype);
  target.free[0] = {elements, copied_size(tile.dtype)};
  target.data = copy.bytes.data();
  target.partition_stride = copy.pitch;
  convert(whole, target);
  return copy;
}

Access PrecisionLoss::shadow_of(size_t operand, const Access& real) {
  if (!real.present()) return real;
  const Location& location = instance_.locations[operand];
  const Tile& tile = program_.tiles[static_cast<size_t>(location.tile)];
  Copy& copy = copy_of(operand, real);
  const int64_t scale = copied_size(tile.dtype), size = itemsize(tile.dtype);
  const auto scaled = [&](int64_t bytes) { return bytes / size * scale; };
  Access shadow = real;
  shadow.widened = nullptr;
  shadow.dtype = copied_dtype(tile.dtype);
  for (Dimension& dimension : shadow.free) dimension.stride = scaled(dimension.stride);
  if (tile.memory == MemoryKind::kHbm) {
    shadow.data = copy.bytes.data() + scaled(location.offset);
    shadow.partition_stride = scaled(real.partition_stride);
  } else {
    shadow.data = copy.bytes.data() + (location.partition - tile.start_partition) * copy.pitch +
                  scaled(location.offset - tile.address);
    shadow.partition_stride = real.partition_stride == 0 ? 0 : copy.pitch;
  }
  return shadow;
}

void PrecisionLoss::before(std::span<const Access> operands) {
  computed_ = false;
  const Instruction& instruction = program_.instructions[instance_.instruction];
  if (!computable_[instance_.instruction]) return;
  std::vector<Access> shadows;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].present() && !has_copy(instance_.locations[i].tile)) return;
    shadows.push_back(shadow_of(i, operands[i]));
  }
  Instance instance;
  instance.engine = instruction.engine;
  instance.architecture = program_.architecture;
  instance.operands = shadows;
  instance.attributes = program_.attributes_of(instruction);
  RegisterFile registers;
  instance.registers = &registers;
  try {
    instruction.type->run(instance);
    computed_ = true;
  } catch (const KernelError&) {
    // Not an instruction for fp32.
  } catch (const SimulatorBug&) {
  }
}

void PrecisionLoss::after(const ObservedInstance& instance, std::span<const Access> operands,
                          const InstanceFacts& facts) {
  if (!facts.moves) return;
  const auto stored = program_.operands_of(program_.instructions[instance.instruction]);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!stored[i].present() || !stored[i].writes()) continue;
    if (!has_copy(instance.locations[i].tile)) continue;
    if (!computed_) {
      take_over(i, operands[i]);
    } else if (is_low_precision(stored[i].dtype)) {
      compare(instance, i, operands[i]);
    }
  }
}

void PrecisionLoss::take_over(size_t operand, const Access& real) {
  convert(real, shadow_of(operand, real));
}

void PrecisionLoss::compare(const ObservedInstance& instance, size_t operand, const Access& real) {
  std::vector<float> exact;
  each_float_row(shadow_of(operand, real),
                 [&](const float* values, int64_t count, int64_t, int64_t) {
                   exact.insert(exact.end(), values, values + count);
                 });
  double largest = 0, difference = 0;
  int64_t partition = 0;
  size_t next = 0;
  each_float_row(real, [&](const float* values, int64_t count, int64_t p, int64_t) {
    for (int64_t i = 0; i < count; ++i, ++next) {
      const double of = exact[next];
      if (!std::isfinite(of) || !std::isfinite(values[i])) continue;
      largest = std::max(largest, std::abs(of));
      if (std::abs(of - values[i]) <= difference) continue;
      difference = std::abs(of - values[i]);
      partition = p;
    }
  });
  if (largest == 0) return;
  const TileId id = instance.locations[operand].tile;
  Worst& worst = worst_[program_.tiles[static_cast<size_t>(id)].label];
  if (difference / largest <= worst.error) return;
  const int64_t* variables = instance.variables;
  worst = {difference / largest,
           instance.instruction,
           operand,
           id,
           {variables, variables + depths_[instance.instruction]},
           partition};
}

std::vector<Finding> PrecisionLoss::take() {
  std::vector<const Worst*> order;
  for (const auto& [label, worst] : worst_) {
    if (worst.tile != kNoTile) order.push_back(&worst);
  }
  std::sort(order.begin(), order.end(),
            [](const Worst* a, const Worst* b) { return a->error > b->error; });
  std::vector<Finding> result;
  for (const Worst* worst : order) {
    Finding finding =
        finding_at(Rule::kPrecisionLost, program_, worst->instruction, worst->operand, worst->tile);
    finding.index = worst->index;
    finding.place.partitions = ByteRange{worst->partition, worst->partition + 1};
    finding.message =
        text(describe(program_, InstanceName{worst->instruction, worst->index}), " leaves tile '",
             finding.tile, "' (", name(program_.tiles[static_cast<size_t>(worst->tile)].dtype),
             ") off by ", worst->error, " of its largest value, most in partition ",
             worst->partition, ", against the same program in fp32.");
    result.push_back(std::move(finding));
  }
  return result;
}

}  // namespace neuron_sim
