#include <algorithm>

#include "device/isa/reduction/tensor_reduce.h"
#include "ops/blocks/collapse.h"
#include "ops/blocks/tiles.h"
#include "ops/pointwise/tile_loader.h"
#include "ops/reduction/reduction_dimensions.h"
#include "ops/rows/row_program.h"

namespace neuron_sim {
namespace {

constexpr int kRing = 2;
constexpr size_t kColumnDimensions = 3;
constexpr int64_t kTileElements = 2048;

/// Kept dimensions (rows) and row dimensions (columns) of operands and results together.
struct RowDimensions {
  std::vector<SharedDimension> rows, columns;

  static RowDimensions of(const RowProgram& program, std::span<const HbmTensor> tensors) {
    RowDimensions found;
    for (const bool reduced : {false, true}) {
      std::vector<int64_t> sizes;
      std::vector<std::vector<int64_t>> strides(tensors.size());
      for (size_t i = 0; i < program.reduced.size(); ++i) {
        if (program.reduced[i] != reduced) continue;
        sizes.push_back(tensors.front().shape[i]);
        for (size_t t = 0; t < tensors.size(); ++t) {
          strides[t].push_back(tensors[t].shape[i] == 1 ? 0 : tensors[t].strides[i]);
        }
      }
      (reduced ? found.columns : found.rows) = collapse(sizes, strides);
    }
    return found;
  }
  int64_t column_elements() const {
    int64_t product = 1;
    for (const SharedDimension& dimension : columns) product *= dimension.size;
    return product;
  }
};

class FusedRows {
 public:
  FusedRows(Builder& builder, const RowProgram& program, std::span<const HbmTensor> operands,
            std::span<const HbmTensor> results, RowDimensions dimensions)
      : builder_(builder),
        program_(program),
        tensors_(operands.begin(), operands.end()),
        operands_(operands.size()),
        dimensions_(std::move(dimensions)),
        row_(largest(dimensions_.rows)),
        columns_(dimensions_.column_elements()),
        partitions_(builder.limits().partitions) {
    tensors_.insert(tensors_.end(), results.begin(), results.end());
  }

  /// Rows per partition for which everything fits SBUF; 0 when not even one does.
  int64_t choose_group() {
    const int64_t room = builder_.limits().sbuf_usable.count - 16384;
    const int64_t fitting = room / (bytes_per_element() * columns_ + bytes_per_row());
    const int64_t rows = dimensions_.rows[row_].size;
    const int64_t useful = std::min(kTileElements / columns_, rows / partitions_);
    group_ = std::min(fitting, std::max<int64_t>(useful, 1));
    if (dimensions_.columns.size() > kColumnDimensions) group_ = 0;
    return group_;
  }

  void emit() {
    allocate();
    const Starts starts(tensors_.size(), 0);
    const SharedDimension& rows = dimensions_.rows[row_];
    const int64_t grouped =
        group_ == 1 ? 0 : rows.size / (partitions_ * group_) * partitions_ * group_;
    loop_over(builder_, dimensions_.rows, {row_}, starts, [&](const Starts& outer) {
      emit_run(outer, grouped, group_);
      emit_run(moved(outer, rows, grouped), rows.size - grouped, 1);
    });
  }

 private:
  int64_t slot_bytes(const Expression& expression) const {
    if (expression.results().empty() || expression.is_operand()) return 0;
    return ExpressionEmitter::bytes_per_element(
        ExpressionPlan(expression, builder_.architecture().features));
  }

  /// Of tiles of whole rows.
  int64_t bytes_per_element() const {
    int64_t bytes = 4 + 4 * kRing, slots = 0;
    for (const HbmTensor& tensor : tensors_) bytes += int64_t{kRing} * itemsize(tensor.dtype());
    for (const RowStage& stage : program_.stages) slots = std::max(slots, slot_bytes(stage.value));
    for (const Expression& result : program_.results) slots = std::max(slots, slot_bytes(result));
    return bytes + slots;
  }

  /// Of tiles of the rows' numbers.
  int64_t bytes_per_row() const {
    int64_t bytes = 0, slots = 0;
    for (const RowStage& stage : program_.stages) {
      bytes += int64_t{2} * 4 * kRing;
      slots = std::max(slots, slot_bytes(stage.finish));
    }
    return bytes + slots;
  }

  void allocate() {
    const int64_t elements = group_ * columns_;
    slots_ = std::make_shared<ExpressionSlots>(builder_, partitions_, elements);
    row_slots_ = std::make_shared<ExpressionSlots>(builder_, partitions_, group_);
    for (size_t i = 0; i < tensors_.size(); ++i) {
      const bool operand = i < operands_;
      rings_.push_back(builder_.sbuf(operand ? "operand_tile" : "result_tile",
                                     {partitions_, elements}, tensors_[i].dtype(), kRing));
    }
    values_ = builder_.sbuf("value_tile", {partitions_, elements}, Dtype::kFloat32, kRing);
    for (const RowStage& stage : program_.stages) {
      numbers_.push_back(builder_.sbuf("number", {partitions_, group_}, Dtype::kFloat32, kRing));
      raw_.push_back(builder_.sbuf("reduced", {partitions_, group_}, Dtype::kFloat32, kRing));
      stage_values_.push_back(emitter(stage.value, slots_));
      stage_finishes_.push_back(emitter(stage.finish, row_slots_));
    }
    for (const Expression& result : program_.results) {
      results_.push_back(std::make_unique<ExpressionEmitter>(builder_, result, slots_));
    }
  }

  /// Null for an expression that is its input.
  std::unique_ptr<ExpressionEmitter> emitter(const Expression& expression,
                                             const std::shared_ptr<ExpressionSlots>& slots) {
    if (expression.results().empty() || expression.is_operand()) return nullptr;
    return std::make_unique<ExpressionEmitter>(builder_, expression, slots);
  }

