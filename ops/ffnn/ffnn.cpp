#include "ops/ffnn/ffnn.h"

#include <limits>
#include <utility>

#include "device/base/errors.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/search/max8.h"
#include "device/isa/search/nc_find_index8.h"
#include "ops/blocks/softmax.h"
#include "ops/blocks/tiles.h"
#include "ops/contract/named_kernel.h"
#include "ops/contract/operand_checks.h"
#include "ops/ffnn/ffnn_layers.h"

namespace neuron_sim {
namespace {

/// The operands by role.
struct FfnnSpecs {
  explicit FfnnSpecs(std::span<const TensorSpec> operands)
      : x(operands[0]),
        weights(operands.subspan(1, operands.size() / 2)),
        biases(operands.subspan(1 + weights.size())) {}
  const TensorSpec& x;
  std::span<const TensorSpec> weights, biases;
};

void check_layer(std::string_view op, const FfnnSpecs& specs, size_t layer, int64_t depth) {
  const std::string weight_name = text("weights[", layer, "]");
  const std::string bias_name = text("biases[", layer, "]");
  const TensorSpec& weight = specs.weights[layer];
  const TensorSpec& bias = specs.biases[layer];
  check_rank(op, weight_name, weight, 2);
  check_rank(op, bias_name, bias, 1);
  check_same_dtype(op, "x", specs.x, weight_name, weight);
  check_same_dtype(op, "x", specs.x, bias_name, bias);
  check_size(op, weight_name, weight, 0, depth);
  check_size(op, bias_name, bias, 0, weight.shape[1]);
  if (weight.shape[0] == 0 || weight.shape[1] == 0) {
    fail(text(op, ": ", describe(weight_name, weight), " is empty."));
  }
}

void check_specs(std::string_view op, const FfnnSpecs& specs, const FfnnOptions& options) {
  check_rank(op, "x", specs.x, 2);
  check_float_operand(op, "x", specs.x);
  if (specs.weights.empty() || specs.weights.size() != specs.biases.size()) {
    fail(text(op, ": ", specs.weights.size(), " weights and ", specs.biases.size(),
              " biases; there must be as many biases as weights, and at least one."));
  }
  int64_t depth = specs.x.shape[1];
  for (size_t layer = 0; layer < specs.weights.size(); ++layer) {
    check_layer(op, specs, layer, depth);
    depth = specs.weights[layer].shape[1];
  }
  parse_pointwise_function(op, "hidden_activation", options.hidden_activation);
  parse_output_function(op, options.output_activation);
}

FfnnOperands operands_of(std::string_view op, const Limits& limits, HbmTensors tensors,
                         const FfnnOptions& options) {
  const int64_t most = product_columns(limits);
  if (options.batch_tile < 0 || options.batch_tile > most) {
    fail(text(op, ": batch_tile ", options.batch_tile, " must be between 0 and ", most, "."));
  }
  FfnnOperands operands;
  operands.hidden = parse_output_function(op, options.hidden_activation).pointwise;
  operands.output = parse_output_function(op, options.output_activation);
  operands.x = tensors[0].view();
  const size_t layers = tensors.size() / 2;
  for (const HbmTensor& weight : tensors.subspan(1, layers)) {
    operands.weights.push_back(weight.view());
  }
  for (const HbmTensor& bias : tensors.subspan(1 + layers)) operands.biases.push_back(bias.view());
  return operands;
}

/// The probabilities of one tile of rows, in the output's dtype.
class Probabilities {
 public:
  Probabilities(Builder& builder, const FfnnOperands& operands) : builder_(builder) {
    if (!operands.output.softmax) return;
    const int64_t classes = operands.width(operands.layers());
    softmax_.emplace(builder);
    if (operands.x.dtype() == Dtype::kFloat32) return;  // in place
    result_ = builder.sbuf("probabilities", {builder.limits().partitions, classes},
                           operands.x.dtype(), classes > 4096 ? 1 : kDoubleBuffer);
  }
  View of(const View& values, const Affine& turn) {
    if (!softmax_) return values;
    View result = result_.present() ? result_.turn(turn).slice(0, 0, values.partitions()) : values;
    softmax_->apply(result, values, turn);
    return result;
  }

 private:
  Builder& builder_;
  std::optional<Softmax> softmax_;
  View result_;
};

/// Index of the largest value of each row.
class ArgMax {
 public:
  ArgMax(Builder& builder, int64_t classes, Dtype dtype) : builder_(builder) {
    const int64_t partitions = builder.limits().partitions;
    const int64_t least = builder.limits().max8_minimum_elements;
    if (classes < least) {
      padded_ = builder.sbuf("padded", {partitions, least}, dtype, kDoubleBuffer);
      builder.emit(Memset{.dst = padded_.turn(0), .value = kLowest});
      builder.emit(Memset{.dst = padded_.turn(1), .value = kLowest});
    }
    largest_ = builder.sbuf("largest", {partitions, 8}, Dtype::kFloat32, kDoubleBuffer);
    found_ = builder.sbuf("found", {partitions, 8}, Dtype::kUint32, kDoubleBuffer);
    index_ = builder.sbuf("index", {partitions, 1}, Dtype::kInt32, kDoubleBuffer);
  }

