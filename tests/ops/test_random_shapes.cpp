// Kernels against the oneDNN references for reproducible random shapes, dtypes and strides.

#include "ops/copies/transpose.h"
#include "ops/ffnn/ffnn.h"
#include "ops/matmul/matmul.h"
#include "ops/reference/reference.h"
#include "ops/rows/bias_add_activation.h"
#include "ops/vector_add/vector_add.h"
#include "tests/ops/run_op.h"

namespace neuron_sim {
namespace {

class RandomShapes : public ::testing::TestWithParam<const char*> {
 protected:
  const Architecture& architecture() const { return load_architecture(GetParam()); }
  int64_t pick(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(generator_() % static_cast<uint64_t>(high - low + 1));
  }
  Dtype pick_float() {
    constexpr Dtype kDtypes[] = {Dtype::kFloat32, Dtype::kFloat16, Dtype::kBfloat16};
    return kDtypes[pick(0, 2)];
  }
  /// Dense, transposed or with gaps.
  TensorSpec matrix(int64_t rows, int64_t columns, Dtype dtype) {
    TensorSpec spec{{rows, columns}, {}, dtype};
    const int64_t layout = pick(0, 3);
    if (layout == 1) spec.strides = {1, rows};
    if (layout == 2) spec.strides = {columns + 5, 1};
    if (layout == 3) spec.strides = {2 * columns + 3, 2};
    return spec;
  }
  HostTensor tensor(const TensorSpec& spec) {
    return HostTensor(spec,
                      random_values(spec.elements(), -1, 1, static_cast<unsigned>(generator_())));
  }
  /// A dense tensor of the same values.
  static HostTensor dense(HostTensor& tensor) {
    return HostTensor({tensor.spec().shape, {}, tensor.spec().dtype}, tensor.values());
  }

  std::mt19937_64 generator_{20240607};
};

TEST_P(RandomShapes, MatmulAgreesWithTheReference) {
  for (int round = 0; round < 25; ++round) {
    const int64_t m = pick(1, 400), k = pick(1, 500), n = pick(1, 1200);
    const Dtype dtype = pick_float();
    HostTensor a = tensor(matrix(m, k, dtype)), b = tensor(matrix(k, n, dtype));
    const MatmulOptions options{.panel_columns = pick(0, 2) * 128, .panel_rows = pick(0, 1) * 128};
    SCOPED_TRACE(describe("a", a.spec()) + " " + describe("b", b.spec()));
    HostTensor actual =
        run_op(build_alone(kMatmul, architecture(), {a.spec(), b.spec()}, options), {&a, &b});
    HostTensor expected({{m, n}, {}, dtype}), left = dense(a), right = dense(b);
    reference::matmul(left.data(), right.data(), expected.data(), {m, k, n}, dtype);
    // oneDNN sums in an order that depends on the host: k roundings of sums of terms below 1.
    expect_close(actual.values(), expected.values(),
                 unit_of(dtype) * 2 + static_cast<double>(k) * 0x1p-23);
  }
}

TEST_P(RandomShapes, VectorAddAgreesWithTheReference) {
  for (int round = 0; round < 25; ++round) {
    const TensorSpec shape = matrix(pick(1, 300), pick(1, 700), pick_float());
    HostTensor a = tensor(shape);
    HostTensor b = tensor(matrix(shape.shape[0], shape.shape[1], shape.dtype));
    SCOPED_TRACE(describe("a", a.spec()));
    HostTensor actual = run_op(build_alone(kVectorAdd, architecture(), {a.spec(), b.spec()},
                                           {.free_dim = pick(0, 1) * pick(1, 900)}),
                               {&a, &b});
    HostTensor expected({shape.shape, {}, shape.dtype}), left = dense(a), right = dense(b);
    reference::vector_add(left.data(), right.data(), expected.data(), shape.elements(),
                          shape.dtype);
    expect_values(actual.values(), expected.values());
  }
}

TEST_P(RandomShapes, TransposeAgreesWithTheReference) {
  for (int round = 0; round < 25; ++round) {
    const int64_t rows = pick(1, 1200), columns = pick(1, 700);
    HostTensor x = tensor(matrix(rows, columns, pick_float()));
    SCOPED_TRACE(describe("x", x.spec()));
    HostTensor actual = run_op(build_alone(kTranspose, architecture(), {x.spec()}), {&x});
    HostTensor expected({{columns, rows}, {}, x.spec().dtype}), plain = dense(x);
    reference::transpose(plain.data(), expected.data(), rows, columns, x.spec().dtype);
    EXPECT_EQ(actual.bits(), expected.bits());
  }
}

TEST_P(RandomShapes, BiasAddActivationAgreesWithTheReference) {
  for (int round = 0; round < 20; ++round) {
    const int64_t rows = pick(1, 900), features = pick(1, 3000);
    const std::string activation = pick(0, 1) == 0 ? "softmax" : "tanh";
    HostTensor x = tensor(matrix(rows, features, pick_float()));
    const Dtype dtype = x.spec().dtype;
    HostTensor bias = tensor({{features}, {}, dtype});
    SCOPED_TRACE(describe("x", x.spec()) + activation);
    HostTensor actual = run_op(
        build_alone(kBiasAddActivation, architecture(), {x.spec(), bias.spec()}, {activation}),
        {&x, &bias});
    HostTensor expected({{rows, features}, {}, dtype}), plain = dense(x);
    reference::bias_add_activation(plain.data(), bias.data(), expected.data(), rows, features,
                                   activation, dtype);
    expect_close(actual.values(), expected.values(), unit_of(dtype) * 2 + 1e-5);
  }
}

TEST_P(RandomShapes, NetworksAgreeWithTheReference) {
  for (int round = 0; round < 12; ++round) {
    const Dtype dtype = pick_float();
    reference::Network network;
    network.batch = pick(1, 700);
    for (int64_t i = pick(2, 5); i > 0; --i) network.widths.push_back(pick(1, 400));
    std::vector<HostTensor> tensors, plain;
    tensors.push_back(tensor(matrix(network.batch, network.widths[0], dtype)));
    const size_t layers = network.widths.size() - 1;
    for (size_t i = 0; i < layers; ++i) {
      tensors.push_back(tensor(matrix(network.widths[i], network.widths[i + 1], dtype)));
    }
    for (size_t i = 1; i <= layers; ++i)
      tensors.push_back(tensor({{network.widths[i]}, {}, dtype}));
    std::vector<HostTensor*> arguments;
    std::vector<TensorSpec> specs;
    for (HostTensor& each : tensors) {
      arguments.push_back(&each);
      specs.push_back(each.spec());
      plain.push_back(dense(each));
    }
    for (size_t i = 0; i < layers; ++i) {
      network.weights.push_back(plain[1 + i].data());
      network.biases.push_back(plain[1 + layers + i].data());
    }
    SCOPED_TRACE(describe("x", specs[0]));
    const FfnnOptions options{.batch_tile = pick(0, 1) * 100, .stream_weights = pick(0, 1) == 1};
    HostTensor actual =
        run_op(build_alone(kFfnnForward, architecture(), specs, options), arguments);
    HostTensor expected(actual.spec());
    reference::ffnn_forward(plain[0].data(), expected.data(), network, dtype);
    expect_close(actual.values(), expected.values(), unit_of(dtype) * 2 + 1e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, RandomShapes, ::testing::Values("trn1", "trn2", "trn3"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace neuron_sim
