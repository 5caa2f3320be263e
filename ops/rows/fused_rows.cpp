#include <algorithm>
#include <map>
#include <set>

#include "device/isa/activation/activation_reduce.h"
#include "ops/blocks/block_sums.h"
#include "ops/blocks/tiles.h"
#include "ops/pointwise/compose.h"
#include "ops/pointwise/row_spreader.h"
#include "ops/pointwise/tile_loader.h"
#include "ops/reduction/reduction_dimensions.h"
#include "ops/rows/row_bytes.h"
#include "ops/rows/row_dimensions.h"
#include "ops/rows/row_results.h"

namespace neuron_sim {
namespace {

constexpr int kRing = kRowRing;
constexpr size_t kColumnDimensions = 3;
constexpr int64_t kTileElements = 2048;

class FusedRows {
 public:
  FusedRows(const Architecture& architecture, const RowProgram& program,
            std::span<const HbmTensor> operands, std::span<const HbmTensor> results,
            RowDimensions dimensions)
      : architecture_(architecture),
        program_(program),
        tensors_(operands.begin(), operands.end()),
        operands_(operands.size()),
        dimensions_(std::move(dimensions)),
        row_(largest(dimensions_.rows)),
        columns_(dimensions_.column_elements()),
        partitions_(architecture.limits.partitions) {
    tensors_.insert(tensors_.end(), results.begin(), results.end());
    std::vector<const Expression*> prepared;
    for (const Expression& value : program.prepared) prepared.push_back(&value);
    prepared_ = together(prepared, operands_);
  }

  /// Rows per partition for which everything fits SBUF; 0 when not even one does.
  int64_t choose_group() {
    const int64_t room = architecture_.limits.sbuf_usable.count - 16384;
    const RowBytes bytes = row_bytes(architecture_, program_, tensors_, operands_, shared_dtypes());
    const int64_t fitting = room / (bytes.per_element * columns_ + bytes.per_row);
    const int64_t most = std::min(fitting, columns_ >= kLongRow ? 1 : kTileElements / columns_);
    if (most < 1 || dimensions_.columns.size() > kColumnDimensions) return 0;
    groups_ = RowGroups(dimensions_, partitions_, most);
    classify_results();
    return groups_.size();
  }

  void emit(Builder& builder) {
    allocate(builder);
    groups_.for_each_run(builder, dimensions_, Starts(tensors_.size(), 0),
                         [&](const Starts& starts, const RowRun& run) { emit_run(starts, run); });
  }

 private:
  void classify_results() {
    std::vector<bool> single;
    std::vector<Dtype> dtypes;
    for (size_t i = 0; i < program_.results.size(); ++i) {
      single.push_back(is_single(i));
      dtypes.push_back(tensors_[operands_ + i].dtype());
    }
    classified_ =
        neuron_sim::classify_results(program_, operands_, single, dtypes, groups_.size() == 1);
  }

  /// Dtypes of the operands that all rows share and that a RowSpreader takes.
  std::set<Dtype> shared_dtypes() const {
    std::set<Dtype> dtypes;
    for (size_t i = 0; i < operands_; ++i) {
      const Dtype dtype = tensors_[i].dtype();
      if (is_invariant(i) && RowSpreader::takes_dtype(dtype)) dtypes.insert(dtype);
    }
    return dtypes;
  }

