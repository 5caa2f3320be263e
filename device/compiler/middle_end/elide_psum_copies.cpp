#include "device/compiler/middle_end/elide_psum_copies.h"

#include <algorithm>
#include <map>

#include "device/analysis/access_runs.h"
#include "device/base/interruption.h"
#include "device/compiler/line/instance_checks.h"
#include "device/compiler/tiles/live_bytes.h"
#include "device/compiler/tiles/tile_uses.h"
#include "device/isa/movement/tensor_copy.h"

namespace neuron_sim {
namespace {

/// Elements side by side, in the order of their addresses, in every partition.
bool is_dense(const Operand& operand) {
  return innermost_run(operand).outer == 0 &&
         (operand.partition_stride == 1 || operand.partitions == 1);
}

/// Whether a copy only rounds: what its readers lose without it is an error, not a meaning.
bool rounds(const Operand& dst, const Operand& src) {
  return src.dtype == Dtype::kFloat32 &&
         (dst.dtype == Dtype::kFloat16 || dst.dtype == Dtype::kBfloat16);
}

/// The elements of the source of a copy whose results `operand` reads.
Operand at_source(const Operand& operand, const Operand& dst, const Operand& src) {
  const int64_t from = itemsize(dst.dtype), to = itemsize(src.dtype);
  Operand result = operand;
  result.tile = src.tile;
  result.memory = src.memory;
  result.dtype = src.dtype;
  result.offset = src.offset + (operand.offset - dst.offset) / from * to;
  result.start_partition += src.start_partition - dst.start_partition;
  for (Dimension& dimension : result.free) dimension.stride = dimension.stride / from * to;
  return result;
}

/// A reader of a copy, and the operand and demand that it had.
struct Redirected {
  TileUse use;
  StraightOperand before;
  uint32_t demand = 0;
};

/// Elides the copies of one statement, or leaves everything unchanged.
class StatementElision {
 public:
  StatementElision(StraightLine& line, const TileUses& uses, LiveBytes& banks, bool rounding,
                   InstanceChecks& checks)
      : line_(line), uses_(uses), banks_(banks), rounding_(rounding), checks_(checks) {}

  bool run(const std::vector<uint32_t>& copies) {
    const bool done =
        std::all_of(copies.begin(), copies.end(),
                    [&](uint32_t copy) { return is_candidate(at(copy)) && redirect(copy); }) &&
        std::all_of(redirected_.begin(), redirected_.end(),
                    [&](const Redirected& reader) {
                      return checks_.renew_demand(line_, at(reader.use.instance));
                    }) &&
        fits();
    if (done) return true;
    for (const Redirected& reader : redirected_) {
      operand_at(line_, reader.use) = reader.before;
      at(reader.use.instance).instruction.demand = reader.demand;
    }
    return false;
  }

 private:
  /// Instances during which a bank is held longer than before.
  struct Extension {
    size_t first, last;
    int64_t banks;
  };

  StraightInstruction& at(uint32_t instance) { return line_.instructions[instance]; }

  bool is_candidate(const StraightInstruction& instance) const {
    if (instance.instruction.type != &kTensorCopy) return false;
    const WholeOperands operands = line_.whole_operands_of(instance);
    const Operand& dst = operands[0];
    const Operand& src = operands[1];
    return src.memory == MemoryKind::kPsum && dst.memory == MemoryKind::kSbuf &&
           (src.dtype == dst.dtype || (rounding_ && rounds(dst, src))) && is_dense(src) &&
           is_dense(dst) && !line_.tile_of(src).placed && !line_.tile_of(dst).placed;
  }

  /// Whether the reader is in the same iteration of the loops around the copy: not the reader of a
  /// copy that was moved out of its loop (hoist_invariants.h).
  bool in_loops_of(uint32_t copy, uint32_t reader) {
    const Nest& a = line_.nest_of(at(copy));
    const Nest& b = line_.nest_of(at(reader));
    const auto depth = static_cast<uint8_t>(std::min(a.depth, b.depth));
    return std::equal(a.iteration.begin(), a.iteration.begin() + depth, b.iteration.begin());
  }

  /// Lets the readers of one copy read its source.
  bool redirect(uint32_t copy) {
    const WholeOperands operands = line_.whole_operands_of(at(copy));
    const Operand &dst = operands[0], &src = operands[1];
    uint32_t source_end = 0;
    for (const TileUse& use : uses_.of(src.tile)) {
      if (operand_at(line_, use).writes() && use.instance > copy) return false;
      source_end = std::max(source_end, use.instance);
    }
    uint32_t last = copy;
    for (const TileUse& use : uses_.of(dst.tile)) {
      StraightOperand& operand = operand_at(line_, use);
      if (operand.tile != dst.tile || use.instance == copy) continue;
      const Region region = line_.region_of(operand);
      if (!overlap(region, dst.region)) continue;
      const bool readable = operand.direction == Direction::kRead && use.instance > copy &&
                            line_.pattern_of(operand).dtype == dst.dtype &&
                            covers(dst.region, region) && in_loops_of(copy, use.instance);
      if (!readable) return false;
      redirected_.push_back({use, operand, at(use.instance).instruction.demand});
      Operand moved = at_source(line_.whole(operand), dst, src);
      renew_region(line_, moved);
      operand = line_.straight(moved);
      last = std::max(last, use.instance);
    }
    const int64_t bank = line_.architecture->limits.psum_bank.count;
    const int64_t bytes = line_.tile_of(src).bytes;
    if (last > source_end) extensions_.push_back({source_end + 1, last, (bytes + bank - 1) / bank});
    return last > copy;
  }

  /// Whether PSUM now holds all tiles live at any one time; else the counts are restored.
  bool fits() {
    for (const Extension& more : extensions_) banks_.add(more.first, more.last, more.banks);
    const bool fit =
        std::all_of(extensions_.begin(), extensions_.end(), [&](const Extension& more) {
          return banks_.largest(more.first, more.last) <= line_.architecture->limits.psum_banks;
        });
    if (fit) return true;
    for (const Extension& more : extensions_) banks_.add(more.first, more.last, -more.banks);
    return false;
  }

  StraightLine& line_;
  const TileUses& uses_;
  LiveBytes& banks_;
  bool rounding_;  ///< whether copies that round are elided too
  InstanceChecks& checks_;
  std::vector<Redirected> redirected_;
  std::vector<Extension> extensions_;
};

}  // namespace

void elide_psum_copies(StraightLine& line, const PassSettings& settings) {
  const bool rounding = settings["elide_rounding_copies"] != 0;
  const TileUses uses(line);
  LiveBytes banks = live_banks(line, uses);
  std::map<uint32_t, std::vector<uint32_t>> copies;
  for (uint32_t i = 0; i < line.instructions.size(); ++i) {
    const StraightInstruction& instance = line.instructions[i];
    if (instance.instruction.type == &kTensorCopy) copies[instance.statement].push_back(i);
  }
  std::vector<bool> removed(line.instructions.size());
  InstanceChecks checks;
  for (const auto& [statement, instances] : copies) {
    poll_interruption();
    if (!StatementElision(line, uses, banks, rounding, checks).run(instances)) continue;
    for (const uint32_t instance : instances) removed[instance] = true;
  }
  remove_instances(line, removed);
}

}  // namespace neuron_sim
