#pragma once
// The dimensions of a reduction, merged and ordered; shared by its two plans.

#include <optional>

#include "ops/blocks/collapse.h"
#include "ops/pointwise/tile_loader.h"
#include "ops/reduction/reduction.h"

namespace neuron_sim {

/// Elements per partition that one instruction reduces: longer runs would lose digits.
inline constexpr int64_t kReductionElements = 2048;

/// Kept and reduced dimensions, slowest first; strides of the operands, then of the result (0
/// where reduced).
struct ReductionDimensions {
  std::vector<SharedDimension> kept, reduced;
  bool fastest_is_kept = false;

  static ReductionDimensions of(const ReductionOptions& options,
                                std::span<const HbmTensor> operands, const HbmTensor& result);
  int64_t kept_elements() const;
  int64_t reduced_elements() const;
};

/// Calls `body` in loops over all of `dimensions` except those in `skip`.
void loop_over(Builder& builder, const std::vector<SharedDimension>& dimensions,
               const std::vector<size_t>& skip, const Starts& starts,
               const std::function<void(const Starts&)>& body);

/// The parts of a reduction that both plans use.
class ReductionKernel {
 public:
  ReductionKernel(Builder& kernel_builder, const ReductionOptions& kernel_options,
                  std::span<const HbmTensor> kernel_operands, const HbmTensor& kernel_result);

  Builder& builder;
  const ReductionOptions& options;
  std::span<const HbmTensor> operands;
  const HbmTensor& result;
  ReductionDimensions dimensions;

  /// Elements per partition of the largest tiles that fit, of at most `wanted`, when each takes
  /// `further_bytes` besides the loader's. KernelError when none fits.
  int64_t tile_elements(int64_t wanted, int64_t further_bytes = 0) const;
  /// Bytes per element that the epilogue takes.
  int64_t epilogue_bytes() const;
  /// The expression of the operands.
  Expression prologue() const;
  /// dst[P, F] = dst op value.
  void combine(const View& dst, const View& value) const;
  /// Stores epilogue(value [P, F]) at a part of the result; [P, F] by its steps.
  void finish(const View& value, const std::vector<int64_t>& sizes,
              const std::vector<int64_t>& steps, const Affine& start);
  void prepare_finish(int64_t partitions, int64_t elements);

 private:
  std::optional<ExpressionEmitter> epilogue_;
  View output_;
};

void emit_row_reduction(ReductionKernel& kernel);
void emit_column_reduction(ReductionKernel& kernel);

}  // namespace neuron_sim
