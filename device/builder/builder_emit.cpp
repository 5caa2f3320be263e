// Builder::append: an instruction is checked, then its operands are stored compactly.

#include <algorithm>

#include "device/base/errors.h"
#include "device/builder/builder.h"
#include "device/builder/repeated_instruction.h"

namespace neuron_sim {

int64_t Builder::smallest(const Affine& affine) const {
  int64_t value = affine.constant();
  for (int level = 0; level < affine.levels(); ++level) {
    const int64_t bound = open_loops_[static_cast<size_t>(level)].bound;
    value += std::min<int64_t>(0, affine.coefficient(level) * std::max<int64_t>(bound - 1, 0));
  }
  return value;
}

int64_t Builder::largest(const Affine& affine) const { return -smallest(affine * -1); }

void Builder::check_addressing(const View& view) const {
  const auto levels = static_cast<int>(open_loops_.size());
  if (view.offset().levels() > levels || view.partition().levels() > levels ||
      view.ring_index().levels() > levels) {
    fail(text("address of tensor '", view.describe(),
              "' uses the variable of a loop that is closed."),
         ErrorKind::kIndex);
  }
  if (view.ring() > 1) {
    const auto ring = rings_.find(view.tile());
    require(ring != rings_.end() && view.ring() <= ring->second.count,
            "a ring has no more tiles than were allocated");
  }
  if (view.register_index() >= limits().registers) {
    fail(text("address of tensor '", view.describe(), "': register ", view.register_index(),
              " does not exist; the sequencers of ", architecture_.name, " have ",
              limits().registers, " registers."),
         ErrorKind::kIndex);
  }
}

void Builder::check_bounds(const Draft& draft, int index) const {
  const View& view = draft.operand(index);
  const Tile& tile = program_->tiles[static_cast<size_t>(tile_of(view))];
  check_addressing(view);
  int64_t below = 0, above = itemsize(view.dtype());
  const bool on_chip = view.memory() != MemoryKind::kHbm;
  for (int i = on_chip ? 1 : 0; i < view.rank(); ++i) {
    if (i == 0 && view.is_indirect()) continue;
    const int64_t extent = (view.size(i) - 1) * view.dimension(i).stride;
    (extent < 0 ? below : above) += extent;
  }
  const int64_t first = smallest(view.offset()) + below;
  const int64_t last = largest(view.offset()) + above;
  const bool outside_bytes = view.register_index() < 0 && (first < 0 || last > tile.bytes);
  const int64_t first_partition = smallest(view.partition());
  const int64_t last_partition =
      largest(view.partition()) + (view.dimension(0).stride == 0 ? 1 : view.partitions()) - 1;
  const bool outside_partitions =
      on_chip && (first_partition < 0 || last_partition >= tile.partitions);
  if (!outside_bytes && !outside_partitions) return;
  const InstructionType& type = *draft.type;
  fail(text("Out-of-bound access for tensor `", view.label(), "`: operand '",
            type.operands[static_cast<size_t>(index)].name, "' of '", type.name, "' reaches ",
            outside_bytes ? "byte " : "partition ",
            outside_bytes ? (first < 0 ? first : last - 1)
                          : (first_partition < 0 ? first_partition : last_partition),
            ", the tensor has ", outside_bytes ? tile.bytes : tile.partitions,
            outside_bytes ? " bytes" : " partitions", on_chip ? " per partition." : "."),
       ErrorKind::kIndex);
}

void Builder::add_terms(const View& view, Operand& operand) {
  operand.first_term = static_cast<uint32_t>(program_->terms.size());
  for (int level = 0; level < static_cast<int>(open_loops_.size()); ++level) {
    Term term;
    term.level = level;
    term.offset_step = view.offset().coefficient(level);
    term.partition_step = static_cast<int32_t>(view.partition().coefficient(level));
    if (view.ring() > 1) {
      term.ring_step = static_cast<int32_t>(view.ring_index().coefficient(level));
    }
    if (term.offset_step == 0 && term.partition_step == 0 && term.ring_step == 0) continue;
    program_->terms.push_back(term);
    ++operand.term_count;
  }
}

Operand Builder::store_operand(const Draft& draft, const InstructionType& type, int index) {
  const View& view = draft.operand(index);
  const OperandField& field = type.operands[static_cast<size_t>(index)];
  Operand operand;
  if (!view.present()) return operand;
  const TileId id = tile_of(view);
  const Tile& tile = program_->tiles[static_cast<size_t>(id)];
  const bool on_chip = view.memory() != MemoryKind::kHbm;
  operand.tile = id;
  operand.memory = view.memory();
  operand.dtype = view.dtype();
  operand.direction = field.direction;
  if (field.read_if_attribute >= 0 && draft.attribute(field.read_if_attribute).flag()) {
    operand.direction = Direction::kReadWrite;
  }
  operand.rank = static_cast<int8_t>(view.rank() - 1);
  operand.register_index = static_cast<int16_t>(view.register_index());
  operand.register_scale = view.register_scale();
  operand.indirect = view.is_indirect();
  operand.index_rows = view.index_rows();
  operand.partitions = static_cast<int32_t>(view.partitions());
  operand.partition_stride = view.dimension(0).stride;
  operand.offset = view.offset().constant() + (on_chip ? tile.address : 0);
  operand.start_partition =
      on_chip ? tile.start_partition + static_cast<int32_t>(view.partition().constant()) : 0;
  operand.ring = view.ring();
  operand.ring_start = static_cast<int32_t>(view.ring_index().constant());
  if (view.ring() > 1) operand.ring_stride = rings_.at(view.tile()).pitch;
  std::vector<Repetition> repetitions;
  repetitions.reserve(kMaximumRank);
  for (int i = 1; i < view.rank(); ++i) {
    operand.free[static_cast<size_t>(i) - 1] = view.dimension(i);
    repetitions.push_back({view.dimension(i).stride, view.size(i)});
  }
  if (!on_chip) repetitions.push_back({operand.partition_stride, operand.partitions});
  operand.region = region_of(operand.offset, itemsize(view.dtype()), std::move(repetitions));
  if (on_chip && operand.register_index >= 0) {
    // The address depends on data, the time must not: any byte of the tile may be touched.
    operand.region = region_of(tile.address, tile.bytes, {});
    operand.region.exact = false;
  }
  if (on_chip) {
    operand.region.partition = operand.start_partition;
    operand.region.partitions = operand.partition_stride == 0 ? 1 : operand.partitions;
  } else if (operand.indirect || operand.register_index >= 0) {
    operand.region = region_of(0, std::max<int64_t>(tile.bytes, 1), {});
    operand.region.exact = false;
  }
  return operand;
}

uint32_t Builder::store_demand(const Demand& demand) {
  program_->demands.push_back(demand);
  return static_cast<uint32_t>(program_->demands.size() - 1);
}

std::vector<uint32_t> Builder::loop_path() const {
  std::vector<uint32_t> path;
  path.reserve(open_loops_.size());
  for (const OpenLoop& open : open_loops_) path.push_back(open.loop);
  return path;
}

namespace {

/// What an instruction has of its draft outside of the Program's pools.
Instruction instruction_of(const Draft& draft, int32_t source_line) {
  Instruction instruction;
  instruction.type = draft.type;
  instruction.engine = draft.engine;
  instruction.core = static_cast<uint8_t>(draft.core);
  instruction.operand_count = static_cast<uint8_t>(draft.stored_count());
  instruction.attribute_count = static_cast<uint8_t>(draft.attribute_count());
  instruction.source_line = source_line;
  return instruction;
}

/// Appends the attributes and the replica groups; the number of the first attribute.
uint32_t store_attributes(Program& program, const Draft& draft) {
  const size_t first = program.attributes.size();
  for (int i = 0; i < draft.attribute_count(); ++i) {
    const auto kind = draft.type->attributes[static_cast<size_t>(i)].kind;
    const bool reads = kind == AttributeKind::kRegister && draft.attribute(i).integer() >= 0;
    if (reads) program.uses_registers = true;
    program.attributes.push_back(draft.attribute(i));
  }
  if (draft.groups != nullptr) {
    program.attributes[first] = Attribute::of(static_cast<int64_t>(program.replica_groups.size()));
    program.replica_groups.push_back(draft.groups);
  }
  return static_cast<uint32_t>(first);
}

}  // namespace

void Builder::append(Draft draft) {
  const InstructionType& type = *draft.type;
  draft.core = core_;
  const bool engine_given = draft.engine != EngineKind::kAuto;
  const std::vector<uint32_t> loops = loop_path();
  std::optional<Repeated> repeated;
  try {
    accumulation_.settle(draft, loops);
    if (draft.engine == EngineKind::kAuto) draft.engine = type.choose_engine(draft, architecture_);
    repeated = repeated_instruction(*program_, draft, source_line_, loop_of_, innermost_loop());
    if (!repeated) {
      type.check(draft, architecture_);
      for (int i = 0; i < draft.operand_count(); ++i) {
        if (!draft.operand(i).present()) continue;
        check_core(draft, i);
        check_bounds(draft, i);
      }
    }
  } catch (const KernelError& error) {
    if (source_line_ < 0) throw;
    fail(text(error.what(), "\n  at ", program_->source_lines[static_cast<size_t>(source_line_)]),
         error.kind());
  }
  accumulation_.note(draft, loops);
  Instruction instruction;
  if (repeated) {
    instruction = program_->instructions[repeated->instruction];
  } else {
    instruction = instruction_of(draft, source_line_);
    instruction.demand = store_demand(type.demand(draft, architecture_));
    instruction.first_attribute = store_attributes(*program_, draft);
  }
  if (!repeated || !repeated->has_same_tiles) {
    instruction.first_operand = static_cast<uint32_t>(program_->operands.size());
    make_room(instruction.operand_count);
    for (int i = 0; i < instruction.operand_count; ++i) {
      Operand operand = store_operand(draft, type, i);
      if (operand.present()) add_terms(draft.operand(i), operand);
      if (operand.indirect || operand.register_index >= 0) program_->uses_registers = true;
      program_->operands.push_back(operand);
    }
  }
  instruction.engine_given = engine_given;
  if (type.synchronises == Synchronisation::kCollective) program_->has_collectives = true;
  push(instruction);
}

void Builder::make_room(size_t count) {
  constexpr size_t kMany = 1024;
  std::vector<Operand>& operands = program_->operands;
  const size_t needed = operands.size() + count;
  if (needed > kMany && needed > operands.capacity()) operands.reserve(4 * needed);
}

void Builder::push(const Instruction& instruction) {
  const auto kind = meets_other_core(instruction.type->synchronises) ? Node::Kind::kSynchronisation
                                                                     : Node::Kind::kInstruction;
  block().push_back({kind, static_cast<uint32_t>(program_->instructions.size())});
  program_->instructions.push_back(instruction);
  loop_of_.push_back(innermost_loop());
  if (appended_) appended_();
}

void Builder::add_edge(size_t consumer, size_t producer) {
  const size_t count = program_->instructions.size();
  const auto refuse = [&](const std::string& why) {
    fail(text("scheduling edge of kernel '", program_->kernel, "': ", why));
  };
  if (consumer >= count || producer >= count) {
    refuse(text("instruction ", std::max(consumer, producer), " does not exist; there are ", count,
                "."));
  }
  const Instruction& waits = program_->instructions[consumer];
  const Instruction& first = program_->instructions[producer];
  const std::string names = text("'", waits.type->name, "' waits for '", first.type->name, "'");
  if (waits.core != first.core) refuse(text(names, " of the other core; core_barrier meets it."));
  if (producer == consumer) refuse(text("'", waits.type->name, "' waits for itself."));
  const bool movable =
      placement_ == TilePlacement::kAutomatic && loop_of_[producer] == loop_of_[consumer];
  if (producer > consumer && !movable) {
    refuse(text(names, ", which is after it in the order of the program."));
  }
  int32_t loop = loop_of_[consumer];
  while (loop >= 0 && loop != loop_of_[producer]) loop = parent_of_[static_cast<size_t>(loop)];
  if (loop != loop_of_[producer]) {
    refuse(text(names, ", which is inside a loop on chip that '", waits.type->name,
                "' is not in: it could wait for what never runs."));
  }
  program_->edges.push_back({static_cast<uint32_t>(consumer), static_cast<uint32_t>(producer)});
}

}  // namespace neuron_sim
