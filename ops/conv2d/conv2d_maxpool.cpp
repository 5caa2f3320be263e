#include "ops/conv2d/conv2d_maxpool.h"

#include <functional>
#include <optional>
#include <utility>

#include "ops/blocks/epilogue.h"
#include "ops/blocks/tiles.h"
#include "ops/contract/fusion_traits.h"
#include "ops/contract/named_kernel.h"
#include "ops/conv2d/bands.h"
#include "ops/conv2d/checks.h"
#include "ops/conv2d/follower.h"
#include "ops/pointwise/compose.h"
#include "ops/pointwise/substitution.h"

namespace neuron_sim {
namespace {

/// How the sums of a convolution become its results.
struct Conv2dResults {
  Activation activation = Activation::kIdentity;
  /// Input 0 are the sums, the others `operands`; absent: the activation alone.
  std::optional<Expression> expression{};
  Conv2dFollowerOperands operands{};
};

/// The tensors of filters [first, first + count), with all inputs.
Conv2dTensors sliced(const Conv2dTensors& tensors, const Affine& first, int64_t count) {
  const auto filters = [&](const View& view) { return view.slice(0, first, count); };
  Conv2dTensors part{tensors.input, filters(tensors.weight), View(), tensors.zeros, tensors.dense};
  if (tensors.bias.present()) part.bias = filters(tensors.bias);
  for (const View& view : tensors.followers) part.followers.push_back(filters(view));
  for (const View& view : tensors.outputs) part.outputs.push_back(filters(view));
  return part;
}

/// The sets of groups of one plan: their tiles, and the order of weights and bands.
class GroupSets {
 public:
  GroupSets(Builder& builder, const Conv2dPlan& plan, const Conv2dTensors& tensors,
            const Conv2dResults& results)
      : builder_(builder),
        plan_(plan),
        tensors_(tensors),
        images_(allocate_images(builder, plan)),
        weights_(allocate_weights(builder, plan)),
        raw_(allocate_raw_weights(builder, plan)) {
    tensors_.zeros = zero_row(builder, plan);
    tensors_.dense = allocate_dense(builder, plan);
    clear_borders(builder, plan, images_);
    if (tensors.bias.present()) bias_ = allocate_bias(builder, plan, plan.shape.bias_dtype);
    if (results.expression) {
      follower_.emplace(builder, plan, *results.expression, results.operands);
    }
    kernel_.emplace(builder, plan, weights_, bias_, results.activation,
                    follower_ ? &*follower_ : nullptr);
  }

  /// With two rings of weights, those of a set load and are transposed before the bands of the
  /// previous set.
  void run() {
    const auto prepare = [&](const Affine& set) { prepare_pass(set, {0, plan_.filters, set}); };
    const auto body = [&](const Affine& set) { run_pass(set, {0, plan_.filters, set}); };
    if (plan_.weight_sets == 1) return for_sets([&](const Affine& set) { run_passes(set); });
    prepare(0);
    for_sets([&](const Affine& set) {
      prepare(set + 1);
      body(set);
    });
    body(plan_.sets - 1);
  }

 private:
  /// All sets, or all but the last where the next one is prepared. Images that are cut into panels
  /// or parts of windows already have enough loops.
  void for_sets(const std::function<void(Affine)>& body) {
    const int64_t count = plan_.weight_sets == 1 ? plan_.sets : plan_.sets - 1;
    if (plan_.is_wide() && plan_.window_parts == 1) return builder_.loop(count, body);
    for (int64_t set = 0; set < count; ++set) body(set);
  }

  void run_passes(const Affine& set) {
    for_tiles(builder_, plan_.filters, plan_.pass_filters,
              [&](const Affine& first, int64_t count, const Affine&) {
                const Conv2dPass pass{first, count, 0};
                prepare_pass(set, pass);
                run_pass(set, pass);
              });
  }

  void prepare_pass(const Affine& set, const Conv2dPass& pass) {
    const Conv2dTensors part = tensors_of(set);
    load_weights(builder_, plan_, part.weight, raw_, weights_, pass);
    if (bias_.present()) load_bias(builder_, plan_, part.bias, bias_, pass);
    if (follower_) follower_->load_filters(part.followers, pass);
  }

  void run_pass(const Affine& set, const Conv2dPass& pass) {
    const Conv2dTensors part = tensors_of(set);
    builder_.scope([&] {
      kernel_->begin_pass(pass, part);
      run_bands(builder_, plan_, part, images_, *kernel_);
    });
  }

  Conv2dTensors tensors_of(const Affine& set) const {
    Conv2dTensors part = sliced(tensors_, set * plan_.filters, plan_.filters);
    part.input = tensors_.input.slice(0, set * plan_.channels, plan_.channels);
    return part;
  }

