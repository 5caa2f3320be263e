#include "ops/ffnn/ffnn.h"

#include "tests/ops/run_op.h"

namespace neuron_sim {
namespace {

/// A network with random parameters and its forward pass in double precision.
class Network {
 public:
  Network(int64_t batch, const std::vector<int64_t>& widths, Dtype dtype = Dtype::kFloat32,
          bool transposed_weights = false) {
    add({{batch, widths[0]}, {}, dtype}, 1);
    for (size_t i = 0; i + 1 < widths.size(); ++i) {
      TensorSpec weight{{widths[i], widths[i + 1]}, {}, dtype};
      if (transposed_weights) weight.strides = {1, widths[i]};
      add(weight, 2 / std::sqrt(static_cast<double>(widths[i])));
    }
    for (size_t i = 1; i < widths.size(); ++i) add({{widths[i]}, {}, dtype}, 1);
  }
  /// The specs of x, all weights and all biases.
  std::vector<TensorSpec> specs() const {
    std::vector<TensorSpec> specs;
    for (const HostTensor& tensor : tensors_) specs.push_back(tensor.spec());
    return specs;
  }
  HostTensor& x() { return tensors_[0]; }
  std::vector<HostTensor*> arguments() {
    std::vector<HostTensor*> result;
    for (HostTensor& tensor : tensors_) result.push_back(&tensor);
    return result;
  }

  /// relu between layers, softmax at the end; intermediate values stay in double precision.
  std::vector<double> forward() {
    std::vector<double> h = tensors_[0].values();
    const size_t layers = tensors_.size() / 2;
    for (size_t i = 0; i < layers; ++i) {
      h = layer(h, tensors_[1 + i], tensors_[1 + layers + i], i + 1 == layers);
    }
    return h;
  }

 private:
  void add(const TensorSpec& spec, double scale) {
    tensors_.emplace_back(spec, random_values(spec.elements(), -scale, scale,
                                              static_cast<unsigned>(tensors_.size())));
  }
  std::vector<double> layer(const std::vector<double>& h, HostTensor& weight, HostTensor& bias,
                            bool last) const {
    const auto depth = static_cast<size_t>(weight.spec().shape[0]);
    const auto width = static_cast<size_t>(weight.spec().shape[1]);
    const std::vector<double> w = weight.values(), b = bias.values();
    std::vector<double> result;
    for (size_t row = 0; row < h.size() / depth; ++row) {
      std::vector<double> out = b;
      for (size_t k = 0; k < depth; ++k) {
        for (size_t n = 0; n < width; ++n) out[n] += h[row * depth + k] * w[k * width + n];
      }
      const double largest = *std::max_element(out.begin(), out.end());
      double sum = 0;
      for (double& value : out)
        sum += value = last ? std::exp(value - largest) : std::max(value, 0.0);
      for (double& value : out) result.push_back(last ? value / sum : value);
    }
    return result;
  }

