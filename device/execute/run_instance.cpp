#include "device/execute/run_instance.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "device/analysis/register_write.h"
#include "device/base/errors.h"
#include "device/execute/strips.h"
#include "device/program/meeting.h"

namespace neuron_sim {

InstanceRunner::InstanceRunner(const Program& program, std::span<CoreMemory* const> memories,
                               std::span<std::byte* const> arguments)
    : program_(program), arguments_(arguments) {
  require(memories.size() >= program.cores.size(), "every core of a program has its memory");
  std::copy_n(memories.begin(), program.cores.size(), memories_.begin());
}

std::byte* InstanceRunner::tensor(const Tile& tile) const {
  if (tile.constant >= 0) {  // never written
    return const_cast<std::byte*>(program_.constants[static_cast<size_t>(tile.constant)].data());
  }
  const size_t scratch = program_.arguments.size() + static_cast<size_t>(tile.scratch);
  return arguments_[tile.scratch >= 0 ? scratch : static_cast<size_t>(tile.argument)];
}

void InstanceRunner::resolve(const Operand& operand, const Location& location,
                             Access& access) const {
  if (!operand.present()) {
    if (access.present()) access = {};
    return;
  }
  const Tile& tile = program_.tiles[static_cast<size_t>(location.tile)];
  access.memory = operand.memory;
  access.dtype = operand.dtype;
  access.partitions = operand.partitions;
  access.rank = operand.rank;
  access.free = operand.free;
  access.widened = nullptr;
  access.widened_partition_stride = 0;
  access.rows = nullptr;
  if (operand.memory == MemoryKind::kHbm) {
    access.data = tensor(tile) + location.offset;
    access.partition_stride = operand.partition_stride;
    return;
  }
  const CoreMemory& memory = *memories_[tile.core];
  access.data = memory.at(operand.memory, location.partition, location.offset);
  access.partition_stride = memory.pitch(operand.memory) * operand.partition_stride;
  if (tile.widened) {
    const int size = itemsize(operand.dtype);
    access.widened = memory.widened(size, location.partition, location.offset);
    access.widened_partition_stride = memory.widened_pitch(size) / 4 * operand.partition_stride;
  }
}

std::pair<int64_t, int64_t> InstanceRunner::bytes_of(const Operand& operand,
                                                     const Location& location) const {
  int64_t extent = itemsize(operand.dtype);
  for (int i = 0; i < operand.rank; ++i) {
    const Dimension& dimension = operand.free[static_cast<size_t>(i)];
    extent += (dimension.size - 1) * dimension.stride;
  }
  if (operand.memory == MemoryKind::kHbm && !operand.indirect) {
    extent += (operand.partitions - 1) * operand.partition_stride;
  }
  const Tile& tile = program_.tiles[static_cast<size_t>(location.tile)];
  const int64_t first = location.offset - (operand.memory == MemoryKind::kHbm ? 0 : tile.address);
  return {first, first + extent};
}

bool InstanceRunner::reaches(const Instruction& instruction, size_t position,
                             const Location& location) const {
  const Operand& operand = program_.operands_of(instruction)[position];
  const Tile& tile = program_.tiles[static_cast<size_t>(location.tile)];
  const auto [first, end] = bytes_of(operand, location);
  if (first >= 0 && end <= tile.bytes) return true;
  if (skips_out_of_bounds(instruction)) return false;
  throw OutOfBounds(text("Out-of-bound access for tensor `", tile.label, "` by '",
                         instruction.type->name, "': register ", operand.register_index,
                         " addresses bytes [", first, ", ", end, ") of ", tile.bytes, ".",
                         at_source_line(program_, instruction.source_line)),
                    position, -1);
}

bool InstanceRunner::skips_out_of_bounds(const Instruction& instruction) const {
  const int attribute = instruction.type->oob_skip_attribute;
  return attribute >= 0 &&
         program_.attributes_of(instruction)[static_cast<size_t>(attribute)].flag();
}

namespace {

int64_t loaded_index(const std::byte* data, Dtype dtype) {
  if (dtype == Dtype::kInt32) {  // the common case, without a call
    int32_t index = 0;
    std::memcpy(&index, data, sizeof index);
    return index;
  }
  int64_t index = 0;
  load_integers(data, dtype, itemsize(dtype), &index, 1);
  return index;
}

}  // namespace

void InstanceRunner::resolve_rows(const Instruction& instruction, std::span<Access> accesses) {
  const InstructionType& type = *instruction.type;
  const auto operands = program_.operands_of(instruction);
  const bool skip = skips_out_of_bounds(instruction);
  const Access& index = accesses[static_cast<size_t>(type.index_operand)];
  for (size_t i = 0; i < accesses.size(); ++i) {
    if (!accesses[i].present() || !operands[i].indirect) continue;
    rows_.assign(static_cast<size_t>(accesses[i].partitions), -1);
    moved_rows_ = 0;
    for (int64_t p = 0; p < accesses[i].partitions; ++p) {
      // Down the partitions first, then the next column: index.T.flatten()[p].
      const int64_t column = p / index.partitions * index.free[0].stride;
      const int64_t row = loaded_index(index.partition(p % index.partitions) + column, index.dtype);
      if (row >= 0 && row < operands[i].index_rows) {
        rows_[static_cast<size_t>(p)] = static_cast<int32_t>(row);
        ++moved_rows_;
      } else if (!skip) {
        const Tile& tile = program_.tiles[static_cast<size_t>(operands[i].tile)];
        throw OutOfBounds(text("Out-of-bound access for tensor `", tile.label,
                               "` on dimension 0: index ", row, " of partition ", p,
                               " exceed dimension size of ", operands[i].index_rows,
                               " (instruction '", type.name, "').",
                               at_source_line(program_, instruction.source_line)),
                          i, p);
      }
    }
    accesses[i].rows = rows_.data();
  }
}

void InstanceRunner::widen(const Access& access) {
  // The fp32 copy has the operand's strides scaled by 4 / itemsize.
  const int size = itemsize(access.dtype);
  std::array<Dimension, kMaximumFreeDimensions> free = access.free;
  const auto rank = static_cast<size_t>(access.rank);
  int64_t run = 1;
  size_t outer = rank;
  while (outer > 0 && (free[outer - 1].stride == run * size || free[outer - 1].size == 1)) {
    run *= free[--outer].size;
  }
  for (int64_t p = 0; p < access.partitions; ++p) {
    const std::byte* source = access.partition(p);
    float* target = access.widened + p * access.widened_partition_stride;
    std::array<int64_t, kMaximumFreeDimensions> at{};
    while (true) {
      int64_t offset = 0;
      for (size_t d = 0; d < outer; ++d) offset += at[d] * free[d].stride;
      load_floats(source + offset, access.dtype, size, target + offset / size, run);
      size_t d = outer;
      while (d > 0 && ++at[d - 1] == free[d - 1].size) at[--d] = 0;
      if (d == 0) break;
    }
  }
}

namespace {

/// Calls `compute`, whose errors name the instruction's source line.
template <typename Compute>
void with_source_line(const Program& program, const Instruction& instruction, Compute compute) {
  try {
    compute();
  } catch (const OutOfBounds&) {
    throw;  // has its line
  } catch (const KernelError& error) {
    const std::string line = at_source_line(program, instruction.source_line);
    const std::string sentence = error.what();
    if (line.empty() || sentence.find("\n  at ") != std::string::npos) throw;
    fail(sentence + line, error.kind());
  }
}

/// `count` partitions of an operand from `first` on.
Access strip_of(const Access& whole, int64_t first, int64_t count) {
  Access strip = whole;
  if (!whole.present()) return strip;
  strip.data += first * whole.partition_stride;
  strip.partitions = static_cast<int32_t>(count);
  if (whole.widened != nullptr) strip.widened += first * whole.widened_partition_stride;
  return strip;
}

}  // namespace

void InstanceRunner::run(const Instruction& instruction, const Location* locations,
                         const ReplacedOperands& replaced) {
  with_source_line(program_, instruction, [&] { compute(instruction, locations, replaced); });
}

void InstanceRunner::run(const InstanceGraph& graph, size_t node) {
  const std::span<const PlannedInstance> instances = graph.node(node);
  if (instances.size() > 1) return run_strips(graph, instances);
  const PlannedInstance& instance = instances.front();
  run(program_.instructions[instance.instruction], graph.locations.data() + instance.first_location,
      graph.replaced_of(instance));
}

void InstanceRunner::run_strips(const InstanceGraph& graph,
                                std::span<const PlannedInstance> instances) {
  whole_.clear();
  int64_t elements = 1;
  for (const PlannedInstance& instance : instances) {
    const Instruction& instruction = program_.instructions[instance.instruction];
    const ReplacedOperands replaced = graph.replaced_of(instance);
    const auto operands = program_.operands_of(instruction);
    const size_t first = whole_.size();
    whole_.resize(first + instruction.type->operands.size());
    for (size_t i = 0; i < operands.size(); ++i) {
      Access& access = whole_[first + i];
      resolve(replaced.at(i, operands[i]), graph.locations[instance.first_location + i], access);
      if (access.present()) elements = std::max(elements, access.elements());
    }
  }
  moved_rows_ = -1;
  moves_ = true;
  const int64_t partitions = whole_.front().partitions, step = strip_partitions(elements);
  for (int64_t first = 0; first < partitions; first += step) {
    auto whole = whole_.begin();
    for (const PlannedInstance& instance : instances) {
      const Instruction& instruction = program_.instructions[instance.instruction];
      const std::span<Access> accesses(accesses_.data(), instruction.type->operands.size());
      for (Access& access : accesses) {
        access = strip_of(*whole++, first, std::min(step, partitions - first));
      }
      with_source_line(program_, instruction, [&] { call(instruction, accesses); });
      widen_results(instruction);
    }
  }
}

void InstanceRunner::widen_results(const Instruction& instruction) {
  const auto operands = program_.operands_of(instruction);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].writes() && accesses_[i].widened != nullptr) widen(accesses_[i]);
  }
}

