#include "ops/kernels/vector_add.h"

#include "tests/ops/run_op.h"

namespace neuron_sim {
namespace {

/// The sum as torch computes it: floats in fp32 rounded once, integers modulo 2^bits.
double sum_of(Dtype dtype, double a, double b) {
  if (is_float(dtype)) return round_to(dtype, static_cast<float>(a) + static_cast<float>(b));
  const int64_t values = int64_t{1} << (8 * itemsize(dtype));
  int64_t sum = (static_cast<int64_t>(a) + static_cast<int64_t>(b)) & (values - 1);
  if (dtype != Dtype::kUint8 && sum >= values / 2) sum -= values;
  return static_cast<double>(sum);
}

std::vector<double> values_of(const TensorSpec& spec, unsigned seed) {
  if (is_float(spec.dtype)) return random_values(spec.elements(), -100, 100, seed);
  const bool signs = spec.dtype != Dtype::kUint8;
  const double span = std::ldexp(1.0, 8 * itemsize(spec.dtype));
  std::vector<double> values = random_values(spec.elements(), 0, span, seed);
  for (double& value : values) value = std::floor(value) - (signs ? span / 2 : 0);
  return values;
}

void check(const Architecture& architecture, const TensorSpec& a, const TensorSpec& b,
           const VectorAddOptions& options = {}) {
  SCOPED_TRACE(describe("a", a) + " on " + architecture.name);
  HostTensor left(a, values_of(a, 1)), right(b, values_of(b, 2));
  HostTensor actual = run_op(build_vector_add(architecture, a, b, options), {&left, &right});
  const std::vector<double> x = left.values(), y = right.values();
  std::vector<double> expected;
  for (size_t i = 0; i < x.size(); ++i) expected.push_back(sum_of(a.dtype, x[i], y[i]));
  expect_values(actual.values(), expected);
}

class VectorAdd : public ::testing::TestWithParam<const char*> {
 protected:
  const Architecture& architecture() const { return load_architecture(GetParam()); }
};

TEST_P(VectorAdd, AddsAnyNumberOfElements) {
  for (const int64_t elements : {1, 127, 128, 129, 255, 25600, 70001, 300000}) {
    check(architecture(), {{elements}, {}}, {{elements}, {}});
  }
}

TEST_P(VectorAdd, EqualsTorchForEveryDtype) {
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat16, Dtype::kBfloat16, Dtype::kInt32,
                            Dtype::kInt16, Dtype::kInt8, Dtype::kUint8}) {
    check(architecture(), {{3000}, {}, dtype}, {{3000}, {}, dtype});
  }
}

TEST_P(VectorAdd, WalksStridedAndBroadcastOperands) {
  check(architecture(), {{200, 300}, {1, 200}}, {{200, 300}, {}});
  check(architecture(), {{7, 130, 5}, {}}, {{7, 130, 5}, {0, 1, 0}});
  check(architecture(), {{4, 3, 50, 60}, {}}, {{4, 3, 50, 60}, {0, 1, 0, 0}});
  check(architecture(), {{100, 3}, {7, 2}}, {{100, 3}, {0, 0}});
  check(architecture(), {{500}, {3}}, {{500}, {0}});
  check(architecture(), {{40000, 3}, {3, 1}}, {{40000, 3}, {1, 40000}});
  check(architecture(), {{2, 3, 4, 5, 6}, {1, 2, 6, 24, 120}}, {{2, 3, 4, 5, 6}, {}});
  check(architecture(), {{3, 200, 5}, {1000, 5, 1}, Dtype::kInt8},
        {{3, 200, 5}, {1, 3, 0}, Dtype::kInt8});
  check(architecture(), {{}, {}}, {{}, {}});
}

TEST_P(VectorAdd, VariantsAgree) {
  const TensorSpec small{{128}, {}}, vector{{1000}, {}};
  check(architecture(), small, small, {.variant = VectorAddVariant::kNaive});
  for (const int64_t row_chunk : {1, 100, 128}) {
    check(architecture(), vector, vector,
          {.variant = VectorAddVariant::kTiled, .row_chunk = row_chunk});
  }
  for (const int64_t free_dim : {1, 2, 3, 2000}) {
    check(architecture(), vector, vector, {.free_dim = free_dim});
  }
}

TEST_P(VectorAdd, RefusesMorePartitionsThanThereAreInTheVendorsWords) {
  const TensorSpec vector{{25600}, {}};
  const auto error = [&](const VectorAddOptions& options) {
    return error_of([&] { build_vector_add(architecture(), vector, vector, options); });
  };
  EXPECT_NE(error({.variant = VectorAddVariant::kNaive})
                .find("number of partitions 25600 exceed architecture limitation of 128."),
            std::string::npos);
  EXPECT_NE(error({.variant = VectorAddVariant::kTiled, .row_chunk = 129})
                .find("number of partitions 129 exceed architecture limitation of 128."),
            std::string::npos);
  EXPECT_NE(error({.variant = VectorAddVariant::kTiled, .row_chunk = 0}).find("row_chunk 0"),
            std::string::npos);
}

TEST_P(VectorAdd, RejectsOperandsThatDoNotMatch) {
  const auto error = [&](const TensorSpec& a, const TensorSpec& b) {
    return error_of([&] { build_vector_add(architecture(), a, b); });
  };
  EXPECT_EQ(error({{2}, {}}, {{3}, {}}),
            "vector_add: a [2] float32 and b [3] float32 have different shapes.");
  EXPECT_NE(error({{2}, {}}, {{2}, {}, Dtype::kInt8}).find("different dtypes"), std::string::npos);
  EXPECT_NE(error({{2}, {}, Dtype::kBool}, {{2}, {}, Dtype::kBool}).find("bool"),
            std::string::npos);
  EXPECT_EQ(build_vector_add(architecture(), {{0, 3}, {}}, {{0, 3}, {}}).program, nullptr);
}

TEST_P(VectorAdd, LongerRunsPerDescriptorAreFaster) {
  const TensorSpec vector{{25600}, {}};
  const auto time = [&](const VectorAddOptions& options) {
    return simulated_microseconds(build_vector_add(architecture(), vector, vector, options));
  };
  const double one = time({.variant = VectorAddVariant::kTiled, .row_chunk = 1});
  const double tiled = time({.variant = VectorAddVariant::kTiled, .row_chunk = 128});
  EXPECT_GT(one, 10 * tiled);
  EXPECT_GT(tiled, 5 * time({.free_dim = 200}));
}

INSTANTIATE_TEST_SUITE_P(Architectures, VectorAdd, ::testing::Values("trn1", "trn2", "trn3"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace neuron_sim
