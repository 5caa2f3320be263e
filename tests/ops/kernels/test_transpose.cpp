#include "ops/kernels/transpose.h"

#include "tests/ops/run_op.h"

namespace neuron_sim {
namespace {

std::vector<uint32_t> random_bits(int64_t count, int bytes) {
  std::mt19937 generator(3);
  std::vector<uint32_t> bits;
  for (int64_t i = 0; i < count; ++i) {
    bits.push_back(bytes == 4 ? generator() : generator() & ((1u << (8 * bytes)) - 1));
  }
  return bits;
}

void check(const Architecture& architecture, const TensorSpec& spec) {
  SCOPED_TRACE(describe("x", spec) + " on " + architecture.name);
  HostTensor x(spec);
  x.set_bits(random_bits(spec.elements(), itemsize(spec.dtype)));
  const std::vector<uint32_t> bits = x.bits();
  HostTensor actual = run_op(build_transpose(architecture, spec), {&x});
  const int64_t rows = spec.shape[0], columns = spec.shape[1];
  const std::vector<uint32_t> result = actual.bits();
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      ASSERT_EQ(result[static_cast<size_t>(c * rows + r)],
                bits[static_cast<size_t>(r * columns + c)])
          << r << ", " << c;
    }
  }
}

class Transpose : public ::testing::TestWithParam<const char*> {
 protected:
  const Architecture& architecture() const { return load_architecture(GetParam()); }
};

TEST_P(Transpose, MovesEveryBitOfEveryDtype) {
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kInt32, Dtype::kBfloat16, Dtype::kFloat16,
                            Dtype::kInt16, Dtype::kInt8, Dtype::kUint8, Dtype::kBool}) {
    check(architecture(), {{200, 150}, {}, dtype});
  }
}

TEST_P(Transpose, TakesOddSizes) {
  const int64_t sizes[][2] = {{1, 1},     {1, 300},   {300, 1},   {31, 33},
                              {128, 128}, {129, 513}, {640, 127}, {1030, 70}};
  for (const auto& [rows, columns] : sizes) {
    check(architecture(), {{rows, columns}, {}});
    check(architecture(), {{rows, columns}, {}, Dtype::kBfloat16});
  }
}

TEST_P(Transpose, TakesAnyStrides) {
  check(architecture(), {{130, 140}, {1, 130}});
  check(architecture(), {{130, 140}, {300, 2}});
  check(architecture(), {{130, 140}, {0, 1}});
  check(architecture(), {{130, 140}, {2, 400}, Dtype::kInt8});
}

TEST_P(Transpose, OfNothingIsNothingAndOtherRanksAreErrors) {
  EXPECT_EQ(build_transpose(architecture(), {{0, 4}, {}}).program, nullptr);
  EXPECT_EQ(error_of([&] {
              build_transpose(architecture(), {{4}, {}});
            }),
            "transpose: x [4] float32 has 1 dimensions, expected 2.");
}

INSTANTIATE_TEST_SUITE_P(Architectures, Transpose, ::testing::Values("trn1", "trn2", "trn3"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace neuron_sim