  std::vector<HostTensor> tensors_;
};

class Ffnn : public ::testing::TestWithParam<const char*> {
 protected:
  const Architecture& architecture() const { return load_architecture(GetParam()); }
  void check(Network network, const FfnnOptions& options = {}) const {
    SCOPED_TRACE(describe("x", network.x().spec()) + " on " + architecture().name);
    HostTensor actual = run_op(build_alone(kFfnnForward, architecture(), network.specs(), options),
                               network.arguments());
    expect_close(actual.values(), network.forward(), unit_of(network.x().spec().dtype) * 8);
  }
};

TEST_P(Ffnn, ForwardEqualsDoublePrecisionForAnyShape) {
  check(Network(1, {1, 1}));
  check(Network(5, {3, 4, 2}));
  check(Network(130, {200, 129, 10}));
  check(Network(600, {70, 300, 257, 130, 9}));
  check(Network(3, {20, 600}));
}

TEST_P(Ffnn, ForwardRoundsHalfPrecision) {
  check(Network(64, {100, 200, 30}, Dtype::kBfloat16));
  check(Network(64, {100, 200, 30}, Dtype::kFloat16));
}

TEST_P(Ffnn, TilePlansAgree) {
  check(Network(300, {150, 260, 700}), {.batch_tile = 128});
  check(Network(300, {150, 260, 700}), {.stream_weights = true});
  check(Network(40, {5000, 130, 20}), {.stream_weights = true});
  check(Network(40, {150, 260, 20}, Dtype::kFloat32, true));
  check(Network(40, {150, 260, 20}, Dtype::kFloat32, true), {.stream_weights = true});
}

TEST_P(Ffnn, OutputActivationsArePointwiseToo) {
  Network network(20, {30, 40, 10});
  HostTensor actual =
      run_op(build_alone(kFfnnForward, architecture(), network.specs(),
                         {.hidden_activation = "identity", .output_activation = "sigmoid"}),
             network.arguments());
  HostTensor linear =
      run_op(build_alone(kFfnnForward, architecture(), network.specs(),
                         {.hidden_activation = "identity", .output_activation = "identity"}),
             network.arguments());
  std::vector<double> expected = linear.values();
  for (double& value : expected) value = 1 / (1 + std::exp(-value));
  expect_close(actual.values(), expected, 1e-5);
}

TEST_P(Ffnn, PredictIsTheLowestIndexOfTheLargestProbability) {
  for (const int64_t classes : {1, 2, 7, 8, 9, 600}) {
    Network network(150, {64, 50, classes});
    HostTensor predicted =
        run_op(build_alone(kFfnnPredict, architecture(), network.specs()), network.arguments());
    HostTensor forward =
        run_op(build_alone(kFfnnForward, architecture(), network.specs()), network.arguments());
    const std::vector<double> rows = forward.values(), indices = predicted.values();
    ASSERT_EQ(indices.size(), 150u);
    for (size_t i = 0; i < indices.size(); ++i) {
      const auto row = rows.begin() + static_cast<int64_t>(i) * classes;
      EXPECT_EQ(indices[i], std::max_element(row, row + classes) - row) << i;
    }
  }
}

TEST_P(Ffnn, PredictOfEqualClassesIsTheFirstAndOfNanIsZero) {
  Network network(3, {4, 12});
  std::vector<HostTensor*> arguments = network.arguments();
  HostTensor x(network.x().spec(), {0, 0, 0, 0, NAN, 0, 0, 0, 0, 0, 0, 0});
  HostTensor bias(network.specs()[2], {0, 0, 0, 5, 5, 1, 5, 0, 0, 0, 0, 0});
  arguments[0] = &x;
  arguments[2] = &bias;
  HostTensor predicted =
      run_op(build_alone(kFfnnPredict, architecture(), network.specs()), arguments);
  EXPECT_EQ(predicted.values(), (std::vector<double>{3, 0, 3}));
}

TEST_P(Ffnn, RejectsSpecsThatDoNotMatch) {
  const auto error = [&](const std::vector<TensorSpec>& specs, const FfnnOptions& options = {}) {
    return error_of([&] { build_alone(kFfnnPredict, architecture(), specs, options); });
  };
  const std::vector<TensorSpec> good = Network(3, {4, 5, 6}).specs();
  std::vector<TensorSpec> bad = good;
  bad[2].shape[0] = 7;
  EXPECT_EQ(error(bad), "ffnn_predict: dimension 0 of weights[1] [7, 6] float32 is 7, expected 5.");
  bad = good;
  bad.pop_back();
  EXPECT_NE(error(bad).find("2 weights and 1 biases"), std::string::npos);
  bad = good;
  bad[3].dtype = Dtype::kFloat16;
  EXPECT_NE(error(bad).find("different dtypes"), std::string::npos);
  EXPECT_NE(error(good, {.hidden_activation = "softmax"}).find("not pointwise"), std::string::npos);
  EXPECT_NE(error(good, {.batch_tile = 513}).find("batch_tile 513"), std::string::npos);
  EXPECT_NE(error(Network(1, {1, 16385}).specs()).find("16385 classes"), std::string::npos);
  EXPECT_EQ(error(Network(1, {1, 16384}).specs()), "");
  EXPECT_EQ(build_alone(kFfnnForward, architecture(), Network(0, {4, 5}).specs()).program, nullptr);
}

INSTANTIATE_TEST_SUITE_P(Architectures, Ffnn, ::testing::Values("trn1", "trn2", "trn3"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace neuron_sim
