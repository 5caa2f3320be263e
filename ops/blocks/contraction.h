#pragma once
// Products of blocked matrices: bringing operands to the partitions of their contracted dimension,
// and accumulating over it in PSUM.

#include <optional>

#include "ops/blocks/transposer.h"
#include "ops/blocks/value.h"

namespace neuron_sim {

/// Whether a [K, X] operand in HBM is contiguous along K, so that loading rows of X and transposing
/// on chip beats element-by-element DMA.
bool needs_transposing(const View& matrix);

/// Loads [K, X] operands with K on partitions. Descriptors of contiguous rows go straight to their
/// place; an operand contiguous along K is loaded as [X, K] and transposed on chip; one that is
/// contiguous along neither is gathered element by element by DMA. An operand of another dtype than
/// the product's (int8 weights) crosses HBM as it is and is cast on chip.
class ContractionLoader {
 public:
  /// For panels of at most `rows` rows of `matrix`, of a product in `dtype` (by default the
  /// operand's). Takes a ring of staging tiles when the operand needs transposing; `transposer`
  /// (for that dtype) must then be present.
  ContractionLoader(Builder& builder, const View& matrix, int64_t rows, Transposer* transposer,
                    EngineKind queue, int staging_ring = 2, std::optional<Dtype> dtype = {});
  /// Loads the panel `source` [rows, columns] into `target`. `turn` counts panels of equal size, to
  /// rotate the rings.
  void load(const View& source, const BlockedMatrix& target, const Affine& turn = 0);
  /// Bytes per partition of rings of two staging tiles.
  static int64_t staging_bytes(const View& matrix, int64_t rows, std::optional<Dtype> dtype = {});

 private:
  /// The target and its source in HBM, both [partitions, ...] of equal sizes; `turn` counts calls.
  void load_cast(const View& target, const View& source, const Affine& turn);
  void load_rows(const View& source, const BlockedMatrix& target, const Affine& turn);
  void load_transposed(const View& source, const BlockedMatrix& target, const Affine& turn);

  Builder& builder_;
  Transposer* transposer_ = nullptr;
  EngineKind queue_;
  View staging_;
  View uncast_;  ///< elements as they are in HBM; absent when they need no cast
};

/// A [rows, columns] window of a blocked matrix; the rows are all of its rows.
struct ColumnWindow {
  const BlockedMatrix& matrix;
  Affine column;
  int64_t columns;
};

/// psum[M, N] = (or += with `accumulate`) stationary.T @ moving over all rows of both, one counted
/// loop over full blocks with the first and the partial last one peeled.
void multiply(Builder& builder, const View& psum, const ColumnWindow& stationary,
              const ColumnWindow& moving, bool accumulate = false);

}  // namespace neuron_sim
