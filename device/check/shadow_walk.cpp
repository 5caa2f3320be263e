#include "device/check/shadow_walk.h"

#include <array>

#include "device/base/errors.h"
#include "device/base/interruption.h"
#include "device/check/iteration_windows.h"
#include "device/check/operand_overlap.h"
#include "device/check/output_coverage.h"
#include "device/isa/movement/memset.h"

namespace neuron_sim {
namespace {

bool is_product(const Program& program, const Instruction& instruction) {
  return program.demands[instruction.demand].multiply_accumulates > 0;
}

bool writes_zeros(const Program& program, const Instruction& instruction) {
  return instruction.type == &kMemset &&
         program.attributes_of(instruction)[Memset::kValue].real() == 0;
}

/// How a fault of a sum in PSUM is told, by its kind.
struct FaultText {
  Rule rule;
  const char *does, *after;
};
constexpr std::array kFaultTexts{
    FaultText{Rule::kPsumInterleavedGroups, "adds to ",
              "' after another sum began in the same bank, by '"},
    FaultText{Rule::kPsumReadBeforeStop, "adds to ", "' after the sum was read, by '"},
    FaultText{Rule::kLostSum, "overwrites ", "', a sum that nothing read, of '"}};

}  // namespace

ShadowWalk::ShadowWalk(const Program& program, const CheckOptions& options, bool runs)
    : reports(program),
      program_(program),
      options_(options),
      runs_(runs),
      order_(program, options.iterations),
      psum_(program),
      depths_(loop_depths(program)),
      complete_(program.tiles.size()),
      filled_(program.tiles.size()),
      writes_(program.tiles.size()),
      last_writer_(program.tiles.size(), kNobody),
      is_used_(program.source_lines.size()),
      unread_(program.tiles.size()),
      touches_(2) {
  choose_tracked();
  if (options.errors_only) track_iterations();
  for (const Instruction& instruction : program.instructions) {
    const auto operands = program.operands_of(instruction);
    const auto overlaps = [&](const Operand& dst) {
      return std::any_of(operands.begin(), operands.end(),
                         [&](const Operand& src) { return may_overlap(dst, src); });
    };
    overlaps_.push_back(!options.errors_only &&
                        std::any_of(operands.begin(), operands.end(), overlaps));
    multiplies_.push_back(is_product(program, instruction) && operands[0].present() &&
                          operands[0].memory == MemoryKind::kPsum);
    matters_.push_back(!options.errors_only || touches_checked(operands));
  }
}

/// Whether an instruction can break a rule of `errors_only`: it uses PSUM or a tracked tile.
bool ShadowWalk::touches_checked(std::span<const Operand> operands) const {
  return std::any_of(operands.begin(), operands.end(), [&](const Operand& operand) {
    if (!operand.present()) return false;
    const auto first = tracked_.begin() + operand.tile;
    return operand.memory == MemoryKind::kPsum ||
           std::find(first, first + operand.ring, true) != first + operand.ring;
  });
}

void ShadowWalk::choose_tracked() {
  const std::vector<int64_t> cells = cells_of(program_);
  const std::vector<bool> proven = complete_outputs(program_);
  for (size_t i = 0; i < program_.tiles.size(); ++i) {
    const Tile& tile = program_.tiles[i];
    const bool on_chip = tile.memory == MemoryKind::kSbuf || tile.memory == MemoryKind::kPsum;
    const bool starts_defined =
        tile.constant >= 0 ||
        (tile.argument >= 0 &&
         (!options_.inputs || static_cast<size_t>(tile.argument) < *options_.inputs));
    const bool argument = tile.argument >= 0;
    const bool written = argument && program_.arguments[static_cast<size_t>(tile.argument)].written;
    bool tracked = on_chip;
    if (tile.memory == MemoryKind::kHbm) {
      // A tensor that is never written twice nor read back matters only as a whole.
      tracked = argument ? (starts_defined ? written && options_.inputs && tile.hazard_group >= 0
                                           : !proven[i])
                         : tile.constant < 0;
    }
    tracked_.push_back(tracked && tile.bytes > 0);
    const bool keeps_reads = argument || (tile.memory == MemoryKind::kHbm && !order_.empty());
    shadows_.emplace_back(on_chip ? tile.partitions : 1, tile.bytes, cells[i], keeps_reads);
    if (tracked_.back() && starts_defined) shadows_.back().fill(kStart);
  }
}

/// Tracks only the tiles of which parallel iterations may write the same bytes, and the outputs
/// that nothing writes.
void ShadowWalk::track_iterations() {
  std::vector<bool> wanted(tracked_.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    const int32_t argument = program_.tiles[i].argument;
    wanted[i] = argument >= 0 && !program_.arguments[static_cast<size_t>(argument)].written;
  }
  for (const IterationMark& mark : options_.iterations) {
    for (uint32_t i = mark.first; i < mark.end && i < program_.instructions.size(); ++i) {
      for (const Operand& operand : program_.operands_of(program_.instructions[i])) {
        if (!operand.present() || !operand.writes()) continue;
        for (int32_t turn = 0; turn < operand.ring; ++turn) {
          wanted[static_cast<size_t>(operand.tile) + static_cast<size_t>(turn)] = true;
        }
      }
    }
  }
  const std::vector<bool> apart = tiles_apart(program_, options_.iterations);
  for (size_t i = 0; i < wanted.size(); ++i) tracked_[i] = tracked_[i] && wanted[i] && !apart[i];
}

bool ShadowWalk::takes_part(const Visit& visit, size_t position) const {
  const Operand& operand = visit.operands[position];
  if (!operand.present() || !tracked_[static_cast<size_t>(visit.locations[position].tile)]) {
    return false;
  }
  // Without a run, the target of an address in a register or of an indirect row is unknown.
  return visit.facts != nullptr || (operand.register_index < 0 && !operand.indirect);
}

InstanceName ShadowWalk::name(const Visit& visit) const {
  return {visit.index, {visit.variables, visit.variables + depths_[visit.index]}};
}

void ShadowWalk::instruction(uint32_t index, const int64_t* variables) {
  static constexpr int64_t kNoRegisters[64] = {};
  poll_interruption();
  if (!matters_[index]) return;
  const auto operands = program_.operands_of(program_.instructions[index]);
  std::array<Location, kMaximumOperands> locations;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].present())
      locations[i] = locate(program_, operands[i], variables, kNoRegisters);
  }
  instance(index, variables, locations.data(), nullptr);
}

