#pragma once
// Shared by the attention kernels: which heads they take at a time, how stages of successive steps
// overlap, and how operands and per-row numbers reach the partitions that need them.

#include <functional>
#include <span>

#include "ops/blocks/transposer.h"
#include "ops/blocks/value.h"
#include "ops/contract/hbm_tensor.h"

namespace neuron_sim {

/// Heads that are on chip together: several key heads with a query head each, or one key head with
/// the query heads that share it (members). Tensors are [images, key heads, members, length,
/// width]. Units of a section follow each other without a gap; sections bound the numbers kept per
/// row.
struct AttentionUnits {
  int64_t images = 1, sections = 1, units = 1;
  int64_t key_heads = 1;  ///< of a unit
  int64_t members = 1;
  /// Query heads of a unit.
  int64_t heads() const { return key_heads * members; }
  /// Elements of `tensor` before the first one of a unit, counted within its image.
  Affine start(const HbmTensor& tensor, const Affine& image, const Affine& unit) const;
};

/// The first of `tensors` has the members. `steps` and `bytes` (per partition) are those of
/// one key head with its members; a unit takes more heads while it has few steps and two units stay
/// within `budget` bytes. `columns` numbers are kept per key head until a section ends.
AttentionUnits plan_units(std::span<const HbmTensor> tensors, int64_t steps, int64_t bytes,
                          int64_t budget, int64_t columns);

/// A stage of a step, emitted `lag` steps after the step began.
struct PipelineStage {
  int64_t lag;
  std::function<void(const Affine& unit, int64_t step)> emit;
};
/// Steps of the same kind in every unit.
struct UnitPipeline {
  int64_t units, steps;
  std::vector<PipelineStage> stages;                ///< in the order of emission within a step
  std::function<void(const Affine& unit)> load;     ///< starts transfers of a unit's operands
  std::function<void(const Affine& unit)> prepare;  ///< work on chip before a unit's first step
  std::function<void(const Affine& unit)> finish;   ///< after a unit's last stage
};
/// Emits all steps of all units. Stages of a step stand between stages of its successors, so that
/// in-order engines have other work while a result is pending.
void emit_pipeline(Builder& builder, const UnitPipeline& pipeline);
/// How many turns the operands of a unit need in such a pipeline.
int pipeline_ring(int64_t units, int64_t steps, int64_t longest_lag);

/// A Transposer that rotates its ring by itself and alternates the engines that drain PSUM.
class AttentionTransposer {
 public:
  AttentionTransposer(Builder& builder, Dtype dtype, int ring,
                      EngineKind engine = EngineKind::kAuto)
      : transposer_(builder, dtype, ring, engine) {}
  /// dst [F, count, P] of `count` sources [P, F], some at a time.
  void transpose(const View& dst, const std::function<View(int64_t)>& source);

 private:
  Transposer transposer_;
  int64_t calls_ = 0;
};

/// One tensor of a unit in SBUF: with its rows on partitions, transposed (its columns on
/// partitions), or both.
class HeadOperand {
 public:
  /// `stacked`: transposed heads lie below each other on the partitions (lies_stacked()).
  struct Form {
    bool rows = false, turned = false, stacked = false;
  };
  /// Whether the tensor lies transposed in memory, head after head, so that whole heads fill the
  /// partitions: `heads` of a unit are then loaded as they lie, several to a tile. Products of two
  /// operands that lie so contract the same partitions of both.
  static bool lies_stacked(const Limits& limits, const HbmTensor& tensor, int64_t heads);
  /// `heads` of a unit; `ring` units are on chip at a time.
  HeadOperand(Builder& builder, const HbmTensor& tensor, int64_t heads, Form form, int ring,
              AttentionTransposer& transposer);
  void load(const Affine& start, const Affine& turn);
  /// Transposes the loaded rows; call it before turned().
  void prepare(const Affine& turn);
  /// [length, width] of a head.
  BlockedMatrix rows(int64_t head, const Affine& turn) const;
  /// [width, length] of a head.
  BlockedMatrix turned(int64_t head, const Affine& turn) const;
  /// The rows of all heads: [partitions, heads, blocks, width].
  View all_rows(const Affine& turn) const { return rows_.turn(turn); }
  /// Bytes per partition of one head and turn, at most.
  static int64_t bytes(const Limits& limits, int64_t length, int64_t width, Dtype dtype, Form form);

 private:
  void load_blocks(const View& tile, const std::array<int64_t, 2>& sizes,
                   const std::array<int64_t, 2>& steps, const Affine& start);

  Builder& builder_;
  const HbmTensor& tensor_;
  AttentionTransposer& transposer_;
  int64_t partitions_, heads_, length_, width_, head_stride_;
  int64_t stack_;      ///< transposed heads below each other
  bool loads_turned_;  ///< it is transposed in memory
  View rows_, turned_;
};

/// Stores [partitions, heads, blocks, width] as the [length, width] rows of heads of a tensor.
void store_heads(Builder& builder, const View& tile, const HbmTensor& tensor, const Affine& start);

/// One fp32 number per row of all heads of a section: tile [partitions, columns], with a column per
/// head and 128 rows; dense in HBM.
class RowNumbers {
 public:
  RowNumbers(Builder& builder, const AttentionUnits& units, int64_t rows);
  int64_t columns() const { return columns_; }
  /// The column of rows `block` of a head of a unit of the section.
  Affine column(const Affine& unit, int64_t head, int64_t block) const;
  /// Between `tile` and the numbers of a section in HBM.
  void store(const View& tile, const HbmTensor& numbers, const Affine& image, const Affine& unit);
  void load(const View& tile, const HbmTensor& numbers, const Affine& image, const Affine& unit);

 private:
  void each_piece(const HbmTensor& numbers, const Affine& image, const Affine& unit,
                  const std::function<void(int64_t column, const View& hbm)>& body) const;

  Builder& builder_;
  int64_t partitions_, rows_, blocks_, heads_of_unit_, heads_, columns_;
  bool by_head_;  ///< columns of a head follow each other
};

}  // namespace neuron_sim
