// ShadowWalk: what one operand of an instance reads and writes.

#include <algorithm>

#include "device/analysis/access_runs.h"
#include "device/base/errors.h"
#include "device/check/propagation.h"
#include "device/check/shadow_walk.h"

namespace neuron_sim {

template <typename Body>
void ShadowWalk::each_cell_run(const Visit& visit, size_t position, bool cut, Body&& body) {
  const Operand& operand = visit.operands[position];
  const Location& location = visit.locations[position];
  const Tile& tile = program_.tiles[static_cast<size_t>(location.tile)];
  ShadowTile& shadow = shadows_[static_cast<size_t>(location.tile)];
  const int64_t cell = shadow.cell(), size = itemsize(operand.dtype);
  const auto sweep = [&](ShadowTile::Band& band, int64_t base, Sweep at) {
    each_free_run(operand, base, [&](int64_t begin, int64_t length) {
      body(band, begin / cell, length / cell, at);
      at.element += length / size;
    });
  };
  if (operand.memory == MemoryKind::kHbm) {
    shadow.each_band_of(0, 1, [&](ShadowTile::Band& band) {
      for (int64_t p = 0; p < operand.partitions; ++p) {
        const bool by_row = operand.indirect && visit.facts != nullptr;
        const int64_t row = by_row ? visit.facts->rows[static_cast<size_t>(p)] : p;
        if (row < 0) continue;  // skipped
        sweep(band, location.offset + row * operand.partition_stride, {p, p + 1, 0});
      }
    });
    return;
  }
  const bool spread = operand.partition_stride == 0;  // one partition for all
  const int64_t first = location.partition - tile.start_partition;
  const int64_t last = first + (spread ? 1 : operand.partitions);
  const auto visit_band = [&](ShadowTile::Band& band) {
    const Sweep at =
        spread ? Sweep{0, operand.partitions, 0}
               : Sweep{std::max(band.first, first) - first, std::min(band.last, last) - first, 0};
    sweep(band, location.offset - tile.address, at);
  };
  cut ? shadow.each_band(first, last, visit_band) : shadow.each_band_of(first, last, visit_band);
}

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
                      report_undefined(visit, position, band, c, end - c);
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

void ShadowWalk::report_undefined(Visit& visit, size_t position, const ShadowTile::Band& band,
                                  int64_t cell, int64_t count) {
  if (options_.errors_only) return;
  const Stamp stamp = band.writers[static_cast<size_t>(cell)];
  const uint32_t origin = stamp == kUnwritten ? visit.index : touches_[stamp].origin;
  const UndefinedUse use = undefined_use(program_, *visit.instruction, position);
  if (use == UndefinedUse::kKept) return;
  if (use != UndefinedUse::kReported && !visit.to_argument) {
    if (visit.origin == kNobody) visit.origin = origin;
    if (visit.undefined.empty() || visit.undefined.back() != position) {
      visit.undefined.push_back(position);
    }
    return;
  }
  const bool sum = multiplies_[visit.index] && position == 0;
  const Rule rule = sum ? Rule::kPsumAccumulateWithoutStart : Rule::kUninitialisedRead;
  const TileId id = visit.locations[position].tile;
  if (!reports.is_new(rule, visit.index, position, id)) return;
  const FoundPlace where = place(visit, position, band, cell, count);
  std::string sentence = text(
      sum ? "adds to operand '" : "uses operand '", operand_name(program_, visit.index, position),
      "' (tile '", tile(visit, position).label, "'), of which nothing wrote ", describe(where));
  if (stamp != kUnwritten) {
    sentence += text(": '", program_.instructions[origin].type->name, "' read what nothing wrote");
  }
  reports.add(rule, name(visit), position, id, where, sentence,
              stamp == kUnwritten ? "" : line_of(program_, origin));
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
  const bool first_written =
      std::none_of(visit.operands.begin(), visit.operands.begin() + static_cast<int64_t>(position),
                   [](const Operand& operand) { return operand.present() && operand.writes(); });
  const bool partly = first_written && !visit.undefined.empty();
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

/// Marks the elements of dst that undefined elements of a source go to.
void ShadowWalk::collect_undefined(const Visit& visit, size_t source, size_t position,
                                   std::vector<uint8_t>& undefined) {
  const Operand &dst = visit.operands[position], &src = visit.operands[source];
  const int64_t rows = dst.partitions, columns = free_elements(dst);
  const int64_t own_columns = free_elements(src);
  const int64_t cell = shadows_[static_cast<size_t>(visit.locations[source].tile)].cell();
  const int64_t size = itemsize(src.dtype);
  const OperandField& field = visit.instruction->type->operands[source];
  const bool transposes = field.undefined == UndefinedUse::kTransposed;
  const auto mark = [&](int64_t p, int64_t e) {
    if (transposes) std::swap(p, e);
    if (own_columns * src.partitions == rows * columns) {
      undefined[static_cast<size_t>(transposes ? p * columns + e : p * own_columns + e)] = 1;
    } else {  // one value for a row, or for everything
      const auto first = undefined.begin() + (src.partitions == rows ? p * columns : 0);
      std::fill(first, src.partitions == rows ? first + columns : undefined.end(), uint8_t{1});
    }
  };
  each_cell_run(visit, source, false,
                [&](ShadowTile::Band& band, int64_t first, int64_t count, const Sweep& at) {
                  for (int64_t c = 0; c < count; ++c) {
                    const Stamp stamp = band.writers[static_cast<size_t>(first + c)];
                    if (stamp != kUnwritten && touches_[stamp].defined()) continue;
                    const int64_t end = at.element + ((c + 1) * cell + size - 1) / size;
                    for (int64_t e = at.element + c * cell / size; e < end; ++e) {
                      for (int64_t p = at.first; p < at.last; ++p) mark(p, e);
                    }
                  }
                });
}

void ShadowWalk::write_partly(const Visit& visit, size_t position) {
  const Operand& dst = visit.operands[position];
  const auto id = static_cast<size_t>(visit.locations[position].tile);
  const int64_t rows = dst.partitions, columns = free_elements(dst);
  std::vector<uint8_t> undefined(static_cast<size_t>(rows * columns));
  for (const size_t source : visit.undefined) collect_undefined(visit, source, position, undefined);
  const auto undefined_stamp = static_cast<Stamp>(touches_.size());
  touches_.push_back({visit.index, touches_[visit.stamp].context, visit.origin});
  complete_[id] = false;
  const int64_t cells = itemsize(dst.dtype) / shadows_[id].cell();
  Visit part = visit;
  std::vector<Operand> operands(visit.operands.begin(), visit.operands.end());
  std::vector<Location> locations(visit.locations, visit.locations + operands.size());
  for (int64_t p = 0, next = 1; p < rows; p = next, ++next) {
    const auto row = undefined.begin() + p * columns;
    if (dst.memory != MemoryKind::kHbm) {  // rows that are alike stay one band
      while (next < rows && std::equal(row, row + columns, undefined.begin() + next * columns)) {
        ++next;
      }
    }
    operands[position].partitions = static_cast<int32_t>(next - p);
    if (dst.memory == MemoryKind::kHbm) {
      locations[position].offset = visit.locations[position].offset + p * dst.partition_stride;
    } else {
      locations[position].partition = visit.locations[position].partition + static_cast<int32_t>(p);
    }
    InstanceFacts facts;
    if (dst.indirect && visit.facts != nullptr) {
      facts.rows = visit.facts->rows.subspan(static_cast<size_t>(p));
      locations[position] = visit.locations[position];
      part.facts = &facts;
    }
    part.operands = operands;
    part.locations = locations.data();
    each_cell_run(part, position, true,
                  [&](ShadowTile::Band& band, int64_t first, int64_t count, const Sweep& at) {
                    for (int64_t c = 0; c < count; ++c) {
                      const bool bad = row[at.element + c / cells] != 0;
                      band.writers[static_cast<size_t>(first + c)] =
                          bad ? undefined_stamp : visit.stamp;
                    }
                  });
  }
  shadows_[id].tidy();
}

}  // namespace neuron_sim
