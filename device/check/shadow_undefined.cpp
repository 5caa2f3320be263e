// ShadowWalk: undefined elements, from the instruction that reads them to the one that uses them.

#include <algorithm>

#include "device/base/errors.h"
#include "device/check/propagation.h"
#include "device/check/shadow_walk.h"

namespace neuron_sim {

/// An undefined run of an operand is a defect where it decides about something, and where it is
/// stored in a tensor of the caller. Results that depend on it are undefined as well: a sum over it
/// is a defect once it is used in turn, at the sum.
void ShadowWalk::meet_undefined(Visit& visit, size_t position, const ShadowTile::Band& band,
                                int64_t cell, int64_t count) {
  if (options_.errors_only) return;
  const Stamp stamp = band.writers[static_cast<size_t>(cell)];
  const UndefinedUse use = undefined_use(program_, *visit.instruction, position);
  if (use == UndefinedUse::kKept) return;
  const std::vector<size_t> causes = touches_[stamp].causes;
  const bool is_passed_on = use != UndefinedUse::kReported || (position == 0 && !causes.empty());
  const FoundPlace where = place(visit, position, band, cell, count);
  if (!is_passed_on || visit.to_argument) {
    for (const size_t cause : causes) reports.reveal(cause);
    if (causes.empty()) reports.reveal(suspect(visit, position, stamp, where));
    return;
  }
  if (visit.origin == kNobody) {
    visit.origin = stamp == kUnwritten ? visit.index : touches_[stamp].origin;
  }
  if (visit.undefined.empty() || visit.undefined.back() != position) {
    visit.undefined.push_back(position);
  }
  const auto add = [&](size_t cause) {
    if (std::find(visit.causes.begin(), visit.causes.end(), cause) == visit.causes.end()) {
      visit.causes.push_back(cause);
    }
  };
  std::for_each(causes.begin(), causes.end(), add);
  const bool is_moved = use == UndefinedUse::kPassedOn || use == UndefinedUse::kTransposed;
  const bool is_used = !is_moved || reduces(program_, *visit.instruction);
  if (!causes.empty() || !is_used || visit.suspected == position) return;
  visit.suspected = position;
  add(suspect(visit, position, stamp, where));
}

size_t ShadowWalk::suspect(const Visit& visit, size_t position, Stamp stamp,
                           const FoundPlace& where) {
  const uint32_t origin = stamp == kUnwritten ? visit.index : touches_[stamp].origin;
  const bool sum = multiplies_[visit.index] && position == 0;
  std::string sentence = text(
      sum ? "adds to operand '" : "uses operand '", operand_name(program_, visit.index, position),
      "' (tile '", tile(visit, position).label, "'), of which nothing wrote ", describe(where));
  if (stamp != kUnwritten) {
    const InstructionType& type = *program_.instructions[origin].type;
    const bool may_skip = runs_ && type.oob_skip_attribute >= 0;
    sentence += text(": '", type.name, "' read what nothing wrote",
                     may_skip ? ", or skipped rows whose index is out of range" : "");
  }
  return reports.suspect(sum ? Rule::kPsumAccumulateWithoutStart : Rule::kUninitialisedRead,
                         name(visit), position, visit.locations[position].tile, where, sentence,
                         stamp == kUnwritten ? "" : line_of(program_, origin));
}

/// Whether rows of an operand stay as they are: their source is a row that the run skips.
bool ShadowWalk::skips_rows(const Visit& visit, size_t position) const {
  const Operand& dst = visit.operands[position];
  if (visit.facts == nullptr || dst.indirect) return false;
  const auto& rows = visit.facts->rows;
  return std::any_of(visit.operands.begin(), visit.operands.end(),
                     [](const Operand& operand) { return operand.indirect; }) &&
         rows.size() == static_cast<size_t>(dst.partitions) &&
         std::any_of(rows.begin(), rows.end(), [](int32_t row) { return row < 0; });
}

/// What becomes of undefined elements of a source in one of the operands that are written: every
/// one after the first is a reduction over rows.
UndefinedUse ShadowWalk::use_of(const Visit& visit, size_t source, size_t position) const {
  const auto is_written = [](const Operand& operand) {
    return operand.present() && operand.writes();
  };
  const auto end = visit.operands.begin() + static_cast<int64_t>(position);
  if (std::any_of(visit.operands.begin(), end, is_written)) return UndefinedUse::kToRow;
  if (source == position) return UndefinedUse::kPassedOn;  // it adds to its destination
  return undefined_use(program_, *visit.instruction, source);
}

/// Marks the elements of dst that undefined elements of a source go to.
void ShadowWalk::collect_undefined(const Visit& visit, size_t source, size_t position,
                                   std::vector<uint8_t>& undefined) {
  const Operand &dst = visit.operands[position], &src = visit.operands[source];
  const int64_t rows = dst.partitions, columns = free_elements(dst);
  const int64_t own_columns = free_elements(src);
  const int64_t cell = shadows_[static_cast<size_t>(visit.locations[source].tile)].cell();
  const int64_t size = itemsize(src.dtype);
  const UndefinedUse use = use_of(visit, source, position);
  const bool is_alike = own_columns * src.partitions == rows * columns;
  const auto mark = [&](int64_t first, int64_t count, int64_t step = 1) {
    for (int64_t i = 0; i < count; ++i) undefined[static_cast<size_t>(first + i * step)] = 1;
  };
  const auto spread = [&](int64_t p, int64_t e) {
    if (use == UndefinedUse::kPassedOn && is_alike) return mark(p * own_columns + e, 1);
    if (use == UndefinedUse::kTransposed && is_alike) return mark(e * columns + p, 1);
    if (use == UndefinedUse::kToColumn && own_columns == columns) return mark(e, rows, columns);
    if (use == UndefinedUse::kColumnToRow && own_columns == rows) return mark(e * columns, columns);
    const bool by_row = src.partitions == rows && use != UndefinedUse::kToColumn &&
                        use != UndefinedUse::kColumnToRow;
    if (!by_row) return mark(0, rows * columns);
    if (use == UndefinedUse::kReduced && own_columns % columns == 0) {
      return mark(p * columns + e / (own_columns / columns), 1);
    }
    mark(p * columns, columns);
  };
  // Of a product, all partitions of a column have the same consequence.
  const bool once = use == UndefinedUse::kToColumn || use == UndefinedUse::kColumnToRow;
  each_cell_run(visit, source, false,
                [&](ShadowTile::Band& band, int64_t first, int64_t count, const Sweep& at) {
                  for (int64_t c = 0; c < count; ++c) {
                    const Stamp stamp = band.writers[static_cast<size_t>(first + c)];
                    if (stamp != kUnwritten && touches_[stamp].defined()) continue;
                    const int64_t end = at.element + ((c + 1) * cell + size - 1) / size;
                    const int64_t last = once ? at.first + 1 : at.last;
                    for (int64_t e = at.element + c * cell / size; e < end; ++e) {
                      for (int64_t p = at.first; p < last; ++p) spread(p, e);
                    }
                  }
                });
}

void ShadowWalk::write_partly(const Visit& visit, size_t position) {
  static constexpr uint8_t kStays = 2;
  const Operand& dst = visit.operands[position];
  const auto id = static_cast<size_t>(visit.locations[position].tile);
  const int64_t rows = dst.partitions, columns = free_elements(dst);
  std::vector<uint8_t> undefined(static_cast<size_t>(rows * columns));
  for (const size_t source : visit.undefined) collect_undefined(visit, source, position, undefined);
  if (skips_rows(visit, position)) {
    for (int64_t p = 0; p < rows; ++p) {
      if (visit.facts->rows[static_cast<size_t>(p)] >= 0) continue;
      std::fill_n(undefined.begin() + p * columns, columns, kStays);
    }
  }
  const auto undefined_stamp = static_cast<Stamp>(touches_.size());
  const uint32_t origin = visit.origin == kNobody ? visit.index : visit.origin;
  touches_.push_back({visit.index, touches_[visit.stamp].context, origin, false, visit.causes});
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
                      const uint8_t fate = row[at.element + c / cells];
                      Stamp& writer = band.writers[static_cast<size_t>(first + c)];
                      // The instruction that skipped a row reports it.
                      if (fate == kStays && writer != kUnwritten) continue;
                      writer = fate != 0 ? undefined_stamp : visit.stamp;
                    }
                  });
  }
  shadows_[id].tidy();
}