void ShadowWalk::instance(uint32_t index, const int64_t* variables, const Location* locations,
                          const InstanceFacts* facts) {
  const Instruction& instruction = program_.instructions[index];
  if (instruction.type->synchronises == Synchronisation::kBarrier) return;  // moves no bytes
  if (facts != nullptr && !facts->moves) return;
  Visit visit;
  visit.index = index;
  visit.instruction = &instruction;
  visit.operands = program_.operands_of(instruction);
  visit.locations = locations;
  visit.variables = variables;
  visit.facts = facts;
  if (overlaps_[index]) check_overlaps(visit);
  for (const Operand& operand : visit.operands) {
    if (!operand.present() || !operand.writes()) continue;
    visit.to_argument = is_argument(operand);
    break;
  }
  visit.stamp = static_cast<Stamp>(touches_.size());
  touches_.push_back({index, order_.context(index)});
  for (size_t i = 0; i < visit.operands.size(); ++i) {
    if (visit.operands[i].present() && visit.operands[i].reads()) read(visit, i);
  }
  check_products(visit);
  for (size_t i = 0; i < visit.operands.size(); ++i) {
    if (visit.operands[i].present() && visit.operands[i].writes()) write(visit, i);
  }
  if (!options_.errors_only) note_unread(visit);
}

void ShadowWalk::check_overlaps(const Visit& visit) {
  for (size_t d = 0; d < visit.operands.size(); ++d) {
    for (size_t s = 0; s < visit.operands.size(); ++s) {
      const Operand &dst = visit.operands[d], &src = visit.operands[s];
      if (!may_overlap(dst, src)) continue;
      if (dst.indirect || src.indirect) continue;
      if (visit.facts == nullptr && (dst.register_index >= 0 || src.register_index >= 0)) continue;
      const TileId tile_of_src = visit.locations[s].tile;
      if (!reports.is_new(Rule::kPartialOverlap, visit.index, s, tile_of_src)) continue;
      const auto shared =
          partial_overlap(program_, dst, visit.locations[d], src, visit.locations[s]);
      if (!shared) continue;
      reports.add(Rule::kPartialOverlap, name(visit), s, tile_of_src, {shared, {}},
                  text("reads operand '", operand_name(program_, visit.index, s), "' and writes '",
                       operand_name(program_, visit.index, d), "', which share bytes [",
                       shared->begin, ", ", shared->end, ") of tile '", tile(visit, s).label,
                       "' in another order"),
                  "");
    }
  }
}

