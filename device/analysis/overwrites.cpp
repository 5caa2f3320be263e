#include "device/analysis/overwrites.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "device/analysis/access_runs.h"
#include "device/program/cursor.h"

namespace neuron_sim {
namespace {

/// Calls run(partition, first byte within it, length) for the innermost runs of an on-chip operand
/// at a location, in its order. Partitions are those of the memory.
template <typename Run>
void each_byte_run(const Operand& operand, const Location& location, Run&& run) {
  const int64_t partitions = operand.partition_stride == 0 ? 1 : operand.partitions;
  for (int64_t p = 0; p < partitions; ++p) {
    each_free_run(operand, location.offset, [&](int64_t first, int64_t length) {
      run(location.partition + p, first, length);
    });
  }
}

/// Tiles placed by hand that share bytes with another one.
std::vector<bool> sharing_tiles(const Program& program) {
  std::vector<size_t> placed;
  for (size_t i = 0; i < program.tiles.size(); ++i) {
    if (program.tiles[i].placed) placed.push_back(i);
  }
  std::vector<bool> shares(program.tiles.size());
  for (const size_t i : placed) {
    const Tile& a = program.tiles[i];
    shares[i] = std::any_of(placed.begin(), placed.end(), [&](size_t j) {
      const Tile& b = program.tiles[j];
      return i != j && a.memory == b.memory && a.core == b.core &&
             a.address < b.address + b.bytes && b.address < a.address + a.bytes &&
             a.start_partition < b.start_partition + b.partitions &&
             b.start_partition < a.start_partition + a.partitions;
    });
  }
  return shares;
}

/// Records the last write to each byte of the memories.
class OverwriteWalk : public WalkWithoutData {
 public:
  explicit OverwriteWalk(const Program& program)
      : program_(program),
        shares_(sharing_tiles(program)),
        writes_(1),
        places_(program.tiles.size()) {}

  void meet(const Meeting& meeting) { visit_meeting(meeting, *this); }
  void instruction(uint32_t index, const int64_t* variables) {
    const auto operands = program_.operands_of(program_.instructions[index]);
    for (const bool reads : {true, false}) {
      for (size_t i = 0; i < operands.size(); ++i) {
        const Operand& operand = operands[i];
        const bool takes_part = operand.present() && operand.memory != MemoryKind::kHbm &&
                                operand.register_index < 0 &&
                                (reads ? operand.reads() : operand.writes());
        if (!takes_part || operand.tile < 0) continue;
        const Location location = locate(program_, operand, variables, registers_.data());
        if (!shares_[static_cast<size_t>(location.tile)]) continue;
        if (reads) {
          read(index, static_cast<int>(i), operand, location);
        } else {
          write(index, operand, location);
        }
      }
    }
  }

  bool needed() const { return std::find(shares_.begin(), shares_.end(), true) != shares_.end(); }

  std::vector<OverwrittenRead> result;

 private:
  struct Write {
    TileId tile = kNoTile;
    uint32_t instruction = 0;
  };

  void write(uint32_t index, const Operand& operand, const Location& location) {
    places_[static_cast<size_t>(location.tile)].try_emplace(
        {&operand, location.partition, location.offset}, location);
    if (writes_.back().tile != location.tile || writes_.back().instruction != index) {
      writes_.push_back({location.tile, index});
    }
    const auto stamp = static_cast<uint32_t>(writes_.size() - 1);
    each_byte_run(operand, location, [&](int64_t partition, int64_t first, int64_t length) {
      std::fill_n(row(location.tile, partition, first + length).begin() + first, length, stamp);
    });
  }

  void read(uint32_t index, int position, const Operand& operand, const Location& location) {
    if (places_[static_cast<size_t>(location.tile)].empty()) return;
    const Write* other = nullptr;
    std::map<int64_t, std::vector<bool>> written;  // bytes of partitions
    each_byte_run(operand, location, [&](int64_t partition, int64_t first, int64_t length) {
      const auto& bytes = row(location.tile, partition, first + length);
      for (int64_t i = first; other == nullptr && i < first + length; ++i) {
        const uint32_t stamp = bytes[static_cast<size_t>(i)];
        if (stamp == 0 || writes_[stamp].tile == location.tile) continue;
        if (written.empty()) written = written_by(location.tile);
        const auto& own = written[partition];
        const bool had = static_cast<size_t>(i) < own.size() && own[static_cast<size_t>(i)];
        if (had) other = &writes_[stamp];
      }
    });
    if (other == nullptr || !reported_.insert({location.tile, other->tile}).second) return;
    result.push_back({index, position, location.tile, other->tile, other->instruction});
  }

  /// The bytes that a tile has written so far, by partition.
  std::map<int64_t, std::vector<bool>> written_by(TileId tile) const {
    std::map<int64_t, std::vector<bool>> result;
    for (const auto& [key, location] : places_[static_cast<size_t>(tile)]) {
      each_byte_run(*std::get<0>(key), location,
                    [&](int64_t partition, int64_t first, int64_t length) {
                      auto& bytes = result[partition];
                      const auto end = static_cast<size_t>(first + length);
                      if (bytes.size() < end) bytes.resize(end);
                      std::fill_n(bytes.begin() + first, length, true);
                    });
    }
    return result;
  }

  /// Stamps of the bytes of one partition of the memory that a tile lies in, at least `size`.
  std::vector<uint32_t>& row(TileId id, int64_t partition, int64_t size) {
    const Tile& tile = program_.tiles[static_cast<size_t>(id)];
    auto& bytes = rows_[{tile.core, tile.memory, partition}];
    if (static_cast<int64_t>(bytes.size()) < size) bytes.resize(static_cast<size_t>(size));
    return bytes;
  }

  const Program& program_;
  std::vector<bool> shares_;
  /// Indexed by the stamps of bytes. Stamp 0 marks a byte that nothing wrote.
  std::vector<Write> writes_;
  /// Where a tile was written, by operand, partition and offset.
  std::vector<std::map<std::tuple<const Operand*, int64_t, int64_t>, Location>> places_;
  std::map<std::tuple<uint8_t, MemoryKind, int64_t>, std::vector<uint32_t>> rows_;
  std::set<std::pair<TileId, TileId>> reported_;
  std::array<int64_t, 64> registers_{};
};

}  // namespace

std::vector<OverwrittenRead> overwritten_reads(const Program& program) {
  OverwriteWalk walk(program);
  if (walk.needed()) Cursor<OverwriteWalk>(program, walk).walk();
  return walk.result;
}

}  // namespace neuron_sim
