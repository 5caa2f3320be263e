#include "device/execute/loads_in_place.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

#include "device/instruction/element_copy.h"
#include "device/isa/dma/dma_copy.h"

namespace neuron_sim {
namespace {

/// Stands for the distance of two partitions: farther than any bytes of one.
constexpr int64_t kPartition = int64_t{1} << 40;

using Dimensions = std::array<Dimension, kMaximumCopyRank>;

/// Partitions and free dimensions of an operand, outermost first.
std::span<const Dimension> dimensions_of(const Operand& operand, Dimensions& dimensions) {
  const int64_t unit = operand.memory == MemoryKind::kHbm ? 1 : kPartition;
  dimensions[0] = {operand.partitions, operand.partition_stride * unit};
  std::copy_n(operand.free.begin(), operand.rank, dimensions.begin() + 1);
  return {dimensions.data(), static_cast<size_t>(operand.rank) + 1};
}

/// An operand of SBUF inside the target of a transfer, as one of its source.
class SourceOfOperand {
 public:
  SourceOfOperand(const CopyNest& nest, const Operand& operand, int64_t distance)
      : nest_(nest), operand_(operand) {
    found_ = enter(distance) && replace_dimensions();
  }
  bool found() const { return found_; }
  /// Bytes from the first element of the source.
  int64_t offset() const { return offset_; }
  const Operand& operand() const { return operand_; }

 private:
  /// Takes `distance` bytes of the target apart into indices of the loops of the transfer.
  bool enter(int64_t distance) {
    for (int i = 0; i < nest_.count; ++i) {
      const CopyAxis& axis = nest_.axis(i);
      const int64_t index = distance / axis.target_stride;
      if (distance < 0 || index >= axis.size) return false;
      last_[static_cast<size_t>(i)] = index;
      offset_ += index * axis.source_stride;
      distance -= index * axis.target_stride;
    }
    return distance == 0;
  }

  /// The stride in the source, after noting how far the dimension goes along its loop.
  std::optional<int64_t> source_stride(int64_t size, int64_t stride) {
    if (size == 1 || stride == 0) return 0;
    for (int i = 0; i < nest_.count; ++i) {
      const CopyAxis& axis = nest_.axis(i);
      if (stride < axis.target_stride) continue;
      int64_t& last = last_[static_cast<size_t>(i)];
      last += (size - 1) * (stride / axis.target_stride);
      if (stride % axis.target_stride != 0 || last >= axis.size) return std::nullopt;
      return stride / axis.target_stride * axis.source_stride;
    }
    return std::nullopt;
  }

  bool replace_dimensions() {
    const auto partition =
        source_stride(operand_.partitions, operand_.partition_stride * kPartition);
    if (!partition) return false;
    operand_.partition_stride = *partition;
    for (int i = 0; i < operand_.rank; ++i) {
      Dimension& dimension = operand_.free[static_cast<size_t>(i)];
      const auto stride = source_stride(dimension.size, dimension.stride);
      if (!stride) return false;
      dimension.stride = *stride;
    }
    operand_.memory = MemoryKind::kHbm;
    return true;
  }

  const CopyNest& nest_;
  Operand operand_;
  std::array<int64_t, size_t{2} * kMaximumCopyRank> last_{};  // index reached, per loop
  int64_t offset_ = 0;
  bool found_ = false;
};

/// Outermost first, without loops of one element; empty when a loop of the target does not step
/// over all of the next one.
std::optional<CopyNest> nested_loops(const Operand& src, const Operand& dst) {
  Dimensions from{}, to{};
  std::optional<CopyNest> nest = common_nest(dimensions_of(src, from), dimensions_of(dst, to));
  if (!nest) return std::nullopt;
  const auto end = std::remove_if(nest->axes.begin(), nest->axes.begin() + nest->count,
                                  [](const CopyAxis& axis) { return axis.size == 1; });
  nest->count = static_cast<int>(end - nest->axes.begin());
  std::sort(nest->axes.begin(), end,
            [](const CopyAxis& a, const CopyAxis& b) { return a.target_stride > b.target_stride; });
  int64_t inner = itemsize(dst.dtype);
  for (int i = nest->count - 1; i >= 0; --i) {
    const CopyAxis& axis = nest->axis(i);
    if (axis.target_stride < inner) return std::nullopt;
    inner = axis.target_stride * axis.size;
  }
  return nest;
}

/// A transfer whose bytes in SBUF are still there.
struct Load {
  uint32_t instance = 0;
  Region region;
  CopyNest nest;
  Location target, source;
  int item = 0;
  bool overwritten = false;                             // in part
  bool copied = false;                                  // has a reader that needs the bytes in SBUF
  std::vector<std::pair<uint32_t, int32_t>> readers{};  // location, its operand in place
  std::vector<Location> places{};                       // of the readers in HBM
};

class Search {
 public:
  Search(const Program& program, const std::vector<PlannedInstance>& instances,
         std::vector<Location>& locations)
      : program_(program),
        instances_(instances),
        locations_(locations),
        loads_(static_cast<size_t>(program.hazard_groups)) {}

