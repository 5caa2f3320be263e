#include "device/execute/loads_in_place.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "device/analysis/access_runs.h"
#include "device/execute/transfer_nest.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/tensor/nc_transpose.h"

namespace neuron_sim {
namespace {

// Elements of a transposed operand that products may read in place, per element of it: a product
// transposes them anew.
constexpr int64_t kTransposedReads = 2;

/// Bytes in SBUF or PSUM that are elements of a tensor.
struct Load {
  std::vector<uint32_t> writers{};  // instances: transfers, or moves of what a transfer loaded
  Region region;
  CopyNest nest;
  Location target, source;
  int item = 0;
  bool moved = false;
  bool overwritten = false;  // in part
  bool copied = false;       // has a reader that needs the bytes on chip
  int64_t elements = 0, elements_read = 0;
  std::vector<OperandInPlace> readers{};
  std::vector<uint32_t> moves{};  // that read it
};

/// Whether an instruction puts the bits of its source elsewhere.
bool is_move(const Program& program, const Instruction& instruction) {
  const bool transposes = instruction.type == &kNcTranspose;
  if (!transposes && instruction.type != &kTensorCopy) return false;
  const auto operands = program.operands_of(instruction);
  return operands[0].dtype == operands[1].dtype &&
         (!transposes || program.architecture->features.exact_transpose);
}

/// The operand of a transpose with the dimension that becomes that of partitions in its place.
std::optional<Operand> transposed(Operand operand) {
  int free = -1;
  for (int i = 0; i < operand.rank; ++i) {
    if (operand.free[static_cast<size_t>(i)].size == 1) continue;
    if (free >= 0) return std::nullopt;
    free = i;
  }
  if (free < 0) return std::nullopt;
  Dimension& dimension = operand.free[static_cast<size_t>(free)];
  const Dimension partitions{operand.partitions, operand.partition_stride};
  operand.partitions = static_cast<int32_t>(dimension.size);
  operand.partition_stride = dimension.stride;
  dimension = partitions;
  return operand;
}

class LoadSearch {
 public:
  LoadSearch(const Program& program, const std::vector<PlannedInstance>& instances,
             std::vector<Location>& locations, OperandsInPlace& result)
      : program_(program),
        instances_(instances),
        locations_(locations),
        result_(result),
        current_(static_cast<size_t>(program.hazard_groups)) {}

  void run() {
    for (uint32_t i = 0; i < instances_.size(); ++i) visit(i);
    settle();
  }

 private:
  void visit(uint32_t id) {
    const Instruction& instruction = program_.instructions[instances_[id].instruction];
    const auto operands = program_.operands_of(instruction);
    std::vector<Load> begun = moved_loads(id, instruction);
    for (const bool writes : {false, true}) {
      for (uint32_t i = 0; i < operands.size(); ++i) {
        const Operand& operand = operands[i];
        if (!operand.present() || operand.memory == MemoryKind::kHbm) continue;
        const uint32_t place = instances_[id].first_location + i;
        if (!writes && operand.reads() && begun.empty()) read(instruction, operand, place);
        if (writes && operand.writes()) write(operand, place);
      }
    }
    begin(id, instruction, begun);
    for (Load& load : begun) add(std::move(load));
  }

  /// What a move makes of loads, if it is one and they are all that it reads.
  std::vector<Load> moved_loads(uint32_t id, const Instruction& instruction) {
    if (!is_move(program_, instruction)) return {};
    const auto operands = program_.operands_of(instruction);
    const Operand &dst = operands[0], &src = operands[1];
    const uint32_t place = instances_[id].first_location;
    const Location &to = locations_[place], &from = locations_[place + 1];
    std::vector<Load> result;
    if (const auto load = whole_load(src, from)) {
      if (!move(id, *load, dst, to, src, from, result)) return {};
      if (!add_reader(loads_[*load], instruction, src, place + 1))
        loads_[*load].moves.push_back(id);
      return result;
    }
    // A bank of several transposes.
    if (dst.rank < 2 || src.rank != dst.rank || src.free[0].size != dst.free[0].size) return {};
    const Operand dst_piece = inner(dst), src_piece = inner(src);
    std::vector<size_t> sources;
    for (int64_t i = 0; i < src.free[0].size; ++i) {
      const Location at{to.tile, to.partition, to.offset + i * dst.free[0].stride};
      const Location source_at{from.tile, from.partition, from.offset + i * src.free[0].stride};
      const auto load = whole_load(src_piece, source_at);
      if (!load || !move(id, *load, dst_piece, at, src_piece, source_at, result)) return {};
      sources.push_back(*load);
    }
    for (const size_t source : sources) loads_[source].moves.push_back(id);
    return result;
  }

