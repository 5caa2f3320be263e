#pragma once
// The two tile plans of matmul; see matmul.h.

#include "ops/kernels/matmul.h"

namespace neuron_sim {

/// Operands of one product in HBM.
struct MatmulOperands {
  View a, b, out;
  int64_t rows() const { return a.size(0); }
  int64_t depth() const { return a.size(1); }
  int64_t columns() const { return b.size(1); }
  /// a as [K, M].
  View a_by_depth() const { return a.permute({1, 0}); }
};

/// Panels of `b` that are resident with all of K.
struct ResidentPlan {
  int64_t columns = 0;  ///< per panel; 0 when not even 128 fit
  int ring = 1;         ///< panels in SBUF
};
ResidentPlan plan_resident(const Limits& limits, const MatmulOperands& operands);

void emit_resident_matmul(Builder& builder, const MatmulOperands& operands,
                          const Epilogue& epilogue, const ResidentPlan& plan);
/// K streamed in panels of `panel_rows`.
void emit_streamed_matmul(Builder& builder, const MatmulOperands& operands,
                          const Epilogue& epilogue, int64_t panel_rows);

/// A PSUM tile [rows, columns] leaves through an SBUF tile to its window of `out`.
struct OutputTile {
  Affine row;
  int64_t rows;
  Affine column;
  int64_t columns;
};
void store_result(Builder& builder, const View& psum, const View& staging, const View& out,
                  const OutputTile& window, const Epilogue& epilogue);

}  // namespace neuron_sim
