#pragma once
// How much of SBUF the rows of a row program take up.

#include <set>
#include <span>

#include "ops/rows/row_program.h"

namespace neuron_sim {

/// Tiles of every tensor that are in SBUF at a time.
inline constexpr int kRowRing = 2;

/// Bytes of a partition.
struct RowBytes {
  int64_t per_element;  ///< of a row: tiles of whole rows
  int64_t per_row;      ///< tiles of the rows' numbers
};

/// `tensors`: operands, `operands` of them, then results. `shared`: dtypes of operands of which all
/// rows share one (RowSpreader).
RowBytes row_bytes(const Architecture& architecture, const RowProgram& program,
                   std::span<const HbmTensor> tensors, size_t operands,
                   const std::set<Dtype>& shared);

}  // namespace neuron_sim
