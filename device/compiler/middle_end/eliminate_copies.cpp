#include "device/compiler/middle_end/eliminate_copies.h"

#include <algorithm>
#include <map>

#include "device/analysis/access_runs.h"
#include "device/base/interruption.h"
#include "device/compiler/line/access_pattern.h"
#include "device/compiler/line/instance_checks.h"
#include "device/compiler/tiles/copy_origins.h"
#include "device/compiler/tiles/tile_uses.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/tensor/nc_matmul.h"

namespace neuron_sim {
namespace {

bool has_dense_partitions(const Operand& operand) {
  return operand.partition_stride == 1 || operand.partitions == 1;
}

/// Whether elements that are side by side stay so: rows, not single elements.
bool is_of_rows(const Operand& operand) {
  if (free_elements(operand) == 1) return true;
  const std::vector<Dimension> dimensions = merged_dimensions(operand);
  return dimensions.back().stride == itemsize(operand.dtype);
}

/// A copy of rows within SBUF, between tiles that the compiler places.
bool is_exact_copy(const StraightLine& line, const StraightInstruction& instance) {
  if (instance.instruction.type != &kTensorCopy) return false;
  const auto operands = line.operands_of(instance);
  const StraightOperand &dst = operands[0], &src = operands[1];
  const Operand &to = line.pattern_of(dst), &from = line.pattern_of(src);
  return dst.memory == MemoryKind::kSbuf && src.memory == MemoryKind::kSbuf &&
         from.dtype == to.dtype && dst.tile != src.tile && dst.direction == Direction::kWrite &&
         has_dense_partitions(from) && has_dense_partitions(to) && is_of_rows(from) &&
         is_of_rows(to) && !line.tile_of(src).placed && !line.tile_of(dst).placed;
}

/// Eliminates the copies of some statements, or leaves everything unchanged.
class Elimination {
 public:
  Elimination(StraightLine& line, const TileUses& uses, const TileUses& writes,
              const std::vector<bool>& removed, std::map<TileId, std::vector<TileUse>>& moved,
              InstanceChecks& checks)
      : line_(line),
        uses_(uses),
        writes_(writes),
        removed_(removed),
        moved_(moved),
        checks_(checks) {}

  bool run(const std::vector<CopiedTile>& tiles) {
    const bool done =
        std::all_of(tiles.begin(), tiles.end(),
                    [&](const CopiedTile& each) { return redirect_readers(each); }) &&
        std::all_of(redirected_.begin(), redirected_.end(), [&](const Redirected& reader) {
          return checks_.renew_demand(line_, line_.instructions[reader.use.instance]);
        });
    for (auto reader = redirected_.rbegin(); reader != redirected_.rend(); ++reader) {
      StraightOperand& operand = operand_at(line_, reader->use);
      if (done) {
        moved_[operand.tile].push_back(reader->use);
      } else {
        operand = reader->before;
        line_.instructions[reader->use.instance].instruction.demand = reader->demand;
      }
    }
    return done;
  }

 private:
  /// A reader of a copy, and the operand and demand that it had.
  struct Redirected {
    TileUse use;
    StraightOperand before;
    uint32_t demand = 0;
  };

  /// Whether the reader is in the same iteration of the loops around the copy: not the reader of a
  /// copy that was moved out of its loop.
  bool in_loops_of(uint32_t copy, uint32_t reader) const {
    const Nest& a = line_.nest_of(line_.instructions[copy]);
    const Nest& b = line_.nest_of(line_.instructions[reader]);
    const auto depth = std::min(a.depth, b.depth);
    for (size_t level = 0; level < static_cast<size_t>(depth); ++level) {
      if (a.loops[level] != b.loops[level]) return true;
      if (a.iteration[level] != b.iteration[level]) return false;
    }
    return true;
  }