  void allocate(Builder& builder) {
    builder_ = &builder;
    const int64_t group = groups_.size(), elements = group * columns_;
    slots_ = std::make_shared<ExpressionSlots>(builder, partitions_, elements);
    row_slots_ = std::make_shared<ExpressionSlots>(builder, partitions_, group);
    for (size_t i = 0; i < tensors_.size(); ++i) {
      const bool operand = i < operands_, single = !operand && is_single(i - operands_);
      rings_.push_back(builder.sbuf(operand ? "operand_tile" : "result_tile",
                                    {partitions_, single ? group : elements}, tensors_[i].dtype(),
                                    kRing));
    }
    for (const Dtype dtype : shared_dtypes()) {
      spreaders_.try_emplace(dtype, builder, dtype, groups_.are_abreast() ? elements : columns_,
                             true);
    }
    block_sums_.emplace(builder, group, columns_);
    values_ = builder.sbuf("value_tile", {partitions_, elements}, Dtype::kFloat32, kRing);
    for (const RowStage& stage : program_.stages) {
      numbers_.push_back(builder.sbuf("number", {partitions_, group}, Dtype::kFloat32, kRing));
      raw_.push_back(builder.sbuf("reduced", {partitions_, group}, Dtype::kFloat32, kRing));
      stage_values_.push_back(emitter(stage.value, slots_));
      stage_finishes_.push_back(emitter(stage.finish, row_slots_));
    }
    for (size_t i = 0; i < program_.prepared.size(); ++i) {
      prepared_tiles_.push_back(
          builder.sbuf("prepared_tile", {partitions_, elements}, Dtype::kFloat32, kRing));
    }
    prepared_emitter_ = emitter(prepared_, slots_, true);
    whole_emitter_ = emitter(classified_.others, slots_, true);
    for (size_t i = 0; i < program_.results.size(); ++i) {
      single_emitters_.push_back(is_single(i) ? emitter(program_.results[i], row_slots_, true)
                                              : nullptr);
    }
  }

  /// Null for an expression without results and, unless it `copies`, one that is its input.
  std::unique_ptr<ExpressionEmitter> emitter(const Expression& expression,
                                             const std::shared_ptr<ExpressionSlots>& slots,
                                             bool copies = false) {
    if (expression.results().empty() || (!copies && expression.is_operand())) return nullptr;
    return std::make_unique<ExpressionEmitter>(*builder_, expression, slots);
  }

  /// Whether result `i` has one number per row.
  bool is_single(size_t i) const { return tensors_[operands_ + i].shape != tensors_.front().shape; }

  bool is_invariant(size_t tensor) const { return dimensions_.rows[row_].strides[tensor] == 0; }

  void emit_run(const Starts& starts, const RowRun& run) {
    const int64_t rows = run.row.size;
    run_ = run;
    inputs_.assign(operands_, View());
    builder_->scope([&] {
      for (size_t i = 0; i < operands_; ++i) {
        if (is_invariant(i)) inputs_[i] = load_shared(i, starts, std::min(rows, partitions_));
      }
      for_tiles(*builder_, rows, partitions_,
                [&](const Affine& row, int64_t count, const Affine& turn) {
                  emit_tile(moved(starts, run_.row, row), count, turn);
                });
    });
  }

  /// A tile of a tensor in HBM.
  View hbm_tile(size_t tensor, const Starts& starts, int64_t used) const {
    return tensors_[tensor].view(run_.tile_sizes(dimensions_, used),
                                 run_.tile_steps(dimensions_, tensor), starts[tensor]);
  }

  /// An operand of which all rows share one.
  View load_shared(size_t i, const Starts& starts, int64_t used) {
    const View hbm = hbm_tile(i, starts, used);
    const auto spreader = spreaders_.find(tensors_[i].dtype());
    return load_repeating(*builder_, rings_[i], hbm, 0,
                          spreader == spreaders_.end() ? nullptr : &spreader->second);
  }

  View load_tile(size_t i, const Starts& starts, int64_t used, const Affine& turn) {
    return load_repeating(*builder_, rings_[i], hbm_tile(i, starts, used), turn);
  }

  void emit_tile(const Starts& starts, int64_t used, const Affine& turn) {
    std::vector<View> inputs;
    for (size_t i = 0; i < operands_; ++i) {
      inputs.push_back(is_invariant(i) ? inputs_[i].slice(0, 0, used)
                                       : load_tile(i, starts, used, turn));
    }
    prepare(inputs, used, turn);
    for (size_t k = 0; k < program_.stages.size(); ++k) {
      const View number = emit_stage(k, inputs, used, turn);
      inputs.push_back(number.expand(2).broadcast(2, columns_));
    }
    emit_whole(inputs, starts, used, turn);
    for (size_t i = 0; i < program_.results.size(); ++i) {
      if (is_single(i)) emit_single(i, inputs, starts, used, turn);
    }
  }