void ShadowWalk::check_products(const Visit& visit) {
  const uint8_t core = visit.instruction->core;
  for (size_t i = visit.operands.size(); i-- > 0;) {  // what is read comes before the results
    const Operand& operand = visit.operands[i];
    if (!operand.present() || operand.memory != MemoryKind::kPsum) continue;
    if (visit.facts == nullptr && operand.register_index >= 0) continue;
    const bool is_product = i == 0 && multiplies_[visit.index];
    const Region region = region_at(operand, visit.locations[i]);
    if (operand.reads() && !is_product) read_sums(visit.index, core, region);
    if (!operand.writes()) continue;
    const int64_t start = tile(visit, i).address;
    const FoundPlace where{ByteRange{region.low - start, region.high() - start}, {}};
    const auto banks = is_product ? psum_.crossing(region) : std::nullopt;
    if (banks) {
      reports.add(Rule::kPsumBankCrossing, name(visit), i, visit.locations[i].tile, where,
                  text("writes ", describe(where), " of tile '", tile(visit, i).label,
                       "', which lie in banks ", banks->first, " and ", banks->second,
                       " of PSUM; a product writes to one bank of ",
                       program_.architecture->limits.psum_bank.count, " bytes per partition"),
                  "");
    }
    const TileId id = visit.locations[i].tile;
    const bool adds = is_product && operand.reads();
    const auto fault = is_product ? psum_.product(visit.index, core, id, region, adds)
                                  : psum_.overwrite(core, id, region);
    if (writes_zeros(program_, *visit.instruction)) psum_.zeroed(core, region);
    if (!adds) {
      std::erase_if(losses_, [&](const Loss& loss) { return loss.meets(core, region); });
    }
    if (!fault) continue;
    const FaultText& found = kFaultTexts[static_cast<size_t>(fault->kind)];
    const size_t number =
        reports.suspect(found.rule, name(visit), i, id, where,
                        text(found.does, describe(where), " of tile '", tile(visit, i).label,
                             found.after, program_.instructions[fault->other].type->name, "'"),
                        line_of(program_, fault->other));
    const bool lost = fault->kind == PsumGroups::Fault::Kind::kLost;
    lost ? losses_.push_back({core, region, number}) : reports.reveal(number);
  }
}

void ShadowWalk::read_sums(uint32_t index, uint8_t core, const Region& region) {
  psum_.read(index, core, region);
  for (const Loss& loss : losses_) {
    if (loss.meets(core, region)) reports.reveal(loss.suspect);
  }
}

void ShadowWalk::finish() {
  check_repeated_runs();
  report_unread();
  if (program_.uses_registers && !runs_) return;
  for (size_t i = 0; i < program_.tiles.size(); ++i) {
    const Tile& tile = program_.tiles[i];
    const bool output = tile.argument >= 0 && options_.inputs &&
                        static_cast<size_t>(tile.argument) >= *options_.inputs;
    if (!output || !tracked_[i]) continue;
    int64_t missing = 0, first = -1, end = 0;
    const int64_t cell = shadows_[i].cell();
    shadows_[i].each_band(0, 1, [&](const ShadowTile::Band& band) {
      for (size_t c = 0; c < band.writers.size(); ++c) {
        if (band.writers[c] != kUnwritten) continue;
        const auto at = static_cast<int64_t>(c) * cell;
        missing += cell;
        if (first < 0) first = end = at;
        if (at == end) end += cell;
      }
    });
    if (missing == 0) continue;
    Finding finding;
    finding.rule = Rule::kUnwrittenOutput;
    finding.kernel = program_.kernel;
    finding.tile = tile.label;
    finding.place.bytes = ByteRange{first, end};
    if (last_writer_[i] != kNobody) {
      finding.instruction = program_.instructions[last_writer_[i]].type->name;
      finding.source_line = line_of(program_, last_writer_[i]);
    }
    finding.message =
        text("kernel '", program_.kernel, "' never writes ", missing, " of the ", tile.bytes,
             " bytes of output '", tile.label, "', the first are bytes [", first, ", ", end, ").");
    reports.add(std::move(finding));
  }
}

}  // namespace neuron_sim