  /// Whether nothing writes what a copy reads after it.
  bool keeps_source(uint32_t copy) const {
    const StraightOperand& src = line_.operands_of(line_.instructions[copy])[1];
    const std::span<const TileUse> writes = writes_.of(src.tile);
    const auto later = std::partition_point(
        writes.begin(), writes.end(), [&](const TileUse& use) { return use.instance <= copy; });
    return std::none_of(later, writes.end(), [&](const TileUse& use) {
      return overlap(line_.region_of(operand_at(line_, use)), line_.region_of(src));
    });
  }

  bool redirect_readers(const CopiedTile& copied) {
    const CopyOrigins origins(line_, copied);
    if (!origins.valid()) return false;
    if (!std::all_of(copied.copies.begin(), copied.copies.end(),
                     [&](uint32_t copy) { return keeps_source(copy); })) {
      return false;
    }
    std::vector<TileUse> readers;
    const auto note = [&](const TileUse& use) {
      const StraightOperand& operand = operand_at(line_, use);
      if (operand.tile != copied.tile || !operand.reads() || removed_[use.instance]) return;
      if (origins.touch(line_.whole(operand))) readers.push_back(use);
    };
    for (const TileUse& use : uses_.of(copied.tile)) note(use);
    const auto moved = moved_.find(copied.tile);
    if (moved != moved_.end()) std::for_each(moved->second.begin(), moved->second.end(), note);
    return !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](const TileUse& use) {
      return redirect(use, origins);
    });
  }

  /// Lets a reader read the source.
  bool redirect(const TileUse& use, const CopyOrigins& origins) {
    const StraightOperand before = operand_at(line_, use);
    Operand operand = line_.whole(before);
    if (operand.direction != Direction::kRead || !origins.holds(operand)) return false;
    const StraightInstruction& reader = line_.instructions[use.instance];
    const std::optional<CopyOrigins::Origin> row = origin_of_row(operand, use.instance, origins);
    std::optional<std::vector<int64_t>> bytes;
    if (!row) bytes = source_bytes(operand, use.instance, origins);
    if (!row && !bytes) return false;
    const int64_t run = innermost_run(operand).bytes;
    const CopyOrigins::Origin first = row ? *row : *origins.at(operand.offset);
    operand.tile = first.tile;
    operand.offset = first.byte;
    const bool composed =
        row || keeps_dimensions(operand, *bytes) || takes_dimensions(reader, *bytes, operand);
    if (!composed || (is_transfer(line_, reader) && innermost_run(operand).bytes < run)) {
      return false;
    }
    renew_region(line_, operand);
    operand_at(line_, use) = line_.straight(operand);
    redirected_.push_back({use, before, reader.instruction.demand});
    return true;
  }

  /// Whether a copy precedes a reader, in the same iteration of the loops around the copy.
  bool serves(uint32_t copy, uint32_t reader) const {
    return copy < reader && in_loops_of(copy, reader);
  }

  /// The origin of a contiguous read that one copy fills: the source is contiguous too, so the
  /// operand keeps its dimensions.
  std::optional<CopyOrigins::Origin> origin_of_row(const Operand& operand, uint32_t reader,
                                                   const CopyOrigins& origins) const {
    const InnermostRun run = innermost_run(operand);
    if (run.outer > 0) return std::nullopt;
    const auto origin = origins.of_contiguous(operand.offset, run.bytes);
    return origin && serves(origin->copy, reader) ? origin : std::nullopt;
  }

  /// Bytes of the one source in the order in which an operand reads their copies.
  std::optional<std::vector<int64_t>> source_bytes(const Operand& operand, uint32_t reader,
                                                   const CopyOrigins& origins) const {
    std::vector<int64_t> bytes;
    bytes.reserve(static_cast<size_t>(free_elements(operand)));
    std::optional<CopyOrigins::Origin> last;
    bool found = true;
    each_element(operand, [&](int64_t byte) {
      const auto origin = found ? origins.at(byte) : std::nullopt;
      found = origin && (!last || origin->tile == last->tile);
      if (!found) return;
      if (!last || origin->copy != last->copy) found = serves(origin->copy, reader);
      bytes.push_back(origin->byte);
      last = origin;
    });
    return found ? std::optional(std::move(bytes)) : std::nullopt;
  }

