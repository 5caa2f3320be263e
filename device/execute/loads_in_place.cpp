#include "device/execute/loads_in_place.h"

#include <algorithm>
#include <optional>

#include "device/execute/transfer_nest.h"
#include "device/isa/dma/dma_copy.h"

namespace neuron_sim {
namespace {

/// A transfer whose bytes in SBUF are still there.
struct Load {
  uint32_t instance = 0;
  Region region;
  CopyNest nest;
  Location target, source;
  int item = 0;
  bool overwritten = false;  // in part
  bool copied = false;       // has a reader that needs the bytes in SBUF
  std::vector<OperandInPlace> readers{};
};

class LoadSearch {
 public:
  LoadSearch(const Program& program, const std::vector<PlannedInstance>& instances,
             std::vector<Location>& locations, OperandsInPlace& result)
      : program_(program),
        instances_(instances),
        locations_(locations),
        result_(result),
        loads_(static_cast<size_t>(program.hazard_groups)) {}

  void run() {
    for (uint32_t i = 0; i < instances_.size(); ++i) visit(i);
    for (auto& group : loads_) {
      for (const Load& load : group) settle(load);
    }
  }

 private:
  void visit(uint32_t id) {
    const Instruction& instruction = program_.instructions[instances_[id].instruction];
    const auto operands = program_.operands_of(instruction);
    for (const bool writes : {false, true}) {
      for (uint32_t i = 0; i < operands.size(); ++i) {
        const Operand& operand = operands[i];
        if (!operand.present() || operand.memory != MemoryKind::kSbuf) continue;
        const uint32_t place = instances_[id].first_location + i;
        if (!writes && operand.reads()) read(instruction, operand, place);
        if (writes && operand.writes()) write(operand, place);
      }
    }
    begin(id, instruction);
  }

  std::vector<Load>& loads_at(const Location& location) {
    const int32_t group = program_.tiles[static_cast<size_t>(location.tile)].hazard_group;
    return group < 0 ? none_ : loads_[static_cast<size_t>(group)];
  }

  void read(const Instruction& instruction, const Operand& operand, uint32_t place) {
    const Location& location = locations_[place];
    const Region region = region_at(operand, location);
    std::vector<Load>& loads = loads_at(location);
    for (auto load = loads.rbegin(); load != loads.rend(); ++load) {
      if (load->copied || !overlap(load->region, region)) continue;
      load->copied = load->overwritten || operand.writes() || operand.indirect ||
                     itemsize(operand.dtype) != load->item ||
                     !add_reader(*load, instruction, operand, place);
      if (covers(load->region, region)) return;  // none of the bytes is of an earlier one
    }
  }

  bool add_reader(Load& load, const Instruction& instruction, const Operand& operand,
                  uint32_t place) {
    const int64_t distance = distance_between(load.target, locations_[place]);
    const OperandInHbm source(load.nest, operand, distance);
    if (!source.found()) return false;
    // Transposes read columns. Rows of SBUF are pitched so that these spread over the processor's
    // caches; in HBM they often compete for a few sets, which takes longer than the copy.
    const bool by_rows = instruction.type->is_elementwise && has_gapless_rows(source.operand());
    if (!by_rows && !is_product(program_, instruction)) return false;
    const Location from{load.source.tile, 0, load.source.offset + source.offset()};
    load.readers.push_back({place, result_.index_of(source.operand()), from});
    return true;
  }

  void write(const Operand& operand, uint32_t place) {
    std::vector<Load>& loads = loads_at(locations_[place]);
    const Region region = region_at(operand, locations_[place]);
    std::erase_if(loads, [&](Load& load) {
      if (!overlap(region, load.region)) return false;
      load.overwritten = true;
      if (!covers(region, load.region)) return false;
      settle(load);
      return true;
    });
  }

  /// A transfer that others may read in place starts here.
  void begin(uint32_t id, const Instruction& instruction) {
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
    loads_at(to).push_back({.instance = id,
                            .region = region_at(dst, to),
                            .nest = *nest,
                            .target = to,
                            .source = from,
                            .item = itemsize(dst.dtype)});
  }

  bool is_constant(TileId id) const {
    const Tile& tile = program_.tiles[static_cast<size_t>(id)];
    return tile.constant >= 0 ||
           (tile.argument >= 0 && !program_.arguments[static_cast<size_t>(tile.argument)].written);
  }

  void settle(const Load& load) {
    if (load.copied || load.readers.empty()) return;
    result_.omit(load.instance, load.readers, instances_.size(), locations_);
  }

  const Program& program_;
  const std::vector<PlannedInstance>& instances_;
  std::vector<Location>& locations_;
  OperandsInPlace& result_;
  std::vector<std::vector<Load>> loads_;  // per hazard group
  std::vector<Load> none_;                // of tiles without one
};

}  // namespace

void find_loads_in_place(const Program& program, const std::vector<PlannedInstance>& instances,
                         std::vector<Location>& locations, OperandsInPlace& result) {
  if (!program.edges.empty()) return;  // may order other instances through a transfer
  LoadSearch(program, instances, locations, result).run();
}

}  // namespace neuron_sim
