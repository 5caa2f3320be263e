#include "ops/reduction/reduction.h"

#include <algorithm>

#include "device/base/errors.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/tensor_copy.h"
#include "ops/blocks/tiles.h"
#include "ops/reduction/reduction_dimensions.h"

namespace neuron_sim {
namespace {

constexpr int64_t kParts = 128;
constexpr int64_t kFewRows = 64;
/// Elements that a single row reduces as fast as two passes.
constexpr int64_t kShort = 4096;

/// The tensors of a reduction in its merged dimensions: kept ones, then reduced ones.
struct MergedReduction {
  ReductionOptions options;
  std::vector<HbmTensor> operands;
  HbmTensor result;
};

MergedReduction merge(const ReductionKernel& kernel) {
  MergedReduction merged{
      kernel.options, {kernel.operands.begin(), kernel.operands.end()}, kernel.result};
  std::vector<SharedDimension> dimensions = kernel.dimensions.kept;
  merged.options.reduced.assign(dimensions.size(), false);
  dimensions.insert(dimensions.end(), kernel.dimensions.reduced.begin(),
                    kernel.dimensions.reduced.end());
  merged.options.reduced.resize(dimensions.size(), true);
  for (size_t t = 0; t < merged.operands.size(); ++t) {
    merged.operands[t].shape = sizes_of(dimensions);
    merged.operands[t].strides = strides_of(dimensions, t);
  }
  merged.result.shape = sizes_of(kernel.dimensions.kept);
  merged.result.shape.resize(dimensions.size(), 1);
  merged.result.strides = strides_of(dimensions, merged.operands.size());
  return merged;
}

/// Elements first, first + 1, ... of a dimension as [parts, length].
HbmTensor cut(const HbmTensor& tensor, size_t dimension, int64_t parts, int64_t length,
              int64_t first) {
  HbmTensor result = tensor;
  const auto at = static_cast<std::ptrdiff_t>(dimension);
  const int64_t stride = tensor.strides[dimension];
  result.offset += first * stride;
  result.shape[dimension] = length;
  result.shape.insert(result.shape.begin() + at, parts);
  result.strides.insert(result.strides.begin() + at, stride * length);
  return result;
}

/// Partial results of up to 128 parts of a reduced dimension, and of the remainder, into a scratch
/// tensor; then their reduction.
void emit_two_passes(Builder& builder, const MergedReduction& merged, size_t dimension) {
  const ReductionOptions& options = merged.options;
  const auto at = static_cast<std::ptrdiff_t>(dimension);
  const int64_t size = merged.operands.front().shape[dimension];
  const int64_t parts = std::min(kParts, size), length = size / parts;
  const int64_t rest = size - parts * length;
  std::vector<int64_t> shape = merged.result.shape;
  shape.insert(shape.begin() + at, parts + (rest > 0));
  const HbmTensor partial = scratch_tensor(builder, "partial", shape, Dtype::kFloat32);
  ReductionOptions first{
      .op = options.op, .prologue = options.prologue, .reduced = options.reduced};
  first.reduced.insert(first.reduced.begin() + at, false);
  const auto reduce_part = [&](int64_t count, int64_t part_length, int64_t part, int64_t start) {
    std::vector<HbmTensor> pieces;
    for (const HbmTensor& operand : merged.operands) {
      pieces.push_back(cut(operand, dimension, count, part_length, start));
    }
    HbmTensor target = partial;
    target.offset += part * partial.strides[dimension];
    target.shape[dimension] = count;
    emit_reduction(builder, pieces, std::array{target}, first);
  };
  reduce_part(parts, length, 0, 0);
  if (rest > 0) reduce_part(1, rest, parts, parts * length);
  ReductionOptions second{.op = options.op,
                          .epilogue = options.epilogue,
                          .reduced = std::vector<bool>(shape.size(), false)};
  second.reduced[dimension] = true;
  HbmTensor target = merged.result;
  target.shape.insert(target.shape.begin() + at, 1);
  target.strides.insert(target.strides.begin() + at, 0);
  emit_reduction(builder, std::array{partial}, std::array{target}, second);
}

}  // namespace

ReductionDimensions ReductionDimensions::of(const ReductionOptions& options,
                                            std::span<const HbmTensor> operands,
                                            const HbmTensor& result) {
  const std::vector<int64_t>& shape = operands.front().shape;
  std::vector<size_t> order(shape.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return operands.front().strides[a] > operands.front().strides[b];
  });
  ReductionDimensions found;
  for (const bool reduced : {false, true}) {
    std::vector<int64_t> sizes;
    std::vector<std::vector<int64_t>> strides(operands.size() + 1);
    for (const size_t i : order) {
      if (options.reduced[i] != reduced) continue;
      sizes.push_back(shape[i]);
      for (size_t t = 0; t < operands.size(); ++t) strides[t].push_back(operands[t].strides[i]);
      strides.back().push_back(reduced ? 0 : result.strides[i]);
    }
    (reduced ? found.reduced : found.kept) = collapse(sizes, strides);
  }
  const int64_t kept = found.kept.back().strides[0], gone = found.reduced.back().strides[0];
  found.fastest_is_kept = found.kept.back().size > 1 && kept != 0 && kept < gone;
  return found;
}

