#include "ops/conv2d/conv2d_maxpool.h"

#include <functional>
#include <optional>

#include "ops/blocks/epilogue.h"
#include "ops/blocks/named_kernel.h"
#include "ops/blocks/tiles.h"
#include "ops/conv2d/conv2d_bands.h"
#include "ops/conv2d/conv2d_checks.h"

namespace neuron_sim {
namespace {

/// The sets of groups of one plan: their tiles, and the order of weights and bands.
class GroupSets {
 public:
  GroupSets(Builder& builder, const Conv2dPlan& plan, const Conv2dTensors& tensors,
            Activation activation)
      : builder_(builder),
        plan_(plan),
        tensors_(tensors),
        images_(allocate_images(builder, plan)),
        weights_(allocate_weights(builder, plan)),
        raw_(allocate_raw_weights(builder, plan)) {
    tensors_.zeros = zero_row(builder, plan);
    clear_borders(builder, plan, images_);
    if (tensors.bias.present()) bias_ = allocate_bias(builder, plan);
    kernel_.emplace(builder, plan, weights_, bias_, activation);
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
  }

  void run_pass(const Affine& set, const Conv2dPass& pass) {
    const Conv2dTensors part = tensors_of(set);
    builder_.scope([&] {
      kernel_->begin_pass(pass, part.output);
      run_bands(builder_, plan_, part, images_, *kernel_);
    });
  }

  Conv2dTensors tensors_of(const Affine& set) const {
    const Affine filter = set * plan_.filters;
    return {tensors_.input.slice(0, set * plan_.channels, plan_.channels),
            tensors_.weight.slice(0, filter, plan_.filters),
            bias_.present() ? tensors_.bias.slice(0, filter, plan_.filters) : View(),
            tensors_.output.slice(0, filter, plan_.filters), tensors_.zeros};
  }

  Builder& builder_;
  const Conv2dPlan& plan_;
  Conv2dTensors tensors_;
  View images_, weights_;
  RawWeights raw_;
  View bias_;
  std::optional<Conv2dBandKernel> kernel_;
};

/// Equal sets of groups, then the groups that are left.
void emit_convolution(Builder& builder, Conv2dShape shape, const Conv2dTensors& tensors,
                      Activation activation) {
  int64_t done = 0;
  const int64_t groups = shape.groups;
  while (done < groups) {
    shape.groups = groups - done;
    const Conv2dPlan plan = plan_conv2d(builder.architecture(), shape);
    const int64_t count = plan.sets * plan.set_groups;
    const auto part = [&](const View& view, int64_t of_group) {
      return view.slice(0, done * of_group, count * of_group);
    };
    const Conv2dTensors own{part(tensors.input, shape.channels),
                            part(tensors.weight, shape.filters),
                            tensors.bias.present() ? part(tensors.bias, shape.filters) : View(),
                            part(tensors.output, shape.filters),
                            {}};
    builder.scope([&] { GroupSets(builder, plan, own, activation).run(); });
    done += count;
  }
}

}  // namespace

void emit_conv2d_maxpool(Builder& builder, HbmTensors operands, HbmTensors results,
                         const Conv2dMaxpoolOptions& options) {
  const HbmTensor &input = operands[0], &weight = operands[1];
  const auto bias = optional_tensor(operands, 2);
  const TensorSpec no_bias{{weight.shape.at(0)}, {}, weight.dtype()};
  Conv2dShape shape =
      check_conv2d(spec_of(input), spec_of(weight), bias ? spec_of(*bias) : no_bias, options);
  shape.weights_by_channel = shape.groups == 1 && weight.shape[0] > 1 && weight.strides[0] == 1 &&
                             weight.elements() > weight.shape[0];
  Conv2dTensors tensors;
  tensors.input = input.view().permute({1, 0, 2, 3});
  tensors.weight = weight.view();
  if (bias) tensors.bias = bias->view();
  tensors.output = results[0].view().permute({1, 0, 2, 3});
  builder.scope([&] { emit_convolution(builder, shape, tensors, options.activation); });
}

namespace {

std::vector<TensorSpec> results_of(std::span<const TensorSpec> operands,
                                   const Conv2dMaxpoolOptions& options) {
  const Conv2dShape shape = check_conv2d(operands[0], operands[1], operands[2], options);
  return {{{shape.images, operands[1].shape[0], shape.rows.outputs, shape.columns.outputs},
           {},
           shape.output_dtype}};
}

}  // namespace

const KernelDefinition<Conv2dMaxpoolOptions> kConv2dMaxpool{
    "conv2d_maxpool", "input weight bias -> output", results_of, emit_conv2d_maxpool};
const NamedKernel kConv2dMaxpoolByName{kConv2dMaxpool};

}  // namespace neuron_sim
