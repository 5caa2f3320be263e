#include "ops/matmul/matmul.h"

#include <algorithm>

#include "device/base/errors.h"
#include "ops/blocks/tiles.h"
#include "ops/contract/named_kernel.h"
#include "ops/contract/operand_checks.h"
#include "ops/copies/zeros.h"
#include "ops/matmul/matmul_plans.h"

namespace neuron_sim {
namespace {

constexpr int64_t kStreamedRows = 512;

void check_options(const Builder& builder, const MatmulOptions& options) {
  const int64_t step = builder.limits().partitions;
  if (options.panel_columns < 0 || options.panel_columns % step != 0 || options.panel_rows < 0 ||
      options.panel_rows % step != 0) {
    fail(text("matmul: panel_columns ", options.panel_columns, " and panel_rows ",
              options.panel_rows, " must be multiples of ", step, "."));
  }
}

}  // namespace

namespace {

/// Whether a plan that keeps rows of `a` moves fewer bytes than panels of `b`, each of which all of
/// `a` streams past. Less than a tile of rows streams by at little cost; then panels of so few
/// columns count that the rows of `b` are short for a descriptor.
bool rows_are_kept(const Architecture& architecture, const MatmulOperands& operands,
                   const ResidentPlan& plan) {
  const int64_t tile = architecture.limits.partitions;
  if (operands.rows() < tile && plan.columns > tile) return false;
  const auto bytes = [](const View& view) {
    return view.size(0) * view.size(1) * itemsize(view.dtype());
  };
  const int64_t a = bytes(operands.a), b = std::ssize(operands.factors()) * bytes(operands.b);
  const int64_t panels = ceiling(operands.columns(), plan.columns);
  const int64_t blocks = row_blocks(architecture.limits, operands);
  return panels * a + b > a + blocks * b && can_keep_rows(architecture, operands, kStreamedRows);
}

}  // namespace

MatmulBatch single_product(const MatmulOperands& operands) {
  return {1, operands, [operands](const auto& body) { body(operands, 0); }};
}

void emit_matmul_batch(Builder& builder, const MatmulBatch& batch, const Epilogue& epilogue,
                       const MatmulOptions& options) {
  ResidentPlan plan = plan_resident(builder.architecture(), batch);
  if (options.panel_columns > 0) plan.columns = std::min(plan.columns, options.panel_columns);
  const bool is_free = options.panel_columns == 0 && options.panel_rows == 0;
  if (plan.columns > 0 && is_free && rows_are_kept(builder.architecture(), batch.first, plan)) {
    emit_streamed_matmul(builder, batch, epilogue, {kStreamedRows, true});
  } else if (plan.columns > 0 && options.panel_rows == 0) {
    emit_resident_matmul(builder, batch, epilogue, plan);
  } else {
    emit_streamed_matmul(builder, batch, epilogue,
                         {options.panel_rows > 0 ? options.panel_rows : kStreamedRows});
  }
}

MatmulVariant parse_matmul_variant(std::string_view name) {
  if (name == "auto") return MatmulVariant::kAuto;
  if (name == "tiled") return MatmulVariant::kTiled;
  if (name == "hoist_load") return MatmulVariant::kHoistLoad;
  if (name == "block_free_dimension") return MatmulVariant::kBlockFreeDimension;
  if (name == "fully_optimized") return MatmulVariant::kFullyOptimized;
  fail(text("matmul: variant '", name,
            "' is unknown; the variants are auto, tiled, hoist_load, block_free_dimension and "
            "fully_optimized."));
}

void store_result(Builder& builder, const View& psum, const View& staging, const View& out,
                  const OutputTile& window, const Epilogue& epilogue) {
  const View tile = staging.slice(0, 0, window.rows).slice(1, 0, window.columns);
  evacuate(builder, psum, tile, epilogue, 0, window.column);
  store(builder, out.slice(0, window.row, window.rows).slice(1, window.column, window.columns),
        tile);
}

void emit_matmul(Builder& builder, const View& a, const View& b, const View& out,
                 const Epilogue& epilogue, const MatmulOptions& options) {
  check_options(builder, options);
  MatmulOperands operands{a, b, out};
  operands.transpose_engine = transpose_engine(options);
  switch (options.variant) {
    case MatmulVariant::kTiled: return emit_tiled_matmul(builder, operands, epilogue);
    case MatmulVariant::kHoistLoad: return emit_hoisted_matmul(builder, operands, epilogue, 1, 1);
    case MatmulVariant::kBlockFreeDimension:
      return emit_hoisted_matmul(builder, operands, epilogue, 2, 2);
    case MatmulVariant::kFullyOptimized:
      return emit_fully_optimized_matmul(builder, operands, epilogue);
    case MatmulVariant::kAuto:
      return emit_matmul_batch(builder, single_product(operands), epilogue, options);
  }
}

namespace {

std::vector<TensorSpec> results_of(std::span<const TensorSpec> operands,
                                   const MatmulOptions& options) {
  const TensorSpec &a = operands[0], &b = operands[1];
  check_rank("matmul", "a", a, 2);
  check_rank("matmul", "b", b, 2);
  check_same_dtype("matmul", "a", a, "b", b);
  check_float_operand("matmul", "a", a);
  const size_t depth_axis = options.transpose_x ? 0 : 1;
  check_size("matmul", "b", b, 0, a.shape[depth_axis]);
  return {{{a.shape[1 - depth_axis], b.shape[1]}, {}, a.dtype}};
}

void emit_product(Builder& builder, HbmTensors operands, HbmTensors results,
                  const MatmulOptions& options) {
  if (operands[1].shape[0] == 0) return emit_zeros(builder, results[0].view());  // an empty sum
  const View a = operands[0].view();
  emit_matmul(builder, options.transpose_x ? a.permute({1, 0}) : a, operands[1].view(),
              results[0].view(), {}, options);
}

}  // namespace

const KernelDefinition<MatmulOptions> kMatmul{"matmul", "a b -> out", results_of, emit_product};
const NamedKernel kMatmulByName{kMatmul};

}  // namespace neuron_sim
