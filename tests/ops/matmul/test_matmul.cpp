#include "ops/matmul/matmul.h"

#include "tests/ops/run_op.h"

namespace neuron_sim {
namespace {

std::vector<double> product(HostTensor& a, HostTensor& b) {
  const int64_t rows = a.spec().shape[0], depth = a.spec().shape[1], columns = b.spec().shape[1];
  const std::vector<double> left = a.values(), right = b.values();
  std::vector<double> result(static_cast<size_t>(rows * columns), 0.0);
  for (int64_t m = 0; m < rows; ++m) {
    for (int64_t k = 0; k < depth; ++k) {
      const double factor = left[static_cast<size_t>(m * depth + k)];
      for (int64_t n = 0; n < columns; ++n) {
        result[static_cast<size_t>(m * columns + n)] +=
            factor * right[static_cast<size_t>(k * columns + n)];
      }
    }
  }
  return result;
}

void check(const Architecture& architecture, const TensorSpec& a, const TensorSpec& b,
           const MatmulOptions& options = {}) {
  HostTensor left(a, random_values(a.elements(), -1, 1, 1));
  HostTensor right(b, random_values(b.elements(), -1, 1, 2));
  TensorSpec given = a;
  if (options.transpose_x) {  // the same storage, seen as [K, M]
    const std::vector<int64_t> strides = strides_of(a);
    given = {{a.shape[1], a.shape[0]}, {strides[1], strides[0]}, a.dtype};
  }
  const BuiltOp built = build_alone(kMatmul, architecture, {given, b}, options);
  HostTensor actual = run_op(built, {&left, &right});
  SCOPED_TRACE(describe("a", a) + " " + describe("b", b) + " on " + architecture.name);
  // Rounding errors of fp32 sums grow with their number of terms.
  const double terms = std::max(8.0, static_cast<double>(a.shape[1]) / 32);
  expect_close(actual.values(), product(left, right),
               unit_of(a.dtype) * (a.dtype == Dtype::kFloat32 ? terms : 1));
}

class Matmul : public ::testing::TestWithParam<const char*> {
 protected:
  const Architecture& architecture() const { return load_architecture(GetParam()); }
};

TEST_P(Matmul, EqualsTheDoublePrecisionProductForOddSizes) {
  const int64_t sizes[][3] = {{1, 1, 1},       {1, 300, 1},     {5, 1, 7},       {127, 129, 511},
                              {128, 128, 512}, {129, 256, 513}, {257, 65, 1025}, {3, 700, 40}};
  for (const auto& [m, k, n] : sizes) check(architecture(), {{m, k}, {}}, {{k, n}, {}});
}

TEST_P(Matmul, RoundsHalfPrecisionOnce) {
  for (const Dtype dtype : {Dtype::kFloat16, Dtype::kBfloat16}) {
    check(architecture(), {{130, 200}, {}, dtype}, {{200, 520}, {}, dtype});
  }
}

TEST_P(Matmul, TakesAnyStrides) {
  check(architecture(), {{150, 140}, {1, 150}}, {{140, 130}, {}});
  check(architecture(), {{150, 140}, {}}, {{140, 130}, {1, 140}});
  check(architecture(), {{150, 140}, {1, 150}}, {{140, 130}, {1, 140}});
  check(architecture(), {{20, 30}, {90, 3}}, {{30, 20}, {2, 70}});
  check(architecture(), {{20, 30}, {0, 1}}, {{30, 20}, {1, 0}});
  check(architecture(), {{9, 200}, {500, 2}, Dtype::kBfloat16},
        {{200, 33}, {40, 1}, Dtype::kBfloat16});
}

TEST_P(Matmul, AgreesWithItselfForEveryTilePlan) {
  check(architecture(), {{300, 384}, {}}, {{384, 700}, {}}, {.panel_columns = 256});
  check(architecture(), {{600, 640}, {}}, {{640, 530}, {}}, {.panel_rows = 256});
  check(architecture(), {{130, 100}, {}}, {{100, 30}, {1, 100}}, {.panel_rows = 128});
  check(architecture(), {{2, 20000}, {}}, {{20000, 3}, {}});
}

constexpr MatmulVariant kTutorial[] = {MatmulVariant::kTiled, MatmulVariant::kHoistLoad,
                                       MatmulVariant::kBlockFreeDimension,
                                       MatmulVariant::kFullyOptimized};

TEST_P(Matmul, VariantsOfTheTutorialTakeAnySizes) {
  const int64_t sizes[][3] = {{1, 1, 1},        {1, 300, 1},     {5, 1, 7},       {127, 129, 511},
                              {256, 256, 1024}, {257, 65, 1025}, {130, 1100, 600}};
  for (const MatmulVariant variant : kTutorial) {
    for (const auto& [m, k, n] : sizes) {
      for (const bool transpose_x : {false, true}) {
        check(architecture(), {{m, k}, {}}, {{k, n}, {}},
              {.variant = variant, .transpose_x = transpose_x});
        check(architecture(), {{m, k}, {1, m}}, {{k, n}, {1, k}},
              {.variant = variant, .transpose_x = transpose_x});
      }
    }
  }
}

TEST_P(Matmul, VariantsOfTheTutorialRoundHalfPrecisionOnce) {
  for (const MatmulVariant variant : kTutorial) {
    for (const Dtype dtype : {Dtype::kFloat16, Dtype::kBfloat16}) {
      check(architecture(), {{130, 1200}, {}, dtype}, {{1200, 520}, {}, dtype},
            {.variant = variant});
    }
  }
}

TEST_P(Matmul, FullyOptimizedReusesBlocksForMoreRowsThanFitSbuf) {
  check(architecture(), {{5000, 40}, {}}, {{40, 1030}, {}},
        {.variant = MatmulVariant::kFullyOptimized});
}

TEST_P(Matmul, EveryStepOfTheTutorialsLadderMovesLess) {
  const TensorSpec a{{2048, 2048}, {}, Dtype::kBfloat16}, b{{2048, 2048}, {}, Dtype::kBfloat16};
  Timing before{};
  before.body = Picoseconds{INT64_MAX};
  before.dma_bytes = INT64_MAX;
  for (const MatmulVariant variant : kTutorial) {
    const BuiltOp built =
        build_alone(kMatmul, architecture(), {a, b}, {.variant = variant, .transpose_x = true});
    const Timing timing = simulate(*built.program);
    EXPECT_LT(timing.dma_bytes, before.dma_bytes) << static_cast<int>(variant);
    // Behind a fast HBM blocks of the free dimensions keep TensorE busy already.
    if (variant != MatmulVariant::kFullyOptimized || architecture().generation == 2) {
      EXPECT_LT(timing.body, before.body) << static_cast<int>(variant);
    }
    EXPECT_EQ(timing.multiply_accumulates, int64_t{2048} * 2048 * 2048);
    before = timing;
  }
}

TEST_P(Matmul, VariantsOfTheTutorialTakeAKLongerThanSbuf) {
  for (const MatmulVariant variant : kTutorial) {
    check(architecture(), {{129, 20001}, {}}, {{20001, 3}, {}}, {.variant = variant});
    check(architecture(), {{2, 20001}, {1, 2}}, {{20001, 513}, {}}, {.variant = variant});
  }
}

TEST_P(Matmul, HoistLoadKeepsKInSbufWhileItFits) {
  const int64_t capacity = architecture().limits.sbuf_usable.count;
  // Loaded as they lie: a row of K takes (128 + 512) * 4 bytes of a partition, in blocks of 128.
  const int64_t blocks = (capacity - 4 * 512 * 4 - 1024) / (640 * 4);
  const auto bytes = [&](int64_t depth) {
    return simulate(*build_alone(kMatmul, architecture(), {{{depth, 128}, {}}, {{depth, 1024}, {}}},
                                 {.variant = MatmulVariant::kHoistLoad, .transpose_x = true})
                         .program)
        .dma_bytes;
  };
  const int64_t fitting = blocks * 128;
  EXPECT_EQ(bytes(fitting), 4 * (fitting * (128 + 1024) + 128 * 1024));
  // One more row of K, and a is loaded for both column tiles.
  EXPECT_EQ(bytes(fitting + 1), 4 * ((fitting + 1) * (2 * 128 + 1024) + 128 * 1024));
}

TEST_P(Matmul, OfALongKKeepsRowsWhileColumnsStreamBy) {
  check(architecture(), {{130, 8192}, {}}, {{8192, 520}, {}});
  check(architecture(), {{130, 8190}, {1, 130}}, {{8190, 520}, {1, 8190}});
}

TEST_P(Matmul, OfALongKLoadsColumnsOnceForFourTilesOfRows) {
  constexpr int64_t kDepth = 12288, kColumns = 1024;
  const auto bytes = [&](int64_t rows) {
    const TensorSpec a{{rows, kDepth}, {}, Dtype::kBfloat16};
    const TensorSpec b{{kDepth, kColumns}, {}, Dtype::kBfloat16};
    return simulate(*build_alone(kMatmul, architecture(), {a, b}, {}).program).dma_bytes;
  };
  const auto loading = [](int64_t rows, int64_t times) {
    return 2 * (rows * kDepth + times * kDepth * kColumns + rows * kColumns);
  };
  EXPECT_GT(bytes(1), loading(1, 1)) << "a row for each panel of columns";
  EXPECT_EQ(bytes(128), loading(128, 1));
  EXPECT_EQ(bytes(512), loading(512, 1));
  EXPECT_EQ(bytes(513), loading(513, 2));
}

TEST_P(Matmul, OfAVeryLongKLoadsLongerRowsThanThoseOfOneColumnTile) {
  const auto time = [&](int64_t panel_columns) {
    const TensorSpec a{{1, 18432}, {}, Dtype::kBfloat16}, b{{18432, 2560}, {}, Dtype::kBfloat16};
    return simulate(*build_alone(kMatmul, architecture(), {a, b}, {.panel_columns = panel_columns})
                         .program)
        .body;
  };
  EXPECT_LT(time(0), time(128));
}

TEST_P(Matmul, OfATransposedXChecksItsDepth) {
  EXPECT_EQ(
      error_of([&] {
        build_alone(kMatmul, architecture(), {{{4, 3}, {}}, {{3, 5}, {}}}, {.transpose_x = true});
      }),
      "matmul: dimension 0 of b [3, 5] float32 is 3, expected 4.");
  EXPECT_EQ(
      build_alone(kMatmul, architecture(), {{{4, 3}, {}}, {{4, 5}, {}}}, {.transpose_x = true})
          .output.shape,
      (std::vector<int64_t>{3, 5}));
  EXPECT_EQ(error_of([] { parse_matmul_variant("fast"); }),
            "matmul: variant 'fast' is unknown; the variants are auto, tiled, hoist_load, "
            "block_free_dimension and fully_optimized.");
}

TEST_P(Matmul, KeepsNonFiniteValuesInTheirRowsAndColumns) {
  const TensorSpec a{{140, 130}, {}}, b{{130, 20}, {}};
  std::vector<double> left = random_values(a.elements()), right = random_values(b.elements());
  left[5 * 130 + 7] = NAN;
  left[139 * 130 + 129] = INFINITY;
  HostTensor left_tensor(a, left), right_tensor(b, right);
  HostTensor actual =
      run_op(build_alone(kMatmul, architecture(), {a, b}), {&left_tensor, &right_tensor});
  const std::vector<double> values = actual.values();
  for (int64_t i = 0; i < 140 * 20; ++i) {
    const int64_t row = i / 20;
    EXPECT_EQ(std::isfinite(values[static_cast<size_t>(i)]), row != 5 && row != 139) << i;
  }
}

TEST_P(Matmul, OfNoDepthIsZeroAndOfNoElementsIsNothing) {
  const TensorSpec a{{130, 0}, {}}, b{{0, 5}, {}};
  HostTensor left(a), right(b);
  HostTensor actual = run_op(build_alone(kMatmul, architecture(), {a, b}), {&left, &right});
  EXPECT_EQ(actual.values(), std::vector<double>(130 * 5, 0.0));
  EXPECT_EQ(build_alone(kMatmul, architecture(), {{{0, 4}, {}}, {{4, 5}, {}}}).program, nullptr);
  EXPECT_EQ(build_alone(kMatmul, architecture(), {{{2, 4}, {}}, {{4, 0}, {}}}).program, nullptr);
}

TEST_P(Matmul, ProgramOfABigProductStaysSmall) {
  const BuiltOp built =
      build_alone(kMatmul, architecture(), {{{100000, 1000}, {}}, {{1000, 3000}, {}}});
  EXPECT_LT(built.program->instructions.size(), 800u);
}

TEST_P(Matmul, RejectsPanelsThatAreNoWholeTiles) {
  const TensorSpec x{{256, 256}, {}};
  for (const int64_t size : {-128, -1, 1, 127, 129}) {
    for (const bool columns : {true, false}) {
      const MatmulOptions options{.panel_columns = columns ? size : 0,
                                  .panel_rows = columns ? 0 : size};
      EXPECT_EQ(error_of([&] {
                  build_alone(kMatmul, architecture(), {x, x}, options);
                }),
                text("matmul: panel_columns ", options.panel_columns, " and panel_rows ",
                     options.panel_rows, " must be multiples of 128."));
    }
  }
}

TEST_P(Matmul, RejectsOperandsThatDoNotMatch) {
  const auto error = [&](const TensorSpec& a, const TensorSpec& b) {
    return error_of([&] { build_alone(kMatmul, architecture(), {a, b}); });
  };
  EXPECT_EQ(error({{2, 3}, {}}, {{4, 5}, {}}),
            "matmul: dimension 0 of b [4, 5] float32 is 4, expected 3.");
  EXPECT_NE(error({{2, 3, 4}, {}}, {{4, 5}, {}}).find("has 3 dimensions"), std::string::npos);
  EXPECT_NE(error({{2, 3}, {}}, {{3, 5}, {}, Dtype::kFloat16}).find("different dtypes"),
            std::string::npos);
  EXPECT_NE(error({{2, 3}, {}, Dtype::kInt32}, {{3, 5}, {}, Dtype::kInt32}).find("int32"),
            std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Architectures, Matmul, ::testing::Values("trn1", "trn2", "trn3"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace neuron_sim
