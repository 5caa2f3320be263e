#pragma once
// The tile plans of matmul; see matmul.h.

#include <functional>
#include <optional>

#include "ops/blocks/contraction.h"
#include "ops/matmul/matmul.h"
#include "ops/pointwise/expression.h"

namespace neuron_sim {

/// Rings of the plans that keep one tile of results per PSUM bank: tiles being stored, and banks
/// that accumulate.
inline constexpr int kOutputRing = 4;
inline constexpr int kResultRing = 4;

/// Operands of one product in HBM: out = scale * a @ b + addend_scale * addend.
struct MatmulOperands {
  View a, b, out;  ///< one of a and b may be int8, which is cast on chip
  View addend{};   ///< [M, N], strides of 0 where it repeats; absent: no addend
  double scale = 1, addend_scale = 1;
  const Expression* after = nullptr;  ///< of the result so far and `others`; absent: none
  std::vector<View> others{};         ///< [M, N], as the addend
  EngineKind transpose_engine = EngineKind::kAuto;  ///< of operands transposed on chip: Transposer
  bool is_turned = false;  ///< the transpose of a product: its a and addend were b and a row
  /// At most one: another product of `a`, of as many columns, without `out`. It is computed block
  /// by block just before this one; its tile, rounded to `gate_dtype`, is the last input of
  /// `after`.
  std::vector<MatmulOperands> gate{};
  Dtype gate_dtype{};
  int64_t rows() const { return a.size(0); }
  int64_t depth() const { return a.size(1); }
  int64_t columns() const { return b.size(1); }
  /// In which it multiplies: that of the operand with the larger elements.
  Dtype dtype() const { return itemsize(a.dtype()) < itemsize(b.dtype()) ? b.dtype() : a.dtype(); }
  /// Right operands that share each tile of `a`, in the order of their products: equal layouts.
  std::vector<View> factors() const {
    return gate.empty() ? std::vector{b} : std::vector{gate.front().b, b};
  }
  /// a as [K, M].
  View a_by_depth() const { return a.permute({1, 0}); }
};

/// The engine that transposes operands: kTensor when it may do so by multiplying.
inline EngineKind transpose_engine(const MatmulOptions& options) {
  return options.exact_transposes ? EngineKind::kAuto : EngineKind::kTensor;
}

/// Products of equal sizes, strides and dtypes.
struct MatmulBatch {
  int64_t count = 1;
  MatmulOperands first;
  /// Emits the loops over all products; `body` gets the operands and the number of each.
  std::function<void(const std::function<void(const MatmulOperands&, const Affine&)>&)> for_each;
};
/// A batch of one.
MatmulBatch single_product(const MatmulOperands& operands);

/// Panels of `b` that are resident with all of K.
struct ResidentPlan {
  int64_t columns = 0;  ///< per panel; 0 when not even 128 fit
  int ring = 1;         ///< panels in SBUF
};
ResidentPlan plan_resident(const Architecture& architecture, const MatmulBatch& batch);

void emit_resident_matmul(Builder& builder, const MatmulBatch& batch, const Epilogue& epilogue,
                          const ResidentPlan& plan);

/// K streamed in panels.
struct StreamedPlan {
  int64_t panel_rows;       ///< of K
  bool keeps_rows = false;  ///< all of K of the row tiles of `a` that accumulate stays in SBUF
};
/// Whether SBUF has room for these rows beside panels of `b`.
bool can_keep_rows(const Architecture& architecture, const MatmulOperands& operands,
                   int64_t panel_rows);
/// Blocks of row tiles that accumulate together: as often a plan that keeps rows loads `b`.
int64_t row_blocks(const Limits& limits, const MatmulOperands& operands);
void emit_streamed_matmul(Builder& builder, const MatmulBatch& batch, const Epilogue& epilogue,
                          const StreamedPlan& plan);
/// The plan that fits.
void emit_matmul_batch(Builder& builder, const MatmulBatch& batch, const Epilogue& epilogue,
                       const MatmulOptions& options);

/// The tutorial's tiled kernel: every product of tiles loads both.
void emit_tiled_matmul(Builder& builder, const MatmulOperands& operands, const Epilogue& epilogue);
/// The tutorial's kernels that keep all of K of a block of the output in SBUF: blocks of
/// `row_tiles` times `column_tiles` tiles, at most four PSUM banks. A longer K streams by in
/// panels.
void emit_hoisted_matmul(Builder& builder, const MatmulOperands& operands, const Epilogue& epilogue,
                         int64_t row_tiles, int64_t column_tiles);
/// The tutorial's fully optimized kernel.
void emit_fully_optimized_matmul(Builder& builder, const MatmulOperands& operands,
                                 const Epilogue& epilogue);

/// Loads both operands into SBUF with K on partitions, at most `rows` of K at a time.
class OperandLoaders {
 public:
  OperandLoaders(Builder& builder, const MatmulOperands& operands, int64_t rows,
                 EngineKind a_queue = EngineKind::kScalar);
  /// Loads the window of a [K, M] or b [K, N] that belongs in `target`; `turn` counts windows.
  void load_a(const View& source, const BlockedMatrix& target, const Affine& turn) {
    a_->load(source, target, turn);
  }
  void load_b(const View& source, const BlockedMatrix& target, const Affine& turn) {
    b_->load(source, target, turn);
  }

 private:
  std::optional<Transposer> transposer_;
  std::optional<ContractionLoader> a_, b_;
};

/// A PSUM tile [rows, columns] is stored through an SBUF tile to its window of `out`.
struct OutputTile {
  Affine row;
  int64_t rows;
  Affine column;
  int64_t columns;
};
void store_result(Builder& builder, const View& psum, const View& staging, const View& out,
                  const OutputTile& window, const Epilogue& epilogue);

}  // namespace neuron_sim
