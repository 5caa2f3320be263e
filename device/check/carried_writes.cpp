#include "device/check/carried_writes.h"

#include <algorithm>
#include <unordered_set>

#include "device/program/shared_bytes.h"

namespace neuron_sim {
namespace {

/// An operand on chip whose bytes are the same in every iteration of the loop at that level.
bool is_same_in_all(const Program& program, const Operand& operand, int32_t level) {
  if (operand.memory != MemoryKind::kSbuf && operand.memory != MemoryKind::kPsum) return false;
  if (operand.indirect || operand.register_index >= 0) return false;
  const Term* const first = program.terms.data() + operand.first_term;
  return std::none_of(first, first + operand.term_count,
                      [&](const Term& term) { return term.level == level; });
}

bool overlap(const Operand& a, const Operand& b) {
  return a.tile == b.tile && shared_bytes(a, {a.tile, a.start_partition, a.offset}, b,
                                          {b.tile, b.start_partition, b.offset})
                                 .has_value();
}

/// Follows one body: what it read of tiles that it had not written before.
class Body {
 public:
  Body(const Program& program, const IterationMark& mark) : program_(program), mark_(mark) {}

  void visit(uint32_t index, std::vector<CarriedWrite>& out) {
    const auto operands = program_.operands_of(program_.instructions[index]);
    for (const Operand& operand : operands) {
      const bool is_read = operand.present() && operand.direction == Direction::kRead;
      if (is_read && made_.count(operand.tile) == 0 &&
          is_same_in_all(program_, operand, mark_.level)) {
        read_.push_back(&operand);
      }
    }
    for (const Operand& operand : operands) {
      if (operand.present() && operand.direction == Direction::kWrite) write(index, operand, out);
    }
  }

 private:
  void write(uint32_t index, const Operand& target, std::vector<CarriedWrite>& out) {
    if (made_.count(target.tile) != 0) return;
    const bool was_read = is_same_in_all(program_, target, mark_.level) &&
                          std::any_of(read_.begin(), read_.end(), [&](const Operand* source) {
                            return overlap(*source, target);
                          });
    if (!was_read) {
      made_.insert(target.tile);
      return;
    }
    out.push_back({index, program_.tiles[static_cast<size_t>(target.tile)].label, mark_.line});
  }

  const Program& program_;
  const IterationMark& mark_;
  std::vector<const Operand*> read_;
  std::unordered_set<TileId> made_;  // in the body, which wrote them first
};

}  // namespace

std::vector<CarriedWrite> carried_writes(const Program& program,
                                         const std::vector<IterationMark>& marks) {
  std::vector<CarriedWrite> result;
  for (const IterationMark& mark : marks) {
    if (mark.level < 0 || mark.kind != IterationMark::Kind::kLoop) continue;
    Body body(program, mark);
    for (uint32_t i = mark.first; i < mark.end; ++i) body.visit(i, result);
  }
  return result;
}

}  // namespace neuron_sim
