#include "ops/ffnn/ffnn.h"

#include "csrc/custom_ops/argument_checks.h"
#include "csrc/custom_ops/bias_add_activation.h"
#include "csrc/custom_ops/custom_op.h"
#include "csrc/neuron_sim.h"
#include "ops/blocks/epilogue.h"
#include "ops/reference/reference.h"

namespace neuron_sim {
namespace {

using at::Tensor;
using at::TensorList;
using Call = Invocation<FfnnOptions>;

void check_layer(const char* op, const Tensor& x, const NamedTensor& weight,
                 const NamedTensor& bias, const c10::SymInt& depth) {
  check_same_device(op, {{"x", x}, weight, bias});
  check_same_dtype(op, {{"x", x}, weight, bias});
  check_rank(op, weight, 2);
  check_rank(op, bias, 1);
  check_size(op, weight, 0, depth, "the width of the layer's input");
  check_not_empty(op, weight);
  check_size(op, bias, 0, weight.tensor.sym_size(1), "the columns of its weight");
}

/// Operands: x, all weights, all biases; the result is [N, classes].
Call prepare_network(const char* op, const Tensor& x, TensorList weights, TensorList biases,
                     std::string_view hidden_activation, std::string_view output_activation) {
  check_float(op, {"x", x});
  check_rank(op, {"x", x}, 2);
  TORCH_CHECK_VALUE(!weights.empty() && weights.size() == biases.size(), op, ": ", weights.size(),
                    " weights and ", biases.size(),
                    " biases; there must be as many biases as weights, and at least one.");
  parse_pointwise_function(op, "hidden_activation", hidden_activation);
  parse_output_function(op, output_activation);
  c10::SymInt depth = x.sym_size(1);
  for (size_t layer = 0; layer < weights.size(); ++layer) {
    const std::string weight = c10::str("weights[", layer, "]");
    const std::string bias = c10::str("biases[", layer, "]");
    check_layer(op, x, {weight.c_str(), weights[layer]}, {bias.c_str(), biases[layer]}, depth);
    depth = weights[layer].sym_size(1);
  }
  Call call{{x},
            {.hidden_activation = std::string(hidden_activation),
             .output_activation = std::string(output_activation)},
            {x.sym_size(0), depth},
            x.scalar_type()};
  call.operands.append(weights.begin(), weights.end());
  call.operands.append(biases.begin(), biases.end());
  return call;
}

/// The arrays of the operands.
reference::Network network_of(const Call& call) {
  const size_t layers = call.operands.size() / 2;
  reference::Network network;
  network.batch = call.operands[0].size(0);
  network.widths.push_back(call.operands[0].size(1));
  for (size_t i = 1; i <= layers; ++i) {
    network.widths.push_back(call.operands[i].size(1));
    network.weights.push_back(call.operands[i].const_data_ptr());
    network.biases.push_back(call.operands[layers + i].const_data_ptr());
  }
  network.hidden_activation = call.options.hidden_activation;
  network.output_activation = call.options.output_activation;
  return network;
}

struct FfnnForward {
  static constexpr const char* kSchema =
      "ffnn_forward(Tensor x, Tensor[] weights, Tensor[] biases, *,"
      " str hidden_activation='relu', str output_activation='softmax') -> Tensor";
  static constexpr auto& kKernel = kFfnnForward;

  static Call prepare(const Tensor& x, TensorList weights, TensorList biases,
                      std::string_view hidden_activation, std::string_view output_activation) {
    return prepare_network("ffnn_forward", x, weights, biases, hidden_activation,
                           output_activation);
  }

  static void reference(const Call& call, const Tensor& out) {
    reference::ffnn_forward(call.operands[0].const_data_ptr(), out.mutable_data_ptr(),
                            network_of(call), dtype_of(call.dtype));
  }

  static variable_list gradients(const Gradient& gradient, const Tensor& x, TensorList weights,
                                 TensorList biases, std::string_view hidden_activation,
                                 std::string_view output_activation) {
    const size_t last = weights.size() - 1;
    const auto activation = [&](size_t layer) {
      return layer == last ? output_activation : hidden_activation;
    };
    variable_list inputs{x}, products;
    for (size_t i = 0; i <= last; ++i) {
      products.push_back(neuron_sim::matmul(inputs[i], weights[i]));
      if (i < last) inputs.push_back(bias_add_activation(products[i], biases[i], activation(i)));
    }
    variable_list gradients(1 + 2 * weights.size());
    Tensor outer = gradient.of_result;
    for (size_t i = weights.size(); i-- > 0;) {
      const auto [inner, of_bias] =
          bias_add_activation_gradients(outer, products[i], biases[i], activation(i));
      if (gradient.wanted[1 + i]) gradients[1 + i] = neuron_sim::matmul(inputs[i].t(), inner);
      gradients[1 + weights.size() + i] = of_bias;
      if (i == 0 && !gradient.wanted[0]) return gradients;
      outer = neuron_sim::matmul(inner, weights[i].t());
    }
    gradients[0] = outer;
    return gradients;
  }
};
const CustomOp<FfnnForward> kFfnnForwardCall;

struct FfnnPredict {
  static constexpr const char* kSchema =
      "ffnn_predict(Tensor x, Tensor[] weights, Tensor[] biases, *,"
      " str hidden_activation='relu', str output_activation='softmax') -> Tensor";
  static constexpr auto& kKernel = kFfnnPredict;
  /// The chip has no 64-bit integers; torch's indices are int64.
  static constexpr at::ScalarType kReturned = at::kLong;

  static Call prepare(const Tensor& x, TensorList weights, TensorList biases,
                      std::string_view hidden_activation, std::string_view output_activation) {
    Call call =
        prepare_network("ffnn_predict", x, weights, biases, hidden_activation, output_activation);
    call.sizes.pop_back();
    call.dtype = at::kInt;
    return call;
  }

  static void reference(const Call& call, const Tensor& out) {
    reference::ffnn_predict(call.operands[0].const_data_ptr(), out.mutable_data_ptr<int32_t>(),
                            network_of(call), dtype_of(call.operands[0].scalar_type()));
  }
};
const CustomOp<FfnnPredict> kPredict;

}  // namespace

Tensor ffnn_forward(const Tensor& x, TensorList weights, TensorList biases,
                    std::string_view hidden_activation, std::string_view output_activation) {
  return kFfnnForwardCall.call(x, weights, biases, hidden_activation, output_activation);
}

Tensor ffnn_predict(const Tensor& x, TensorList weights, TensorList biases,
                    std::string_view hidden_activation, std::string_view output_activation) {
  return kPredict.call(x, weights, biases, hidden_activation, output_activation);
}

}  // namespace neuron_sim
