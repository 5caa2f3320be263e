// ShadowWalk: what one operand of an instance reads and writes.

#include <algorithm>

#include "device/base/errors.h"
#include "device/check/propagation.h"
#include "device/check/shadow_walk.h"

namespace neuron_sim {

FoundPlace ShadowWalk::place(const Visit& visit, size_t position, const ShadowTile::Band& band,
                             int64_t cell, int64_t count) const {
  const int64_t size = shadows_[static_cast<size_t>(visit.locations[position].tile)].cell();
  FoundPlace result;
  result.bytes = ByteRange{cell * size, (cell + count) * size};
  if (visit.operands[position].memory == MemoryKind::kHbm) return result;
  const int64_t first = visit.locations[position].partition - tile(visit, position).start_partition;
  const bool spread = visit.operands[position].partition_stride == 0;
  const int64_t last = first + (spread ? 1 : visit.operands[position].partitions);
  result.partitions = ByteRange{std::max(band.first, first), std::min(band.last, last)};
  return result;
}

void ShadowWalk::read(Visit& visit, size_t position) {
  if (!takes_part(visit, position)) return;
  const auto id = static_cast<size_t>(visit.locations[position].tile);
  if (complete_[id]) return;
  Stamp known = visit.stamp;  // no cell has it yet
  each_cell_run(visit, position, false,
                [&](ShadowTile::Band& band, int64_t first, int64_t count, const Sweep&) {
                  for (int64_t c = first; c < first + count; ++c) {
                    const Stamp stamp = band.writers[static_cast<size_t>(c)];
                    if (stamp == known) continue;
                    if (stamp == kUnwritten || !touches_[stamp].defined()) {
                      int64_t end = c + 1;
                      while (end < first + count &&
                             band.writers[static_cast<size_t>(end)] == stamp) {
                        ++end;
                      }
                      meet_undefined(visit, position, band, c, end - c);
                      c = end - 1;
                      if (stamp == kUnwritten) continue;
                    }
                    if (stamp != kStart && !order_.empty()) {
                      check_order(visit, position, Access::kRead, stamp, Access::kWrite,
                                  place(visit, position, band, c, 1));
                    }
                    known = touches_[stamp].defined() ? stamp : visit.stamp;
                  }
                });
  if (shadows_[id].keeps_reads()) note_reader(visit, position);
}

void ShadowWalk::note_reader(Visit& visit, size_t position) {
  each_cell_run(visit, position, false,
                [&](ShadowTile::Band& band, int64_t first, int64_t count, const Sweep&) {
                  band.keep_reads();
                  for (int64_t c = first; c < first + count; ++c) {
                    const auto cell = static_cast<size_t>(c);
                    if (band.first_readers[cell] == 0) band.first_readers[cell] = visit.stamp;
                    band.last_readers[cell] = visit.stamp;
                  }
                });
}

void ShadowWalk::write(Visit& visit, size_t position) {
  const auto id = static_cast<size_t>(visit.locations[position].tile);
  last_writer_[id] = visit.index;
  if (!tracked_[id]) return;
  if (!takes_part(visit, position)) {
    shadows_[id].fill(visit.stamp);  // any of its bytes
    complete_[id] = order_.empty();
    return;
  }
  const bool partly = !visit.undefined.empty() || skips_rows(visit, position);
  filled_[id] = fills(*visit.instruction->type);
  if (complete_[id] && !partly) return;
  if (visit.operands[position].indirect) check_repeated_rows(visit, position);
  for (size_t i = 0; i < visit.operands.size(); ++i) {
    if (!visit.operands[i].present() || visit.operands[i].writes()) continue;
    touches_[visit.stamp].is_fill |= filled_[static_cast<size_t>(visit.locations[i].tile)];
  }
  if (shadows_[id].keeps_reads()) {
    each_cell_run(visit, position, false,
                  [&](ShadowTile::Band& band, int64_t first, int64_t count, const Sweep&) {
                    check_overwritten(visit, position, band, first, count);
                  });
  }
  partly ? write_partly(visit, position) : write_all(visit, position);
  ++writes_[id];
  if (!partly) note_complete(visit.locations[position].tile);
}

void ShadowWalk::write_all(Visit& visit, size_t position) {
  each_cell_run(visit, position, true,
                [&](ShadowTile::Band& band, int64_t first, int64_t count, const Sweep&) {
                  std::fill_n(band.writers.begin() + first, count, visit.stamp);
                  if (band.first_readers.empty()) return;
                  std::fill_n(band.first_readers.begin() + first, count, 0U);
                  std::fill_n(band.last_readers.begin() + first, count, 0U);
                });
  shadows_[static_cast<size_t>(visit.locations[position].tile)].tidy();
}

/// Complete tiles need no look any more, while only defined bytes are written to them.
void ShadowWalk::note_complete(TileId tile) {
  const auto id = static_cast<size_t>(tile);
  const bool power_of_two = (writes_[id] & (writes_[id] - 1)) == 0;
  const bool on_chip = program_.tiles[id].memory != MemoryKind::kHbm;
  if (!on_chip || !order_.empty() || !power_of_two) return;
  const auto& bands = shadows_[id].bands();
  complete_[id] = std::all_of(bands.begin(), bands.end(), [&](const ShadowTile::Band& band) {
    return std::all_of(band.writers.begin(), band.writers.end(), [&](Stamp stamp) {
      return stamp != kUnwritten && touches_[stamp].defined();
    });
  });
}

}  // namespace neuron_sim