int64_t ReductionDimensions::kept_elements() const { return elements_of(kept); }
int64_t ReductionDimensions::reduced_elements() const { return elements_of(reduced); }

void loop_over(Builder& builder, const std::vector<SharedDimension>& dimensions,
               const std::vector<size_t>& skip, const Starts& starts,
               const std::function<void(const Starts&)>& body) {
  const std::function<void(size_t, const Starts&)> descend = [&](size_t dimension,
                                                                 const Starts& position) {
    if (dimension == dimensions.size()) return body(position);
    if (std::find(skip.begin(), skip.end(), dimension) != skip.end()) {
      return descend(dimension + 1, position);
    }
    builder.loop(dimensions[dimension].size, [&](const Affine& index) {
      descend(dimension + 1, moved(position, dimensions[dimension], index));
    });
  };
  descend(0, starts);
}

ReductionKernel::ReductionKernel(Builder& kernel_builder, const ReductionOptions& kernel_options,
                                 std::span<const HbmTensor> kernel_operands,
                                 const HbmTensor& kernel_result)
    : builder(kernel_builder),
      options(kernel_options),
      operands(kernel_operands),
      result(kernel_result),
      dimensions(ReductionDimensions::of(kernel_options, kernel_operands, kernel_result)) {}

int64_t ReductionKernel::tile_elements(int64_t wanted, int64_t further_bytes) const {
  const int64_t bytes =
      TileLoader::bytes_per_element(builder, prologue(), operands) + 16 + further_bytes;
  const int64_t fitting = (builder.limits().sbuf_usable.count - 16384) / bytes;
  if (fitting < 1) {
    fail(text("the expressions of a reduction need ", bytes,
              " bytes per element, more than an SBUF partition of ", builder.architecture().name,
              " has free (", builder.limits().sbuf_usable.count - 16384, ")."));
  }
  return std::min({wanted, fitting, kReductionElements});
}

int64_t ReductionKernel::epilogue_bytes() const {
  if (options.epilogue.results().empty()) return 0;
  return ExpressionEmitter::bytes_per_element(
      ExpressionPlan(options.epilogue, builder.architecture().features));
}

Expression ReductionKernel::prologue() const {
  if (!options.prologue.results().empty()) return options.prologue;
  Expression expression;
  expression.add_result(expression.input(0));
  return expression;
}

void ReductionKernel::combine(const View& dst, const View& value) const {
  builder.emit(TensorTensor{.dst = dst, .data1 = dst, .data2 = value, .op = options.op});
}

void ReductionKernel::prepare_finish(int64_t partitions, int64_t elements) {
  output_ = builder.sbuf("result_tile", {partitions, elements}, result.dtype(), 2);
  if (!options.epilogue.results().empty()) {
    epilogue_.emplace(builder, options.epilogue, partitions, elements);
  }
}

void ReductionKernel::finish(const View& value, const std::vector<int64_t>& sizes,
                             const std::vector<int64_t>& steps, const Affine& start) {
  const View output =
      output_.turn(0).slice(0, 0, value.partitions()).slice(1, 0, value.free_elements());
  if (epilogue_) {
    epilogue_->emit({value}, {output}, 0);
  } else {
    builder.emit(TensorCopy{.dst = output, .src = value});
  }
  store(builder, result.view(sizes, steps, start), output);
}

void emit_reduction(Builder& builder, HbmTensors operands, HbmTensors results,
                    const ReductionOptions& options) {
  require(options.reduced.size() == operands.front().shape.size(), "a flag per dimension");
  if (operands.front().elements() == 0) fail("a reduction needs elements");
  ReductionKernel kernel(builder, options, operands, results[0]);
  const ReductionDimensions& dimensions = kernel.dimensions;
  if (dimensions.fastest_is_kept) {
    return builder.scope([&] { emit_column_reduction(kernel); });
  }
  const int64_t rows = dimensions.kept[largest(dimensions.kept)].size;
  const size_t longest = largest(dimensions.reduced);
  if (rows < kFewRows && dimensions.reduced[longest].size > 1 &&
      dimensions.reduced_elements() >= kShort) {
    return emit_two_passes(builder, merge(kernel), dimensions.kept.size() + longest);
  }
  builder.scope([&] { emit_row_reduction(kernel); });
}

}  // namespace neuron_sim
