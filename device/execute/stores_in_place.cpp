#include "device/execute/stores_in_place.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "device/analysis/access_runs.h"
#include "device/execute/transfer_nest.h"
#include "device/isa/dma/dma_copy.h"

namespace neuron_sim {
namespace {

constexpr int32_t kNoStore = -1;

/// Whether elements of the operand may share bytes.
bool writes_twice(const Operand& operand) {
  std::vector<Repetition> repetitions{
      {operand.partition_stride * kPartitionDistance, operand.partitions}};
  for (int i = 0; i < operand.rank; ++i) {
    const Dimension& dimension = operand.free[static_cast<size_t>(i)];
    repetitions.push_back({dimension.stride, dimension.size});
  }
  return !is_injective(itemsize(operand.dtype), std::move(repetitions));
}

/// A result in SBUF that is still there, in whole or in part.
struct ResultInSbuf {
  const Operand* operand = nullptr;
  uint32_t place = 0;  // its location
  Region region;
  bool needed = false;       // in SBUF, or overwritten in part before a store
  int32_t store = kNoStore;  // that takes it
};

/// A transfer to HBM of whole results.
struct Store {
  uint32_t instance = 0;
  bool needed = false;  // another instruction reads one of them
  std::vector<OperandInPlace> writers{};
};

class StoreSearch {
 public:
  StoreSearch(const Program& program, const std::vector<PlannedInstance>& instances,
              std::vector<Location>& locations, OperandsInPlace& result)
      : program_(program),
        instances_(instances),
        locations_(locations),
        result_(result),
        results_(static_cast<size_t>(program.hazard_groups)) {}

  void run() {
    for (uint32_t i = 0; i < instances_.size(); ++i) {
      if (!result_.omits(i)) visit(i);
    }
    for (const Store& store : stores_) {
      if (!store.needed) result_.omit(store.instance, store.writers, instances_.size(), locations_);
    }
  }

 private:
  void visit(uint32_t id) {
    const Instruction& instruction = program_.instructions[instances_[id].instruction];
    const auto operands = program_.operands_of(instruction);
    for (const bool writes : {false, true}) {
      for (uint32_t i = 0; i < operands.size(); ++i) {
        const Operand& operand = operands[i];
        const uint32_t place = instances_[id].first_location + i;
        if (operand.memory != MemoryKind::kSbuf || result_.replaces(place)) continue;
        if (!writes && operand.reads() && !is_stored(id, instruction)) keep(operand, place);
        if (writes && operand.writes()) write(instruction, operand, place);
      }
    }
  }

  std::vector<ResultInSbuf>& results_at(uint32_t place) {
    const TileId tile = locations_[place].tile;
    return results_[static_cast<size_t>(program_.tiles[static_cast<size_t>(tile)].hazard_group)];
  }

  /// An instruction needs the bytes in SBUF.
  void keep(const Operand& operand, uint32_t place) {
    const Region region = region_at(operand, locations_[place]);
    std::vector<ResultInSbuf>& results = results_at(place);
    for (auto result = results.rbegin(); result != results.rend(); ++result) {
      if (!overlap(result->region, region)) continue;
      result->needed = true;
      if (result->store != kNoStore) stores_[static_cast<size_t>(result->store)].needed = true;
      if (covers(result->region, region)) return;  // none of the bytes is of an earlier one
    }
  }

  void write(const Instruction& instruction, const Operand& operand, uint32_t place) {
    std::vector<ResultInSbuf>& results = results_at(place);
    const Region region = region_at(operand, locations_[place]);
    std::erase_if(results, [&](ResultInSbuf& result) {
      if (!overlap(region, result.region)) return false;
      result.needed = result.needed || result.store == kNoStore;
      return covers(region, result.region);
    });
    const TileId tile = locations_[place].tile;
    if (!instruction.type->is_elementwise || instruction.type == &kDmaCopy || operand.reads() ||
        operand.indirect || program_.tiles[static_cast<size_t>(tile)].widened ||
        writes_twice(operand)) {
      return;
    }
    results.push_back({.operand = &operand, .place = place, .region = region});
  }

  /// Whether an instruction is a store that the writers of its bytes make needless.
  bool is_stored(uint32_t id, const Instruction& instruction) {
    const auto operands = program_.operands_of(instruction);
    if (instruction.type != &kDmaCopy || has_operand(operands, DmaCopy::kIndex) ||
        program_.attributes_of(instruction)[DmaCopy::kAdd].flag()) {
      return false;
    }
    const Operand& dst = operands[DmaCopy::kDst];
    const Operand& src = operands[DmaCopy::kSrc];
    const Location& to = locations_[instances_[id].first_location + DmaCopy::kDst];
    // Without a history, no byte of the tensor is read or written twice.
    if (dst.memory != MemoryKind::kHbm || src.dtype != dst.dtype ||
        program_.tiles[static_cast<size_t>(to.tile)].hazard_group >= 0) {
      return false;
    }
    const std::optional<CopyNest> nest = transfer_nest(dst, src);
    return nest && take(id, src, *nest, to);
  }

  /// Adds a store of whole results; false (and nothing changed) when they are not all of `src`.
  bool take(uint32_t id, const Operand& src, const CopyNest& nest, const Location& to) {
    const uint32_t place = instances_[id].first_location + DmaCopy::kSrc;
    const Region region = region_at(src, locations_[place]);
    Store store{.instance = id};
    std::vector<ResultInSbuf*> taken;
    int64_t left = elements_of(src);
    std::vector<ResultInSbuf>& results = results_at(place);
    for (auto last = results.rbegin(); left > 0 && last != results.rend(); ++last) {
      ResultInSbuf& result = *last;
      if (!overlap(result.region, region)) continue;
      if (result.needed || result.store != kNoStore ||
          itemsize(result.operand->dtype) != itemsize(src.dtype)) {
        return false;
      }
      const OperandInHbm target(nest, *result.operand,
                                distance_between(locations_[place], locations_[result.place]));
      if (!target.found() || !has_gapless_rows(target.operand())) return false;
      const Location in_hbm{to.tile, 0, to.offset + target.offset()};
      store.writers.push_back({result.place, result_.index_of(target.operand()), in_hbm});
      taken.push_back(&result);
      left -= elements_of(*result.operand);
    }
    if (left != 0) return false;
    for (ResultInSbuf* result : taken) result->store = static_cast<int32_t>(stores_.size());
    stores_.push_back(std::move(store));
    return true;
  }

  const Program& program_;
  const std::vector<PlannedInstance>& instances_;
  std::vector<Location>& locations_;
  OperandsInPlace& result_;
  std::vector<std::vector<ResultInSbuf>> results_;  // per hazard group
  std::vector<Store> stores_;
};

}  // namespace

void find_stores_in_place(const Program& program, const std::vector<PlannedInstance>& instances,
                          std::vector<Location>& locations, OperandsInPlace& result) {
  if (!program.edges.empty()) return;
  StoreSearch(program, instances, locations, result).run();
}

}  // namespace neuron_sim