void InstanceRunner::compute(const Instruction& instruction, const Location* locations,
                             const ReplacedOperands& replaced) {
  const auto operands = program_.operands_of(instruction);
  bool indirect = false, moves = true, widened = false;
  for (size_t i = 0; i < operands.size(); ++i) {
    resolve(replaced.at(i, operands[i]), locations[i], accesses_[i]);
    indirect = indirect || operands[i].indirect;
    widened = widened || accesses_[i].widened != nullptr;
    if (operands[i].register_index >= 0) {
      moves = reaches(instruction, i, locations[i]) && moves;
    }
  }
  const std::span<Access> accesses(accesses_.data(), instruction.type->operands.size());
  for (Access& absent : accesses.subspan(operands.size())) {
    if (absent.present()) absent = {};
  }
  moved_rows_ = -1;
  moves_ = moves;
  if (!moves) {  // oob_skip
    if (indirect) moved_rows_ = 0;
    return;
  }
  if (indirect) resolve_rows(instruction, accesses);
  if (observer_ != nullptr) observer_->before(accesses);
  if (instruction.type->synchronises == Synchronisation::kCollective) {
    require(member_.ranks != nullptr, "a program with collectives runs on ranks");
    member_.ranks->meet(member_.rank, program_, instruction, accesses);
  } else {
    Access later;
    if (replaced.later != nullptr) resolve(*replaced.later, *replaced.later_location, later);
    call(instruction, accesses, replaced.later != nullptr ? &later : nullptr);
  }
  if (widened) widen_results(instruction);
}