  /// int32 [P, 1].
  View of(const View& values, const Affine& turn) {
    const auto cut = [&](const View& ring) {
      return ring.turn(turn).slice(0, 0, values.partitions());
    };
    View data = values;
    if (padded_.present()) {
      data = cut(padded_);
      builder_.emit(TensorCopy{.dst = data.slice(1, 0, values.size(1)), .src = values});
    }
    builder_.emit(Max8{.dst = cut(largest_), .src = data});
    builder_.emit(NcFindIndex8{.dst = cut(found_), .data = data, .vals = cut(largest_)});
    // A row of NaN finds nothing, which is all ones: -1 as int32, where torch returns 0.
    builder_.emit(TensorScalar{.dst = cut(index_),
                               .data = cut(found_).slice(1, 0, 1).reinterpret(Dtype::kInt32),
                               .op0 = AluOp::kMaximum,
                               .constant0 = 0});
    return cut(index_);
  }

 private:
  static constexpr double kLowest = -std::numeric_limits<double>::infinity();
  Builder& builder_;
  View padded_, largest_, found_, index_;
};

/// A network whose tiles of probabilities go to sink(probabilities, row, rows, turn). The sink
/// allocates in make_sink(), after the tile of probabilities.
template <typename MakeSink>
void emit_network(std::string_view op, Builder& builder, HbmTensors tensors,
                  const FfnnOptions& options, const MakeSink& make_sink) {
  const FfnnOperands operands = operands_of(op, builder.limits(), tensors, options);
  const FfnnPlan plan =
      choose_ffnn_plan(builder.limits(), operands, options.batch_tile, options.stream_weights);
  Probabilities probabilities(builder, operands);
  auto sink = make_sink();
  FfnnKernel kernel(builder, operands, plan,
                    operands.output.softmax ? Dtype::kFloat32 : operands.x.dtype());
  kernel.emit([&](const View& values, const Affine& row, int64_t rows, const Affine& turn) {
    sink(probabilities.of(values, turn), row, rows, turn);
  });
}

constexpr std::string_view kForward = "ffnn_forward", kPredict = "ffnn_predict";

std::vector<TensorSpec> forward_results(std::span<const TensorSpec> operands,
                                        const FfnnOptions& options) {
  const FfnnSpecs specs(operands);
  check_specs(kForward, specs, options);
  return {{{specs.x.shape[0], specs.weights.back().shape[1]}, {}, specs.x.dtype}};
}

void emit_forward(Builder& builder, HbmTensors operands, HbmTensors results,
                  const FfnnOptions& options) {
  const View out = results[0].view();
  emit_network(kForward, builder, operands, options, [&] {
    return [&builder, out](const View& values, const Affine& row, int64_t rows, const Affine&) {
      store(builder, out.slice(0, row, rows), values);
    };
  });
}

std::vector<TensorSpec> predict_results(std::span<const TensorSpec> operands,
                                        const FfnnOptions& options) {
  const FfnnSpecs specs(operands);
  check_specs(kPredict, specs, options);
  return {{{specs.x.shape[0]}, {}, Dtype::kInt32}};
}

void emit_predict(Builder& builder, HbmTensors operands, HbmTensors results,
                  const FfnnOptions& options) {
  const std::string_view op = kPredict;
  const TensorSpec last = spec_of(operands[operands.size() / 2]);
  const int64_t classes = last.shape[1], most = builder.limits().max8_maximum_elements;
  if (classes > most) {
    fail(text(op, ": ", classes, " classes of ", describe("the last weight", last),
              " exceed architecture limitation of ", most, " elements of max8 on ",
              builder.architecture().name, "."));
  }
  const View out = results[0].view();
  emit_network(op, builder, operands, options, [&] {
    return [&builder, out, arg_max = ArgMax(builder, classes, last.dtype)](
               const View& values, const Affine& row, int64_t rows, const Affine& turn) mutable {
      store(builder, out.slice(0, row, rows).expand(1), arg_max.of(values, turn));
    };
  });
}

}  // namespace

const KernelDefinition<FfnnOptions> kFfnnForward{"ffnn_forward", "x weight* bias* -> out",
                                                 forward_results, emit_forward};
const NamedKernel kFfnnForwardByName{kFfnnForward};
const KernelDefinition<FfnnOptions> kFfnnPredict{"ffnn_predict", "x weight* bias* -> out",
                                                 predict_results, emit_predict};
const NamedKernel kFfnnPredictByName{kFfnnPredict};

}  // namespace neuron_sim