  /// Whether the same sizes with other strides read those bytes; sets the strides.
  static bool keeps_dimensions(Operand& operand, const std::vector<int64_t>& bytes) {
    Operand composed = operand;
    size_t block = 1;
    for (auto d = static_cast<size_t>(operand.rank); d-- > 0;) {
      Dimension& dimension = composed.free[d];
      if (dimension.size > 1) dimension.stride = bytes[block] - bytes[0];
      if (dimension.stride < 0) return false;
      block *= static_cast<size_t>(dimension.size);
    }
    size_t next = 0;
    bool equal = true;
    each_element(composed, [&](int64_t byte) { equal = equal && byte == bytes[next++]; });
    if (equal) operand = composed;
    return equal;
  }

  /// Gives products and copies the dimensions that read those bytes.
  bool takes_dimensions(const StraightInstruction& reader, const std::vector<int64_t>& bytes,
                        Operand& operand) const {
    const InstructionType* type = reader.instruction.type;
    if (type != &kNcMatmul && type != &kTensorCopy) return false;
    const std::optional<std::vector<Dimension>> dimensions = pattern_of(bytes);
    if (!dimensions || std::ssize(*dimensions) > line_.architecture->limits.free_dimensions) {
      return false;
    }
    if (type == &kNcMatmul && operand.rank != 1) return false;
    operand.rank = static_cast<int8_t>(dimensions->size());
    operand.free.fill({});
    std::copy(dimensions->begin(), dimensions->end(), operand.free.begin());
    return true;
  }

  StraightLine& line_;
  const TileUses& uses_;
  const TileUses& writes_;  ///< redirecting a reader changes none of them
  const std::vector<bool>& removed_;
  std::map<TileId, std::vector<TileUse>>& moved_;  ///< readers that a tile got from its copies
  InstanceChecks& checks_;
  std::vector<Redirected> redirected_;
};

/// Tiles that candidates write, by the statements of these.
std::map<std::vector<uint32_t>, std::vector<CopiedTile>> copied_tiles(const StraightLine& line,
                                                                      const TileUses& writes) {
  std::map<std::vector<uint32_t>, std::vector<CopiedTile>> result;
  for (size_t tile = 0; tile < line.tiles.size(); ++tile) {
    const auto id = static_cast<TileId>(tile);
    const auto is_copy = [&](const TileUse& use) {
      return is_exact_copy(line, line.instructions[use.instance]);
    };
    const std::span<const TileUse> all = writes.of(id);
    if (std::none_of(all.begin(), all.end(), is_copy)) continue;
    CopiedTile copied{id, {}, {}};
    std::vector<uint32_t> statements;
    for (const TileUse& use : all) {
      if (!is_copy(use)) {
        copied.other_writes.push_back(use);
        continue;
      }
      copied.copies.push_back(use.instance);
      statements.push_back(line.instructions[use.instance].statement);
    }
    std::sort(statements.begin(), statements.end());
    statements.erase(std::unique(statements.begin(), statements.end()), statements.end());
    result[std::move(statements)].push_back(std::move(copied));
  }
  return result;
}

}  // namespace

void eliminate_copies(StraightLine& line) {
  const TileUses uses(line);
  const TileUses writes(line, TileUses::kWrites);
  std::map<TileId, std::vector<TileUse>> moved;
  std::vector<bool> removed(line.instructions.size());
  InstanceChecks checks;
  for (const auto& [statements, tiles] : copied_tiles(line, writes)) {
    poll_interruption();
    if (!Elimination(line, uses, writes, removed, moved, checks).run(tiles)) continue;
    for (const CopiedTile& each : tiles) {
      for (const uint32_t copy : each.copies) removed[copy] = true;
    }
  }
  remove_instances(line, removed);
}

}  // namespace neuron_sim