  /// Appends the prepared values to the inputs.
  void prepare(std::vector<View>& inputs, int64_t used, const Affine& turn) {
    if (!prepared_emitter_) return;
    const int64_t group = run_.group.size;
    std::vector<View> tiles;
    for (const View& ring : prepared_tiles_) {
      tiles.push_back(ring.turn(turn).slice(0, 0, used).slice(1, 0, group * columns_));
    }
    prepared_emitter_->emit(inputs, tiles, turn);
    for (const View& tile : tiles) inputs.push_back(tile.split(1, group, columns_));
  }

  View emit_stage(size_t k, const std::vector<View>& inputs, int64_t used, const Affine& turn) {
    const auto cut = [&](const View& ring) {
      return ring.turn(turn).slice(0, 0, used).slice(1, 0, run_.group.size);
    };
    View number = cut(numbers_[k]);
    const View reduced = stage_finishes_[k] ? cut(raw_[k]) : number;
    reduce(k, inputs, reduced, turn);
    if (stage_finishes_[k]) stage_finishes_[k]->emit({reduced}, {number}, turn);
    return number;
  }

  /// reduced [P, group] = the stage's operator over its value of every row.
  void reduce(size_t k, const std::vector<View>& inputs, const View& reduced, const Affine& turn) {
    const RowStage& stage = program_.stages[k];
    const int64_t used = reduced.partitions(), group = reduced.size(1);
    const auto square = stage.op == AluOp::kAdd && stage_values_[k] && group == 1
                            ? square_of(stage.value)
                            : std::nullopt;
    if (square && square->number.value_or(first_number()) >= first_number()) {
      // value^2 or (number - value)^2 on Scalar, which sums it up in passing.
      ActivationReduce sum{.dst = values_.turn(turn).slice(0, 0, used).slice(1, 0, columns_),
                           .data = inputs[square->value],
                           .op = Activation::kSquare,
                           .reduce_res = reduced};
      if (square->number) {
        sum.bias_tile = number_of(*square->number, used, turn);
        sum.scale = -1;
      }
      builder_->emit(sum);
      return;
    }
    View value;
    if (stage_values_[k]) {
      const View tile = values_.turn(turn).slice(0, 0, used).slice(1, 0, group * columns_);
      stage_values_[k]->emit(inputs, {tile}, turn);
      value = tile.split(1, group, columns_);
    } else {
      value = inputs[input_of(stage.value)];
    }
    block_sums_->emit({.dst = reduced, .data = value, .op = stage.op, .axes = value.rank() - 2},
                      turn);
  }

  /// The first input that is a number of a stage.
  size_t first_number() const { return operands_ + program_.prepared.size(); }
  /// Input `input`, a number, as [P, 1]: of one row per partition.
  View number_of(size_t input, int64_t used, const Affine& turn) const {
    return numbers_[input - first_number()].turn(turn).slice(0, 0, used).slice(1, 0, 1);
  }

  View result_tile(size_t tensor, int64_t used, int64_t elements, const Affine& turn) const {
    return rings_[tensor].turn(turn).slice(0, 0, used).slice(1, 0, elements);
  }

  /// The results of the full shape.
  void emit_whole(const std::vector<View>& inputs, const Starts& starts, int64_t used,
                  const Affine& turn) {
    const int64_t group = run_.group.size;
    std::vector<View> tiles, others, normalised;
    for (size_t i = 0; i < program_.results.size(); ++i) {
      const RowResultKind kind = classified_.kinds[i];
      const bool prepared = kind == RowResultKind::kPrepared;
      tiles.push_back(prepared ? inputs[input_of(program_.results[i])]
                               : result_tile(operands_ + i, used,
                                             is_single(i) ? group : group * columns_, turn));
      if (kind == RowResultKind::kOther) others.push_back(tiles[i]);
      if (kind == RowResultKind::kNormalised) normalised.push_back(tiles[i]);
    }
    if (!normalised.empty()) {
      const View scratch = values_.turn(turn).slice(0, 0, used).slice(1, 0, columns_);
      emit_normalised(*builder_, normalised_tiles(inputs, used, turn), scratch, normalised);
    }
    if (!others.empty()) whole_emitter_->emit(inputs, others, turn);
    for (size_t i = 0; i < tiles.size(); ++i) {
      if (is_single(i)) continue;
      store(*builder_, hbm_tile(operands_ + i, starts, used), tiles[i]);
    }
  }

