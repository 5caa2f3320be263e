#pragma once
// Follows every byte of a program: who wrote it, who read it, whether it is defined.

#include <span>
#include <vector>

#include "device/analysis/access_runs.h"
#include "device/check/findings.h"
#include "device/check/psum_groups.h"
#include "device/check/reports.h"
#include "device/check/shadow_tile.h"
#include "device/execute/run_observer.h"
#include "device/program/cursor.h"

namespace neuron_sim {

/// A visitor of Cursor for checks without data; instance() for checks of a run.
class ShadowWalk : public WalkWithoutData {
 public:
  ShadowWalk(const Program& program, const CheckOptions& options, bool runs);

  int64_t boundary(const Loop& loop, uint32_t, int64_t iteration, int64_t) {
    order_.begin(loop, iteration);
    return 0;
  }
  void meet(const Meeting& meeting) { visit_meeting(meeting, *this); }
  void instruction(uint32_t index, const int64_t* variables);

  /// An iteration of a loop of a run begins.
  void begin(const Loop& loop, int64_t iteration) { order_.begin(loop, iteration); }
  /// An instance with its operands where they lie; `facts` null without a run.
  void instance(uint32_t index, const int64_t* variables, const Location* locations,
                const InstanceFacts* facts);
  /// The program has ended: outputs must be complete.
  void finish();

  Reports reports;

 private:
  /// A write or a read. Stamps are indices of touches_.
  struct Touch {
    uint32_t instruction = kNobody;
    uint32_t context = 0;
    uint32_t origin = kNobody;        ///< undefined bytes: the instruction that read them first
    bool is_fill = false;             ///< it wrote a constant
    std::vector<size_t> causes = {};  ///< undefined bytes: suspects of `reports`
    bool defined() const { return origin == kNobody; }
  };
  static constexpr uint32_t kNobody = UINT32_MAX;
  static constexpr Stamp kUnwritten = 0, kStart = 1;

  /// The instance that is visited.
  struct Visit {
    uint32_t index = 0;
    const Instruction* instruction = nullptr;
    std::span<const Operand> operands;
    const Location* locations = nullptr;
    const int64_t* variables = nullptr;
    const InstanceFacts* facts = nullptr;
    Stamp stamp = 0;
    bool to_argument = false;  ///< its first written operand is a tensor of the caller
    uint32_t origin = kNobody;
    std::vector<size_t> undefined;  ///< operands whose undefined elements go to dst
    std::vector<size_t> causes;     ///< suspects that these elements are due to
    size_t suspected = SIZE_MAX;    ///< the last operand that became one
  };
  /// A sum that was overwritten unread: a suspect of `reports` until the new contents are read.
  struct Loss {
    uint8_t core;
    Region region;
    size_t suspect;
    bool meets(uint8_t other, const Region& bytes) const {
      return core == other && overlap(region, bytes);
    }
  };
  enum class Access : uint8_t { kRead, kWrite };
  /// Partitions of an operand, counted from its first, and the first element of a run in them.
  struct Sweep {
    int64_t first = 0, last = 0;
    int64_t element = 0;
  };

  void choose_tracked();
  void track_iterations();
  bool touches_checked(std::span<const Operand> operands) const;
  bool is_argument(const Operand& operand) const {
    return program_.tiles[static_cast<size_t>(operand.tile)].argument >= 0;
  }
  bool takes_part(const Visit& visit, size_t position) const;
  InstanceName name(const Visit& visit) const;
  const Tile& tile(const Visit& visit, size_t position) const {
    return program_.tiles[static_cast<size_t>(visit.locations[position].tile)];
  }
  /// Calls body(band, first cell, number of cells, partition of the operand) for the cells of an
  /// operand in the order of its elements; `cut`: bands end where the operand does.
  template <typename Body>
  void each_cell_run(const Visit& visit, size_t position, bool cut, Body&& body) {
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
  FoundPlace place(const Visit& visit, size_t position, const ShadowTile::Band& band, int64_t cell,
                   int64_t count) const;

  void check_overlaps(const Visit& visit);
  void check_products(const Visit& visit);
  void read_sums(uint32_t index, uint8_t core, const Region& region);
  void read(Visit& visit, size_t position);
  void note_reader(Visit& visit, size_t position);
  void meet_undefined(Visit& visit, size_t position, const ShadowTile::Band& band, int64_t cell,
                      int64_t count);
  size_t suspect(const Visit& visit, size_t position, Stamp stamp, const FoundPlace& where);
  bool skips_rows(const Visit& visit, size_t position) const;
  bool writes_again(const Visit& visit, size_t position, const IterationMark& mark) const;
  /// Whether the instance has no order against the one of `other`, which is reported.
  bool check_order(const Visit& visit, size_t position, Access own, Stamp other, Access theirs,
                   const FoundPlace& where);
  void check_overwritten(const Visit& visit, size_t position, ShadowTile::Band& band, int64_t first,
                         int64_t count);
  void check_repeated_runs();
  bool repeats(const Visit& visit, size_t position, Stamp writer);
  void report_overwritten(const Visit& visit, size_t position, Stamp writer,
                          const FoundPlace& where);
  void check_repeated_rows(const Visit& visit, size_t position);
  void write(Visit& visit, size_t position);
  void write_all(Visit& visit, size_t position);
  void write_partly(const Visit& visit, size_t position);
  UndefinedUse use_of(const Visit& visit, size_t source, size_t position) const;
  void collect_undefined(const Visit& visit, size_t source, size_t position,
                         std::vector<uint8_t>& undefined);
  void note_unread(const Visit& visit);
  void report_unread();
  void note_complete(TileId tile);

  const Program& program_;
  const CheckOptions& options_;
  bool runs_;
  IterationOrder order_;
  PsumGroups psum_;
  std::vector<Loss> losses_;
  std::vector<size_t> depths_;
  std::vector<ShadowTile> shadows_;
  std::vector<bool> tracked_, complete_, filled_;  // per tile; filled_: with a constant
  std::vector<uint32_t> writes_, last_writer_;     // per tile
  std::vector<bool> overlaps_, multiplies_;        // per instruction
  std::vector<bool> matters_;                      // per instruction: it can break a rule
  std::vector<bool> is_used_;                      // per source line: something read a result
  std::vector<std::vector<uint32_t>> unread_;      // per tile: who wrote it since it was read
  std::vector<Touch> touches_;
};

}  // namespace neuron_sim