const ReplicaGroups* InstanceRunner::groups_of(const Instruction& instruction) const {
  const auto fields = instruction.type->attributes;
  if (fields.empty() || fields[0].kind != AttributeKind::kReplicaGroups) return nullptr;
  const int64_t index = program_.attributes_of(instruction)[0].integer();
  return program_.replica_groups[static_cast<size_t>(index)].get();
}

void InstanceRunner::call(const Instruction& instruction, std::span<const Access> accesses,
                          const Access* later) {
  Instance instance;
  instance.engine = instruction.engine;
  instance.architecture = program_.architecture;
  instance.operands = accesses;
  instance.attributes = program_.attributes_of(instruction);
  if (program_.demands[instruction.demand].steps[0].unit == Unit::kSequencer) {
    instance.registers = &registers(instruction.core, instruction.engine);
  }
  instance.rank = member_.rank;
  instance.later = later;
  if (!program_.replica_groups.empty()) instance.groups = groups_of(instruction);
  instruction.type->run(instance);
  if (program_.uses_registers && !instruction.engine_given) share_register(instruction);
}

void InstanceRunner::share_register(const Instruction& instruction) {
  const auto write = register_write(program_, instruction);
  if (!write) return;
  const auto index = static_cast<size_t>(write->dst);
  const int64_t value = registers(instruction.core, instruction.engine).values[index];
  for (RegisterFile& file : (*registers_)[instruction.core]) file.values[index] = value;
}

void InstanceRunner::receive(const Instruction& target, const Location* target_locations,
                             const Instruction& source, const Location* source_locations) {
  std::array<Access, 2> accesses;
  const auto resolve_checked = [&](const Instruction& instruction, const Location* locations,
                                   size_t operand) {
    const Operand& stored = program_.operands_of(instruction)[operand];
    if (stored.register_index >= 0) reaches(instruction, operand, locations[operand]);
    resolve(stored, locations[operand], accesses[operand]);
  };
  resolve_checked(target, target_locations, kExchangeTarget);
  resolve_checked(source, source_locations, kExchangeSource);
  call(target, accesses);
  if (accesses[kExchangeTarget].widened != nullptr) widen(accesses[kExchangeTarget]);
}

void InstanceRunner::fill(const Tile& tile) {
  const int size = itemsize(tile.dtype);
  if (tile.memory == MemoryKind::kHbm) {
    return fill_uninitialised(tensor(tile), tile.dtype, size, tile.bytes / size);
  }
  const CoreMemory& memory = *memories_[tile.core];
  for (int64_t p = 0; p < tile.partitions; ++p) {
    std::byte* data = memory.at(tile.memory, tile.start_partition + p, tile.address);
    const int64_t count = tile.bytes / size;
    fill_uninitialised(data, tile.dtype, size, count);
    if (!tile.widened) continue;
    load_floats(data, tile.dtype, size,
                memory.widened(size, tile.start_partition + p, tile.address), count);
  }
}

}  // namespace neuron_sim
