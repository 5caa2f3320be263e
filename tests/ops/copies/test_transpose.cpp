#include "ops/copies/transpose.h"

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

void check(const Architecture& architecture, const TensorSpec& spec,
           TransposeEngine engine = TransposeEngine::kAuto) {
  SCOPED_TRACE(describe("x", spec) + " on " + architecture.name);
  HostTensor x(spec);
  const bool multiplies =
      engine == TransposeEngine::kTensor && !architecture.features.exact_transpose;
  if (multiplies) {  // finite values only
    x = HostTensor(spec, random_values(spec.elements(), -5, 5, 3));
  } else {
    x.set_bits(random_bits(spec.elements(), itemsize(spec.dtype)));
  }
  const std::vector<uint32_t> bits = x.bits();
  HostTensor actual = run_op(build_alone(kTranspose, architecture, {spec}, {engine}), {&x});
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

TEST_P(Transpose, GivesTheSameOnEveryEngine) {
  for (const auto engine :
       {TransposeEngine::kTensor, TransposeEngine::kVector, TransposeEngine::kDma}) {
    const int64_t sizes[][2] = {{1, 1}, {1, 300}, {300, 1}, {31, 33}, {129, 513}, {1030, 70}};
    for (const auto& [rows, columns] : sizes) {
      check(architecture(), {{rows, columns}, {}}, engine);
      check(architecture(), {{rows, columns}, {1, rows}, Dtype::kBfloat16}, engine);
    }
    check(architecture(), {{130, 140}, {300, 2}, Dtype::kFloat16}, engine);
    check(architecture(), {{130, 140}, {0, 1}}, engine);
    if (engine == TransposeEngine::kTensor && architecture().generation == 2) continue;
    for (const Dtype dtype : {Dtype::kInt32, Dtype::kInt16, Dtype::kInt8, Dtype::kUint8}) {
      check(architecture(), {{200, 150}, {}, dtype}, engine);
    }
  }
}

TEST_P(Transpose, UsesTheEngineItIsAskedFor) {
  const TensorSpec x{{512, 512}, {}};
  const auto work = [&](TransposeEngine engine) {
    const Timing timing = simulate(*build_alone(kTranspose, architecture(), {x}, {engine}).program);
    return timing.instructions;
  };
  const auto kTensor = static_cast<size_t>(EngineKind::kTensor);
  const auto kVector = static_cast<size_t>(EngineKind::kVector);
  EXPECT_EQ(work(TransposeEngine::kTensor)[kTensor], 16);
  EXPECT_EQ(work(TransposeEngine::kVector)[kTensor], 0);
  EXPECT_EQ(work(TransposeEngine::kVector)[kVector], 256);
  EXPECT_EQ(work(TransposeEngine::kDma)[kTensor] + work(TransposeEngine::kDma)[kVector], 0);
  EXPECT_EQ(work(TransposeEngine::kAuto),
            work(architecture().features.exact_transpose ? TransposeEngine::kTensor
                                                         : TransposeEngine::kVector));
}

TEST_P(Transpose, OfIntegersNeedsAnExactTensorEngine) {
  const TensorSpec x{{4, 6}, {}, Dtype::kInt8};
  const std::string error =
      error_of([&] { build_alone(kTranspose, architecture(), {x}, {TransposeEngine::kTensor}); });
  EXPECT_EQ(error, architecture().features.exact_transpose
                       ? ""
                       : "transpose: engine 'tensor' of trn1 multiplies with an identity, so x "
                         "[4, 6] int8 must be floating.");
  EXPECT_EQ(error_of([] { parse_transpose_engine("scalar"); }),
            "transpose: engine 'scalar' is unknown; the engines are auto, tensor, vector and dma.");
}

TEST_P(Transpose, OfNothingIsNothingAndOtherRanksAreErrors) {
  EXPECT_EQ(build_alone(kTranspose, architecture(), {{{0, 4}, {}}}).program, nullptr);
  EXPECT_EQ(error_of([&] {
              build_alone(kTranspose, architecture(), {{{4}, {}}});
            }),
            "transpose: x [4] float32 has 1 dimensions, expected 2.");
}

INSTANTIATE_TEST_SUITE_P(Architectures, Transpose, ::testing::Values("trn1", "trn2", "trn3"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace neuron_sim