/// Marks the lines that wrote a tile as used once the tile is read, and enters those that write.
void ShadowWalk::note_unread(const Visit& visit) {
  for (size_t i = 0; i < visit.operands.size(); ++i) {
    const Operand& operand = visit.operands[i];
    if (!operand.present() || operand.writes()) continue;
    auto& writers = unread_[static_cast<size_t>(visit.locations[i].tile)];
    for (const uint32_t writer : writers) {
      is_used_[static_cast<size_t>(program_.instructions[writer].source_line)] = true;
    }
    writers.clear();
  }
  if (visit.instruction->source_line < 0) return;
  for (size_t i = 0; i < visit.operands.size(); ++i) {
    const Operand& operand = visit.operands[i];
    if (!operand.present() || !operand.writes()) continue;
    auto& writers = unread_[static_cast<size_t>(visit.locations[i].tile)];
    if (writers.empty() || writers.back() != visit.index) writers.push_back(visit.index);
  }
}

/// Lines of a kernel that compute what nothing reads, or store it in scratch that nothing reads: it
/// may be what the kernel should have stored. Loads and constants do not count as results.
void ShadowWalk::report_unread() {
  if (options_.errors_only || (program_.uses_registers && !runs_)) return;
  const auto is_in_hbm = [](const auto& each) { return each.memory == MemoryKind::kHbm; };
  for (size_t id = 0; id < unread_.size(); ++id) {
    for (const uint32_t index : unread_[id]) {
      const Instruction& instruction = program_.instructions[index];
      const auto operands = program_.operands_of(instruction);
      const auto line = static_cast<size_t>(instruction.source_line);
      if (is_used_[line] || fills(*instruction.type)) continue;
      const bool is_kept = program_.tiles[id].argument >= 0 || !is_in_hbm(program_.tiles[id]);
      if (is_kept && std::any_of(operands.begin(), operands.end(), is_in_hbm)) continue;
      is_used_[line] = true;  // reported once
      reports.add(Rule::kUnusedResult, {index, {}}, 0, static_cast<TileId>(id), {},
                  text("writes tile '", program_.tiles[id].label, "', which nothing reads"), "");
    }
  }
}

}  // namespace neuron_sim
