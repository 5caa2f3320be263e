#include "device/check/shadow_tile.h"

#include <cstddef>
#include <numeric>

#include "device/analysis/access_runs.h"

namespace neuron_sim {
namespace {

// Bands above which it pays to look for equal neighbours.
constexpr size_t kManyBands = 16;

/// The greatest common divisor of the starts and lengths of the runs of a tensor in HBM.
int64_t step_of_runs(const Program& program, const Operand& operand) {
  int64_t step = operand.register_index >= 0 ? operand.register_scale : 0;
  each_free_run(operand, operand.offset, [&](int64_t begin, int64_t length) {
    step = std::gcd(std::gcd(step, begin), length);
  });
  if (operand.partitions > 1 || operand.indirect) step = std::gcd(step, operand.partition_stride);
  for (uint8_t i = 0; i < operand.term_count; ++i) {
    step = std::gcd(step, program.terms[operand.first_term + i].offset_step);
  }
  return step;
}

/// The greatest common divisor of an operand's addresses within its tile and of the lengths of its
/// runs. Elements stay separate cells unless it is a tensor of the caller, whose bytes are always
/// written as whole runs of defined elements.
int64_t step_of(const Program& program, const Operand& operand) {
  const bool on_chip = operand.memory != MemoryKind::kHbm;
  if (!on_chip && program.tiles[static_cast<size_t>(operand.tile)].argument >= 0) {
    return step_of_runs(program, operand);
  }
  const int64_t start = on_chip ? program.tiles[static_cast<size_t>(operand.tile)].address : 0;
  int64_t step = std::gcd(static_cast<int64_t>(itemsize(operand.dtype)), operand.offset - start);
  for (int8_t i = 0; i < operand.rank; ++i) {
    const Dimension& dimension = operand.free[static_cast<size_t>(i)];
    if (dimension.size > 1) step = std::gcd(step, dimension.stride);
  }
  if (!on_chip && operand.partitions > 1) step = std::gcd(step, operand.partition_stride);
  for (uint8_t i = 0; i < operand.term_count; ++i) {
    step = std::gcd(step, program.terms[operand.first_term + i].offset_step);
  }
  return operand.register_index >= 0 ? std::gcd(step, operand.register_scale) : step;
}

}  // namespace

ShadowTile::Band ShadowTile::empty_band() const {
  const auto cells = static_cast<size_t>(cells_);
  return {0, partitions_, std::vector<Stamp>(cells), {}, {}};
}

void ShadowTile::split(int64_t partition) {
  for (size_t i = 0; i < bands_.size(); ++i) {
    if (bands_[i].first >= partition || partition >= bands_[i].last) continue;
    Band upper = bands_[i];
    bands_[i].last = upper.first = partition;
    bands_.insert(bands_.begin() + static_cast<std::ptrdiff_t>(i) + 1, std::move(upper));
    return;
  }
}

void ShadowTile::tidy() {
  if (bands_.size() < kManyBands) return;
  std::vector<Band> joined;
  for (Band& band : bands_) {
    const bool alike = !joined.empty() && joined.back().writers == band.writers &&
                       joined.back().first_readers == band.first_readers &&
                       joined.back().last_readers == band.last_readers;
    if (alike) {
      joined.back().last = band.last;
    } else {
      joined.push_back(std::move(band));
    }
  }
  bands_ = std::move(joined);
}

std::vector<int64_t> cells_of(const Program& program) {
  std::vector<int64_t> cells;
  for (const Tile& tile : program.tiles) cells.push_back(tile.bytes);
  for (const Operand& operand : program.operands) {
    if (!operand.present()) continue;
    const int64_t step = step_of(program, operand);
    for (int32_t i = 0; i < operand.ring; ++i) {
      int64_t& cell = cells[static_cast<size_t>(operand.tile) + static_cast<size_t>(i)];
      cell = std::gcd(cell, step);
    }
  }
  for (int64_t& cell : cells) cell = std::max<int64_t>(cell, 1);
  return cells;
}

}  // namespace neuron_sim
