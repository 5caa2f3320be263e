// ShadowWalk: accesses of instances that have no order, and bytes that are written twice.

#include <algorithm>
#include <map>

#include "device/analysis/access_runs.h"
#include "device/base/errors.h"
#include "device/check/operand_overlap.h"
#include "device/check/propagation.h"
#include "device/check/shadow_walk.h"

namespace neuron_sim {

/// Whether the iteration itself writes the bytes that it read of an earlier one: they lie at the
/// same place in every iteration.
bool ShadowWalk::writes_again(const Visit& visit, size_t position,
                              const IterationMark& mark) const {
  const auto moves = [&](const Operand& operand) {
    const Term* first = program_.terms.data() + operand.first_term;
    return mark.level >= 0 && std::any_of(first, first + operand.term_count, [&](const Term& term) {
             return term.level == mark.level;
           });
  };
  if (moves(visit.operands[position])) return false;
  const Region region = region_at(visit.operands[position], visit.locations[position]);
  static constexpr int64_t kNoRegisters[64] = {};
  // In an unrolled loop, the instructions of this iteration.
  const IterationMark& own = mark.level >= 0 ? mark : *order_.mark_at(visit.index, mark.group);
  for (uint32_t i = own.first; i < own.end && i < program_.instructions.size(); ++i) {
    for (const Operand& operand : program_.operands_of(program_.instructions[i])) {
      if (!operand.present() || !operand.writes() || moves(operand)) continue;
      const Location at = locate(program_, operand, visit.variables, kNoRegisters);
      if (at.tile == visit.locations[position].tile && overlap(region_at(operand, at), region)) {
        return true;
      }
    }
  }
  return false;
}

bool ShadowWalk::check_order(const Visit& visit, size_t position, Access own, Stamp other,
                             Access theirs, const FoundPlace& where) {
  const Touch& touch = touches_[other];
  if (touch.instruction == kNobody) return false;
  const IterationMark* mark = order_.unordered(visit.index, touches_[visit.stamp].context,
                                               touch.instruction, touch.context);
  if (mark == nullptr) return false;
  const bool in_loop = mark->kind == IterationMark::Kind::kLoop;
  // SBUF, PSUM and scratch belong to one instance of a grid, its additions in HBM are atomic.
  if (!in_loop && !is_argument(visit.operands[position])) return false;
  if (!in_loop && visit.operands[position].direction == Direction::kReadWrite) return false;
  if (in_loop && accumulates(program_, *visit.instruction)) {
    // A sum: it reads what it writes.
    const Operand& dst = visit.operands[0];
    const bool own_destination =
        dst.present() && visit.locations[0].tile == visit.locations[position].tile &&
        overlap(region_at(dst, visit.locations[0]),
                region_at(visit.operands[position], visit.locations[position]));
    if (own_destination) return false;
  }
  const bool value = in_loop && own == Access::kRead && writes_again(visit, position, *mark);
  const Rule rule = value     ? Rule::kCarriedValue
                    : in_loop ? Rule::kCarriedDependency
                              : Rule::kInstanceRace;
  const TileId id = visit.locations[position].tile;
  if (!reports.is_new(rule, visit.index, position, id)) return true;
  const auto verb = [](Access access) { return access == Access::kRead ? "reads " : "writes "; };
  std::string sentence =
      text(verb(own), describe(where), " of '", tile(visit, position).label, "', which '",
           program_.instructions[touch.instruction].type->name, "' of another ",
           in_loop ? "iteration of a parallel loop " : "instance of the grid ", verb(theirs));
  sentence.pop_back();
  if (in_loop && !mark->line.empty()) sentence += text(" (the loop is at ", mark->line, ")");
  reports.add(rule, name(visit), position, id, where, sentence,
              line_of(program_, touch.instruction));
  return true;
}

void ShadowWalk::check_overwritten(const Visit& visit, size_t position, ShadowTile::Band& band,
                                   int64_t first, int64_t count) {
  Stamp known = kUnwritten, first_known = kUnwritten, last_known = kUnwritten;
  for (int64_t c = first; c < first + count; ++c) {
    const auto cell = static_cast<size_t>(c);
    const Stamp writer = band.writers[cell];
    Stamp readers[] = {0, 0};
    if (!band.first_readers.empty()) {
      readers[0] = band.first_readers[cell];
      readers[1] = band.last_readers[cell];
    }
    if (writer == known && readers[0] == first_known && readers[1] == last_known) continue;
    known = writer, first_known = readers[0], last_known = readers[1];
    const FoundPlace where = place(visit, position, band, c, 1);
    // Whether two cores may write the same bytes is for check_races() and CoreValues to say.
    const bool other_wrote =
        writer > kStart && writer != visit.stamp &&
        program_.instructions[touches_[writer].instruction].core == visit.instruction->core;
    const bool unordered =
        other_wrote && !order_.empty() &&
        check_order(visit, position, Access::kWrite, writer, Access::kWrite, where);
    for (const Stamp reader : readers) {
      if (reader == 0 || reader == visit.stamp || order_.empty()) continue;
      check_order(visit, position, Access::kWrite, reader, Access::kRead, where);
    }
    if (other_wrote && !unordered && readers[0] == 0) {
      report_overwritten(visit, position, writer, where);
    }
  }
}

/// Whether all that a store writes was last written by `writer`.
bool ShadowWalk::repeats(const Visit& visit, size_t position, Stamp writer) {
  bool all = true;
  each_cell_run(visit, position, false,
                [&](ShadowTile::Band& band, int64_t first, int64_t count, const Sweep&) {
                  const auto begin = band.writers.begin() + first;
                  all = all && std::all_of(begin, begin + count,
                                           [&](Stamp stamp) { return stamp == writer; });
                });
  return all;
}

/// Bytes of an output that nothing has read are written anew: all of a store by the same line, an
/// index is wrong; else the first store had less effect, unless it set everything to a constant.
/// Tiles that overlap, in order, are right where the later one has the values, as the edges of the
/// interpolation kernels of aws-neuron/nki-samples.
void ShadowWalk::report_overwritten(const Visit& visit, size_t position, Stamp writer,
                                    const FoundPlace& where) {
  if (options_.errors_only) return;
  const Touch& touch = touches_[writer];
  const Instruction& first = program_.instructions[touch.instruction];
  const bool own_line =
      touch.instruction == visit.index ||
      (first.source_line >= 0 && first.source_line == visit.instruction->source_line);
  const bool same = own_line && repeats(visit, position, writer);
  const Rule rule = same ? Rule::kWrittenTwice : Rule::kOverwrittenOutput;
  const TileId id = visit.locations[position].tile;
  if ((!same && touch.is_fill) || !reports.is_new(rule, visit.index, position, id)) return;
  reports.add(rule, name(visit), position, id, where,
              text("writes ", describe(where), " of '", tile(visit, position).label, "', which ",
                   same ? std::string("an earlier iteration") : text("'", first.type->name, "'"),
                   " wrote and nothing read since"),
              line_of(program_, touch.instruction));
}

/// Stores whose rows overlap each other.
void ShadowWalk::check_repeated_runs() {
  if (!options_.inputs || options_.errors_only) return;
  for (uint32_t i = 0; i < program_.instructions.size(); ++i) {
    const auto operands = program_.operands_of(program_.instructions[i]);
    for (size_t position = 0; position < operands.size(); ++position) {
      const Operand& operand = operands[position];
      const bool stores = operand.present() && operand.memory == MemoryKind::kHbm &&
                          operand.direction == Direction::kWrite && !operand.indirect;
      const auto twice = stores ? repeated_bytes(operand) : std::nullopt;
      if (!twice) continue;
      const FoundPlace where{twice, {}};
      reports.add(Rule::kWrittenTwice, {i, {}}, position, operand.tile, where,
                  text("writes ", describe(where), " of '",
                       program_.tiles[static_cast<size_t>(operand.tile)].label,
                       "' more than once: rows of its destination overlap"),
                  "");
    }
  }
}

/// A scatter whose index names a row twice: which of the two values stays is not defined.
void ShadowWalk::check_repeated_rows(const Visit& visit, size_t position) {
  const Operand& operand = visit.operands[position];
  if (visit.facts == nullptr || operand.direction != Direction::kWrite) return;
  std::map<int32_t, int64_t> partition_of;
  for (int64_t p = 0; p < operand.partitions; ++p) {
    const int32_t row = visit.facts->rows[static_cast<size_t>(p)];
    if (row < 0) continue;
    const auto [first, is_new] = partition_of.try_emplace(row, p);
    if (is_new) continue;
    const int64_t begin = visit.locations[position].offset + row * operand.partition_stride;
    const int64_t length = free_elements(operand) * itemsize(operand.dtype);
    const FoundPlace where{ByteRange{begin, begin + length}, ByteRange{p, p + 1}};
    reports.add(Rule::kWrittenTwice, name(visit), position, visit.locations[position].tile, where,
                text("writes row ", row, " of '", tile(visit, position).label, "' for partitions ",
                     first->second, " and ", p, " of its index"),
                "");
    return;
  }
}

}  // namespace neuron_sim
