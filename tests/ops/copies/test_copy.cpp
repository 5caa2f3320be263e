#include "ops/copies/copy.h"

#include "tests/ops/run_kernel.h"

namespace neuron_sim {
namespace {

class Copy : public ::testing::TestWithParam<const char*> {
 protected:
  void check(const TensorSpec& source, const TensorSpec& target) const {
    SCOPED_TRACE(describe("source", source));
    HostTensor operand(source, random_values(source.elements(), 0, 100));
    expect_values(
        run_kernel(load_architecture(GetParam()), emit_copy, {&operand}, {target}).front().values(),
        operand.values());
  }
};

TEST_P(Copy, AnyShapeAndLayoutOnEitherSide) {
  RandomLayouts random(3);
  for (int trial = 0; trial < 60; ++trial) {
    const std::vector<int64_t> shape = random.shape(7, 20000);
    check({shape, random.strides(shape, true)}, {shape, random.strides(shape, false)});
  }
}

TEST_P(Copy, EveryDtypeAndOddSizes) {
  for (const Dtype dtype :
       {Dtype::kFloat32, Dtype::kFloat16, Dtype::kBfloat16, Dtype::kInt32, Dtype::kInt16,
        Dtype::kInt8, Dtype::kUint8, Dtype::kBool, Dtype::kUint32}) {
    check({{1}, {}, dtype}, {{1}, {}, dtype});
    check({{129, 257}, {}, dtype}, {{129, 257}, {1, 129}, dtype});
    check({{70001}, {0}, dtype}, {{70001}, {}, dtype});
    check({{70001}, {3}, dtype}, {{70001}, {2}, dtype});
  }
}

TEST_P(Copy, ElementsAreRepeatedInAnyDtypeAndNumber) {
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kBfloat16, Dtype::kInt32, Dtype::kInt8}) {
    for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{300, 64}, {1, 5}, {3, 9000}}) {
      for (const int64_t times : {2, 3, 5000}) {
        if (rows * columns * times > 200000) continue;
        check({{rows, columns, times}, {columns, 1, 0}, dtype},
              {{rows, columns, times}, {}, dtype});
        check({{rows, columns, times}, {columns + 2, 2, 0}, dtype},
              {{rows, columns, times}, {}, dtype});
      }
    }
  }
}

TEST_P(Copy, BitsComeThroughUnchanged) {
  HostTensor operand({{4}, {}});
  operand.set_bits({0x7FA00001, 0x80000000, 0x00000001, 0xFFFFFFFF});
  EXPECT_EQ(
      run_kernel(load_architecture(GetParam()), emit_copy, {&operand}, {{{4}, {}}}).front().bits(),
      operand.bits());
}

TEST_P(Copy, RowsAndColumnsAreExchangedInAnyDtypeAndSize) {
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kBfloat16, Dtype::kInt32, Dtype::kInt8}) {
    for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{130, 70}, {2, 700}, {511, 3}}) {
      check({{rows, columns}, {}, dtype}, {{rows, columns}, {1, rows}, dtype});
      check({{rows, columns}, {1, rows}, dtype}, {{rows, columns}, {}, dtype});
      // Batches outside, between and with gaps.
      check({{3, rows, columns}, {}, dtype},
            {{3, rows, columns}, {rows * columns, 1, rows}, dtype});
      check({{rows, 2, columns}, {}, dtype},
            {{rows, 2, columns}, {1, rows * columns, rows}, dtype});
      check({{rows, columns}, {columns + 5, 1}, dtype}, {{rows, columns}, {1, rows + 3}, dtype});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, Copy, ::testing::Values("trn1", "trn2", "trn3"),
                         [](const auto& info) { return std::string(info.param); });

TEST(CopyKernel, AMatrixIsTransposedOnChipFromTheLimitOn) {
  const auto time = [](int64_t rows, int64_t columns) {
    const std::vector<int64_t> shape{rows, columns};
    return simulated_microseconds(
        build_kernel(load_architecture("trn2"), emit_copy, {{shape, {}}}, {{shape, {1, rows}}}));
  };
  const double below = time(kTransposedElements / 16 - 1, 16),
               at = time(kTransposedElements / 16, 16);
  EXPECT_LT(time(16, 16), below);
  EXPECT_LT(at, below * 1.5);
  EXPECT_LT(time(256, 128), 4 * at);
}

TEST(CopyKernel, RepeatedElementsTakeLessThanThoseThatAreLoadedEach) {
  const auto time = [](const std::vector<int64_t>& strides) {
    const TensorSpec result{{512, 64, 2}, {}};
    return simulated_microseconds(
        build_kernel(load_architecture("trn1"), emit_copy, {{result.shape, strides}}, {result}));
  };
  EXPECT_LT(time({64, 1, 0}), 2 * time({128, 2, 1}));
}

TEST(CopyKernel, TakesTheTimeOfItsBytes) {
  const auto time = [](int64_t elements) {
    return simulated_microseconds(
        build_kernel(load_architecture("trn2"), emit_copy, {{{elements}, {}}}, {{{elements}, {}}}));
  };
  const double one = time(1 << 22), two = time(1 << 23);
  EXPECT_NEAR(two / one, 2, 0.2);
  // Nothing but DMA instructions.
  const BuiltOp built =
      build_kernel(load_architecture("trn2"), emit_copy, {{{1 << 20}, {}}}, {{{1 << 20}, {}}});
  EXPECT_EQ(count_of(*built.program, "dma_copy"),
            static_cast<int64_t>(built.program->instructions.size()));
}

}  // namespace
}  // namespace neuron_sim