  /// Appends what a move makes of a load, or a piece of it.
  bool move(uint32_t id, size_t load, const Operand& target, const Location& at,
            const Operand& source, const Location& source_at, std::vector<Load>& result) const {
    const Load& read = loads_[load];
    const OperandInHbm in_hbm(read.nest, source, distance_between(read.target, source_at));
    if (!in_hbm.found()) return false;
    const Instruction& instruction = program_.instructions[instances_[id].instruction];
    std::optional<Operand> hbm = in_hbm.operand();
    if (instruction.type == &kNcTranspose) hbm = transposed(*hbm);
    const auto nest = hbm ? transfer_nest(*hbm, target) : std::nullopt;
    if (!nest) return false;
    result.push_back({.writers = {id},
                      .region = region_at(target, at),
                      .nest = *nest,
                      .target = at,
                      .source = {read.source.tile, 0, read.source.offset + in_hbm.offset()},
                      .item = read.item,
                      .moved = true,
                      .elements = elements_of(target)});
    return true;
  }

  /// An operand without its outermost free dimension.
  static Operand inner(Operand operand) {
    std::copy(operand.free.begin() + 1, operand.free.end(), operand.free.begin());
    operand.rank -= 1;
    std::vector<Repetition> repetitions;
    for (int i = 0; i < operand.rank; ++i) {
      const Dimension& dimension = operand.free[static_cast<size_t>(i)];
      repetitions.push_back({dimension.stride, dimension.size});
    }
    Region region = region_of(operand.offset, itemsize(operand.dtype), std::move(repetitions));
    region.partition = operand.region.partition;
    region.partitions = operand.region.partitions;
    operand.region = region;
    return operand;
  }

  /// The load that an operand reads, if it is one and still whole.
  std::optional<size_t> whole_load(const Operand& operand, const Location& location) {
    if (operand.memory == MemoryKind::kHbm) return std::nullopt;
    const Region region = region_at(operand, location);
    const std::vector<size_t>& current = current_at(location);
    for (auto i = current.rbegin(); i != current.rend(); ++i) {
      const Load& load = loads_[*i];
      if (!overlap(load.region, region)) continue;
      const bool whole = !load.copied && !load.overwritten && covers(load.region, region) &&
                         itemsize(operand.dtype) == load.item;
      return whole ? std::optional(*i) : std::nullopt;
    }
    return std::nullopt;
  }

  std::vector<size_t>& current_at(const Location& location) {
    const int32_t group = program_.tiles[static_cast<size_t>(location.tile)].hazard_group;
    return group < 0 ? none_ : current_[static_cast<size_t>(group)];
  }

  void read(const Instruction& instruction, const Operand& operand, uint32_t place) {
    const Location& location = locations_[place];
    const Region region = region_at(operand, location);
    const std::vector<size_t>& current = current_at(location);
    for (auto i = current.rbegin(); i != current.rend(); ++i) {
      Load& load = loads_[*i];
      if (load.copied || !overlap(load.region, region)) continue;
      load.copied = load.overwritten || operand.writes() || operand.indirect ||
                    itemsize(operand.dtype) != load.item ||
                    !add_reader(load, instruction, operand, place);
      if (covers(load.region, region)) return;  // none of the bytes is of an earlier one
    }
  }

  bool add_reader(Load& load, const Instruction& instruction, const Operand& operand,
                  uint32_t place) {
    const int64_t distance = distance_between(load.target, locations_[place]);
    const OperandInHbm source(load.nest, operand, distance);
    if (!source.found()) return false;
    // Transposes read columns. Rows of SBUF are pitched so that these spread over the processor's
    // caches; in HBM they often compete for a few sets, which takes longer than the copy.
    const bool by_rows =
        instruction.type->is_elementwise && !load.moved && has_gapless_rows(source.operand());
    if (!by_rows && !is_product(program_, instruction)) return false;
    load.elements_read += elements_of(operand);
    const Location from{load.source.tile, 0, load.source.offset + source.offset()};
    load.readers.push_back({place, result_.index_of(source.operand()), from});
    return true;
  }

  void write(const Operand& operand, uint32_t place) {
    const Region region = region_at(operand, locations_[place]);
    std::erase_if(current_at(locations_[place]), [&](size_t i) {
      if (!overlap(region, loads_[i].region)) return false;
      loads_[i].overwritten = true;
      return covers(region, loads_[i].region);
    });
  }