  NormalisedTiles normalised_tiles(const std::vector<View>& inputs, int64_t used,
                                   const Affine& turn) const {
    const NormalisedRow& row = *classified_.normalised;
    NormalisedTiles tiles{inputs[row.value], number_of(row.factor, used, turn)};
    if (row.shift) tiles.shift = number_of(*row.shift, used, turn);
    if (row.weight) tiles.weight = inputs[*row.weight];
    if (row.bias) tiles.bias = inputs[*row.bias];
    return tiles;
  }

  /// A result of one number per row.
  void emit_single(size_t i, const std::vector<View>& inputs, const Starts& starts, int64_t used,
                   const Affine& turn) {
    const size_t tensor = operands_ + i;
    std::vector<int64_t> sizes = run_.tile_sizes(dimensions_, used);
    std::fill(sizes.begin() + 2, sizes.end(), 1);
    std::vector<View> firsts = inputs;
    for (View& input : firsts) {
      for (int d = 2; d < input.rank(); ++d) input = input.slice(d, 0, 1);
    }
    const View tile = result_tile(tensor, used, run_.group.size, turn);
    single_emitters_[i]->emit(firsts, {tile}, turn);
    store(*builder_,
          tensors_[tensor].view(sizes, run_.tile_steps(dimensions_, tensor), starts[tensor]), tile);
  }

  const Architecture& architecture_;
  Builder* builder_ = nullptr;  ///< of emit()
  const RowProgram& program_;
  std::vector<HbmTensor> tensors_;  ///< operands, then results
  const size_t operands_;
  const RowDimensions dimensions_;
  const size_t row_;  ///< the dimension of rows on partitions
  const int64_t columns_, partitions_;
  RowGroups groups_;
  RowRun run_;           ///< of emit_run()
  Expression prepared_;  ///< all prepared values
  RowResults classified_;
  std::vector<View> rings_, numbers_, raw_, inputs_, prepared_tiles_;
  View values_;
  std::optional<BlockSums> block_sums_;
  std::map<Dtype, RowSpreader> spreaders_;      ///< of operands that all rows share
  std::shared_ptr<ExpressionSlots> slots_;      ///< of whole rows
  std::shared_ptr<ExpressionSlots> row_slots_;  ///< of a number per row
  std::vector<std::unique_ptr<ExpressionEmitter>> stage_values_, stage_finishes_;
  std::unique_ptr<ExpressionEmitter> prepared_emitter_, whole_emitter_;
  std::vector<std::unique_ptr<ExpressionEmitter>> single_emitters_;  ///< per result, or null
};

FusedRows fused_rows(const Architecture& architecture, HbmTensors operands, HbmTensors results,
                     const RowProgram& program) {
  std::vector<HbmTensor> tensors(operands.begin(), operands.end());
  tensors.insert(tensors.end(), results.begin(), results.end());
  return {architecture, program, operands, results, RowDimensions::of(program, tensors)};
}

}  // namespace

bool fused_rows_fit(const Architecture& architecture, HbmTensors operands, HbmTensors results,
                    const RowProgram& program) {
  return fused_rows(architecture, operands, results, program).choose_group() >= 1;
}

bool emit_fused_rows(Builder& builder, HbmTensors operands, HbmTensors results,
                     const RowProgram& program) {
  FusedRows rows = fused_rows(builder.architecture(), operands, results, program);
  if (rows.choose_group() < 1) return false;
  rows.emit(builder);
  return true;
}

}  // namespace neuron_sim