  LoadsInPlace run() {
    for (uint32_t i = 0; i < instances_.size(); ++i) visit(i);
    for (auto& group : loads_) {
      for (const Load& load : group) settle(load);
    }
    return std::move(result_);
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
    for (Load& load : loads_at(location)) {
      if (load.copied || !overlap(load.region, region)) continue;
      // Transposes read columns. Rows of SBUF are pitched so that these spread over the processor's
      // caches; in HBM they often compete for a few sets, which takes longer than the copy.
      load.copied = load.overwritten || !is_product(program_, instruction) || operand.writes() ||
                    operand.indirect || itemsize(operand.dtype) != load.item ||
                    !add_reader(load, operand, place);
    }
  }

  bool add_reader(Load& load, const Operand& operand, uint32_t place) {
    const Location& location = locations_[place];
    const int64_t distance = (location.partition - load.target.partition) * kPartition +
                             location.offset - load.target.offset;
    const SourceOfOperand source(load.nest, operand, distance);
    if (!source.found()) return false;
    load.readers.emplace_back(place, stored(source.operand()));
    load.places.push_back({load.source.tile, 0, load.source.offset + source.offset()});
    return true;
  }

  /// Index of an operand in the result; most instances of an instruction have equal ones.
  int32_t stored(const Operand& operand) {
    const auto equal = [&](const Operand& other) {
      return other.partition_stride == operand.partition_stride && other.rank == operand.rank &&
             other.partitions == operand.partitions && other.dtype == operand.dtype &&
             std::equal(operand.free.begin(), operand.free.begin() + operand.rank,
                        other.free.begin(), [](const Dimension& a, const Dimension& b) {
                          return a.size == b.size && a.stride == b.stride;
                        });
    };
    const auto found = std::find_if(result_.operands.rbegin(), result_.operands.rend(), equal);
    if (found != result_.operands.rend()) {
      return static_cast<int32_t>(result_.operands.rend() - found) - 1;
    }
    result_.operands.push_back(operand);
    return static_cast<int32_t>(result_.operands.size()) - 1;
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
    const std::optional<CopyNest> nest = nested_loops(src, dst);
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
    if (result_.omitted.empty()) {
      result_.omitted.assign(instances_.size(), false);
      result_.replaced.assign(locations_.size(), -1);
    }
    result_.omitted[load.instance] = true;
    for (size_t i = 0; i < load.readers.size(); ++i) {
      const auto [place, operand] = load.readers[i];
      result_.replaced[place] = operand;
      locations_[place] = load.places[i];
    }
  }

  const Program& program_;
  const std::vector<PlannedInstance>& instances_;
  std::vector<Location>& locations_;
  std::vector<std::vector<Load>> loads_;  // per hazard group
  std::vector<Load> none_;                // of tiles without one
  LoadsInPlace result_;
};

}  // namespace

LoadsInPlace loads_in_place(const Program& program, const std::vector<PlannedInstance>& instances,
                            std::vector<Location>& locations) {
  if (!program.edges.empty()) return {};  // may order other instances through a transfer
  return Search(program, instances, locations).run();
}

}  // namespace neuron_sim