  /// A transfer that others may read in place starts here.
  void begin(uint32_t id, const Instruction& instruction, std::vector<Load>& begun) {
    if (instruction.type != &kDmaCopy ||
        program_.attributes_of(instruction)[DmaCopy::kAdd].flag()) {
      return;
    }
    const auto operands = program_.operands_of(instruction);
    const Operand& dst = operands[DmaCopy::kDst];
    const Operand& src = operands[DmaCopy::kSrc];
    if (has_operand(operands, DmaCopy::kIndex) || src.memory != MemoryKind::kHbm ||
        dst.memory != MemoryKind::kSbuf || src.dtype != dst.dtype) {
      return;
    }
    const Location& to = locations_[instances_[id].first_location + DmaCopy::kDst];
    const Location& from = locations_[instances_[id].first_location + DmaCopy::kSrc];
    if (!is_constant(from.tile) || program_.tiles[static_cast<size_t>(to.tile)].widened) return;
    const std::optional<CopyNest> nest = transfer_nest(src, dst);
    if (!nest) return;
    begun.push_back({.writers = {id},
                     .region = region_at(dst, to),
                     .nest = *nest,
                     .target = to,
                     .source = from,
                     .item = itemsize(dst.dtype),
                     .elements = elements_of(dst)});
  }

  bool is_constant(TileId id) const {
    const Tile& tile = program_.tiles[static_cast<size_t>(id)];
    return tile.constant >= 0 ||
           (tile.argument >= 0 && !program_.arguments[static_cast<size_t>(tile.argument)].written);
  }

  void add(Load load) {
    std::vector<size_t>& current = current_at(load.target);
    for (const size_t i : current) {
      if (load.moved && extend(loads_[i], load)) return;
    }
    current.push_back(loads_.size());
    loads_.push_back(std::move(load));
  }

  /// Makes `next` a part of `load` if its elements continue one loop of both sides.
  static bool extend(Load& load, const Load& next) {
    const Region &a = load.region, &b = next.region;
    if (load.overwritten || !load.moved || load.source.tile != next.source.tile ||
        load.item != next.item || load.nest.count != next.nest.count || a.count != 1 ||
        b.count != 1 || a.high() != b.low || a.partition != b.partition ||
        a.partitions != b.partitions) {
      return false;
    }
    const int64_t target = distance_between(load.target, next.target);
    const int64_t source = next.source.offset - load.source.offset;
    int continued = -1;
    for (int i = 0; i < load.nest.count; ++i) {
      const CopyAxis &own = load.nest.axis(i), &other = next.nest.axis(i);
      if (own.source_stride != other.source_stride || own.target_stride != other.target_stride) {
        return false;
      }
      const bool continues =
          target == own.target_stride * own.size && source == own.source_stride * own.size;
      if (continues && continued < 0) {
        continued = i;
      } else if (own.size != other.size) {
        return false;
      }
    }
    if (continued < 0) return false;
    load.nest.axis(continued).size += next.nest.axis(continued).size;
    load.region.run += b.run;
    load.elements += next.elements;
    load.writers.push_back(next.writers[0]);
    return true;
  }

  /// Leaves out the instances whose bytes nobody needs on chip: a move needs those of its source,
  /// unless it is left out itself.
  void settle() {
    std::vector<bool> needed(instances_.size(), false);
    for (bool changed = true; changed;) {
      changed = false;
      for (const Load& load : loads_) {
        if (stays_in_hbm(load, needed)) continue;
        for (const uint32_t writer : load.writers) {
          changed = changed || !needed[writer];
          needed[writer] = true;
        }
      }
    }
    for (const Load& load : loads_) {
      if (!stays_in_hbm(load, needed)) continue;
      for (const uint32_t writer : load.writers) {
        if (!needed[writer]) {
          result_.omit(writer, load.readers, instances_.size(), locations_);
        }
      }
    }
  }

  static bool stays_in_hbm(const Load& load, const std::vector<bool>& needed) {
    const bool read_often = load.moved && load.elements_read > kTransposedReads * load.elements;
    return !load.copied && !read_often && (!load.readers.empty() || !load.moves.empty()) &&
           std::none_of(load.moves.begin(), load.moves.end(),
                        [&](uint32_t move) { return needed[move]; });
  }

  const Program& program_;
  const std::vector<PlannedInstance>& instances_;
  std::vector<Location>& locations_;
  OperandsInPlace& result_;
  std::vector<Load> loads_;                   // in program order
  std::vector<std::vector<size_t>> current_;  // per hazard group: those whose bytes are still there
  std::vector<size_t> none_;                  // of tiles without one
};

}  // namespace

void find_loads_in_place(const Program& program, const std::vector<PlannedInstance>& instances,
                         std::vector<Location>& locations, OperandsInPlace& result) {
  if (!program.edges.empty()) return;  // may order other instances through a transfer
  LoadSearch(program, instances, locations, result).run();
}

}  // namespace neuron_sim
