#pragma once
// Who wrote and who read the bytes of one tile or HBM tensor, exactly.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "device/program/program.h"

namespace neuron_sim {

/// Number of a write or a read in the checker's list; 0: none.
using Stamp = uint32_t;

/// The bytes of a tile in cells of as many bytes as all accesses of a program to it are multiples
/// of. Instructions access the same bytes of all their partitions, so that bands of partitions,
/// mostly one, share their cells. An HBM tensor is one band.
class ShadowTile {
 public:
  struct Band {
    int64_t first = 0, last = 0;  ///< partitions of the tile
    std::vector<Stamp> writers;   ///< per cell
    /// The first and the last read since the last write; empty before the first read.
    std::vector<Stamp> first_readers, last_readers;

    /// Keeps reads from now on.
    void keep_reads() {
      first_readers.resize(writers.size());
      last_readers.resize(writers.size());
    }
  };

  ShadowTile() = default;
  ShadowTile(int64_t partitions, int64_t bytes, int64_t cell, bool keeps_reads)
      : partitions_(partitions), cells_(bytes / cell), cell_(cell), keeps_reads_(keeps_reads) {}

  int64_t cell() const { return cell_; }
  bool keeps_reads() const { return keeps_reads_; }
  const std::vector<Band>& bands() const { return bands_; }

  /// Calls visit(band) for the bands that make up partitions [first, last).
  template <typename Visit>
  void each_band(int64_t first, int64_t last, Visit&& visit) {
    if (bands_.empty()) bands_.push_back(empty_band());
    split(first);
    split(last);
    for (Band& band : bands_) {
      if (first <= band.first && band.last <= last) visit(band);
    }
  }
  /// Calls visit(band) for the bands that have partitions of [first, last), without cutting them.
  template <typename Visit>
  void each_band_of(int64_t first, int64_t last, Visit&& visit) {
    if (bands_.empty()) bands_.push_back(empty_band());
    for (Band& band : bands_) {
      if (band.first < last && first < band.last) visit(band);
    }
  }
  /// All of the tile was written by `stamp`.
  void fill(Stamp stamp) {
    bands_.assign(1, empty_band());
    std::fill(bands_[0].writers.begin(), bands_[0].writers.end(), stamp);
  }
  /// Joins bands that are alike, when there are many.
  void tidy();

 private:
  Band empty_band() const;
  /// Bands end at `partition`.
  void split(int64_t partition);

  int64_t partitions_ = 0;
  int64_t cells_ = 0;
  int64_t cell_ = 1;
  bool keeps_reads_ = false;
  std::vector<Band> bands_;  // ascending, without gaps; none before the first access
};

/// The cell of every tile: the largest that all accesses of the program are whole numbers of.
std::vector<int64_t> cells_of(const Program& program);

}  // namespace neuron_sim