  bool is_invariant(size_t tensor) const { return dimensions_.rows[row_].strides[tensor] == 0; }

  void emit_run(const Starts& starts, int64_t rows, int64_t group) {
    if (rows == 0) return;
    const int64_t step = partitions_ * group;
    inputs_.assign(operands_, View());
    builder_.scope([&] {
      for (size_t i = 0; i < operands_; ++i) {
        if (is_invariant(i)) inputs_[i] = load_tile(i, starts, std::min(rows, step), group, 0);
      }
      for_tiles(builder_, rows, step, [&](const Affine& row, int64_t count, const Affine& turn) {
        emit_tile(moved(starts, dimensions_.rows[row_], row), count, group, turn);
      });
    });
  }

  std::vector<int64_t> sizes_of_tile(int64_t rows, int64_t group) const {
    std::vector<int64_t> sizes{rows / group, group};
    for (const SharedDimension& column : dimensions_.columns) sizes.push_back(column.size);
    return sizes;
  }
  std::vector<int64_t> steps_of_tile(size_t tensor, int64_t group) const {
    const int64_t row = dimensions_.rows[row_].strides[tensor];
    std::vector<int64_t> steps{row * group, row};
    for (const SharedDimension& column : dimensions_.columns) {
      steps.push_back(column.strides[tensor]);
    }
    return steps;
  }

  View load_tile(size_t i, const Starts& starts, int64_t rows, int64_t group, const Affine& turn) {
    const View hbm =
        tensors_[i].view(sizes_of_tile(rows, group), steps_of_tile(i, group), starts[i]);
    return load_repeating(builder_, rings_[i], hbm, turn);
  }

  void emit_tile(const Starts& starts, int64_t rows, int64_t group, const Affine& turn) {
    const int64_t used = rows / group;
    std::vector<View> inputs;
    for (size_t i = 0; i < operands_; ++i) {
      inputs.push_back(is_invariant(i) ? inputs_[i].slice(0, 0, used)
                                       : load_tile(i, starts, rows, group, turn));
    }
    for (size_t k = 0; k < program_.stages.size(); ++k) {
      const View number = emit_stage(k, inputs, used, group, turn);
      inputs.push_back(number.expand(2).broadcast(2, columns_));
    }
    for (size_t i = 0; i < results_.size(); ++i) {
      emit_result(i, inputs, starts, rows, group, turn);
    }
  }

  View emit_stage(size_t k, const std::vector<View>& inputs, int64_t used, int64_t group,
                  const Affine& turn) {
    const RowStage& stage = program_.stages[k];
    View value;
    if (stage_values_[k]) {
      const View tile = values_.turn(turn).slice(0, 0, used).slice(1, 0, group * columns_);
      stage_values_[k]->emit(inputs, {tile}, turn);
      value = tile.split(1, group, columns_);
    } else {
      const size_t step = static_cast<size_t>(stage.value.results().front());
      value = inputs[static_cast<size_t>(stage.value.steps()[step].input)];
    }
    const auto cut = [&](const View& ring) {
      return ring.turn(turn).slice(0, 0, used).slice(1, 0, group);
    };
    View number = cut(numbers_[k]);
    const View reduced = stage_finishes_[k] ? cut(raw_[k]) : number;
    builder_.emit(
        TensorReduce{.dst = reduced, .data = value, .op = stage.op, .axes = value.rank() - 2});
    if (stage_finishes_[k]) stage_finishes_[k]->emit({reduced}, {number}, turn);
    return number;
  }

  void emit_result(size_t i, const std::vector<View>& inputs, const Starts& starts, int64_t rows,
                   int64_t group, const Affine& turn) {
    const size_t tensor = operands_ + i;
    const bool single = tensors_[tensor].shape != tensors_.front().shape;
    std::vector<int64_t> sizes = sizes_of_tile(rows, group), steps = steps_of_tile(tensor, group);
    std::vector<View> used = inputs;
    if (single) {
      std::fill(sizes.begin() + 2, sizes.end(), 1);
      for (View& input : used) {
        for (int d = 2; d < input.rank(); ++d) input = input.slice(d, 0, 1);
      }
    }
    const int64_t elements = group * (single ? 1 : columns_);
    const View tile = rings_[tensor].turn(turn).slice(0, 0, rows / group).slice(1, 0, elements);
    results_[i]->emit(used, {tile}, turn);
    store(builder_, tensors_[tensor].view(sizes, steps, starts[tensor]), tile);
  }

  Builder& builder_;
  const RowProgram& program_;
  std::vector<HbmTensor> tensors_;  ///< operands, then results
  const size_t operands_;
  const RowDimensions dimensions_;
  const size_t row_;  ///< the dimension of rows on partitions
  const int64_t columns_, partitions_;
  int64_t group_ = 1;  ///< rows per partition
  std::vector<View> rings_, numbers_, raw_, inputs_;
  View values_;
  std::shared_ptr<ExpressionSlots> slots_;      ///< of whole rows
  std::shared_ptr<ExpressionSlots> row_slots_;  ///< of a number per row
  std::vector<std::unique_ptr<ExpressionEmitter>> stage_values_, stage_finishes_, results_;
};

}  // namespace

bool emit_fused_rows(Builder& builder, HbmTensors operands, HbmTensors results,
                     const RowProgram& program) {
  std::vector<HbmTensor> tensors(operands.begin(), operands.end());
  tensors.insert(tensors.end(), results.begin(), results.end());
  FusedRows rows(builder, program, operands, results, RowDimensions::of(program, tensors));
  if (rows.choose_group() < 1) return false;
  rows.emit();
  return true;
}

}  // namespace neuron_sim