  Builder& builder_;
  const Conv2dPlan& plan_;
  Conv2dTensors tensors_;
  View images_, weights_;
  RawWeights raw_;
  View bias_;
  std::optional<Conv2dFollower> follower_;
  std::optional<Conv2dBandKernel> kernel_;
};

/// Equal sets of groups, then the groups that are left.
void emit_convolution(Builder& builder, Conv2dShape shape, const Conv2dTensors& tensors,
                      const Conv2dResults& results) {
  int64_t done = 0;
  const int64_t groups = shape.groups;
  while (done < groups) {
    shape.groups = groups - done;
    const Conv2dPlan plan = plan_conv2d(builder.architecture(), shape);
    const int64_t count = plan.sets * plan.set_groups;
    Conv2dTensors own = sliced(tensors, done * shape.filters, count * shape.filters);
    own.input = tensors.input.slice(0, done * shape.channels, count * shape.channels);
    builder.scope([&] { GroupSets(builder, plan, own, results).run(); });
    done += count;
  }
}

}  // namespace

namespace {

View filters_first(const HbmTensor& images) { return images.view().permute({1, 0, 2, 3}); }

/// The bias becomes an operand of the expression that follows.
void follow_bias(Conv2dResults& results, const HbmTensor& bias, const HbmTensor& like) {
  Expression biased;
  std::vector<ElementValue> inputs{biased.input(0)};
  for (size_t i = 0; i < results.operands.tensors.size(); ++i) {
    inputs.push_back(biased.input(static_cast<int>(i) + 1));
  }
  inputs[0] = inputs[0] + biased.input(static_cast<int>(inputs.size()));
  for (const ElementValue value : append_steps(biased, *results.expression, inputs)) {
    biased.add_result(value);
  }
  results.expression = std::move(biased);
  results.operands.tensors.push_back(
      {bias.storage, like.shape, {0, bias.strides[0], 0, 0}, bias.offset});
}

/// Adds what the plan must know of the expression.
void describe_follower(const Architecture& architecture, const Conv2dResults& results,
                       HbmTensors outputs, Conv2dShape& shape) {
  const auto& operands = results.operands;
  shape.output_dtypes.clear();
  for (const HbmTensor& output : outputs) shape.output_dtypes.push_back(output.dtype());
  shape.follower_tile_bytes = operands.tile_bytes();
  shape.follower_value_bytes = ExpressionEmitter::bytes_per_element(
      ExpressionPlan(*results.expression, architecture.features));
  for (size_t i = 0; i < operands.tensors.size(); ++i) {
    shape.filter_values += operands.is_per_filter(i) ? 1 : 0;
  }
}

void emit_with(Builder& builder, HbmTensors operands, HbmTensors outputs,
               const Conv2dMaxpoolOptions& options, Conv2dResults results) {
  const HbmTensor &input = operands[0], &weight = operands[1];
  const auto bias = optional_tensor(operands, 2);
  const TensorSpec no_bias{{weight.shape.at(0)}, {}, weight.dtype()};
  Conv2dShape shape =
      check_conv2d(spec_of(input), spec_of(weight), bias ? spec_of(*bias) : no_bias, options);
  shape.weights_by_channel =
      weight.shape[0] > 1 && weight.strides[0] == 1 && weight.elements() > weight.shape[0];
  Conv2dTensors tensors;
  tensors.input = filters_first(input);
  tensors.weight = weight.view();
  if (results.expression) {
    if (bias) follow_bias(results, *bias, outputs[0]);
    results.expression = with_filter_values_last(reading_sums_once(*results.expression),
                                                 results.operands.per_filter());
    describe_follower(builder.architecture(), results, outputs, shape);
  } else if (bias) {
    tensors.bias = bias->view();
  }
  for (const HbmTensor& tensor : results.operands.tensors) {
    tensors.followers.push_back(filters_first(tensor));
  }
  for (const HbmTensor& output : outputs) tensors.outputs.push_back(filters_first(output));
  builder.scope([&] { emit_convolution(builder, shape, tensors, results); });
}

}  // namespace

void emit_conv2d_maxpool(Builder& builder, HbmTensors operands, HbmTensors results,
                         const Conv2dMaxpoolOptions& options) {
  emit_with(builder, operands, results, options, {.activation = options.activation});
}

void emit_followed_conv2d(Builder& builder, HbmTensors operands, HbmTensors others,
                          HbmTensors results, const Expression& expression,
                          const InnerWindows& pooling, const Conv2dMaxpoolOptions& options) {
  Conv2dMaxpoolOptions pooled = options;
  pooled.pool_kernel = pooling.kernel;
  pooled.pool_stride = pooling.stride;
  emit_with(builder, operands, results, pooled,
            {.expression = expression, .operands = {{others.begin(), others.end()}}});
}

namespace {

std::vector<TensorSpec> results_of(std::span<const TensorSpec> operands,
                                   const Conv2dMaxpoolOptions& options) {
  const Conv2dShape shape = check_conv2d(operands[0], operands[1], operands[2], options);
  return {{{shape.images, operands[1].shape[0], shape.rows.outputs, shape.columns.outputs},
           {},
           shape.output_dtypes.front()}};
}

}  // namespace

const KernelDefinition<Conv2dMaxpoolOptions> kConv2dMaxpool{
    "conv2d_maxpool", "input weight bias -> output", results_of, emit_conv2d_maxpool};
const NamedKernel kConv2dMaxpoolByName{kConv2dMaxpool};

const KernelDefinition<Conv2dMaxpoolOptions> kConvolution{
    .name = "convolution",
    .emit = emit_conv2d_maxpool,
    .traits = [](std::span<const TensorSpec>, const Conv2dMaxpoolOptions& options) {
      return FusionTraits{
          .operands = {{.batched = true}},
          .followed = [options](Builder& builder, HbmTensors operands, HbmTensors others,
                                HbmTensors results, const Expression& expression,
                                const InnerWindows& pooling) {
            emit_followed_conv2d(builder, operands, others, results, expression, pooling, options);
          }};
    }};

}  // namespace neuron_sim
