#include "ops/vector_add/vector_add.h"

#include "device/timeline/overlaps.h"
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
  HostTensor actual =
      run_op(build_alone(kVectorAdd, architecture, {a, b}, options), {&left, &right});
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

TEST_P(VectorAdd, DirectAllocationAddsAnyNumberOfElements) {
  for (const auto variant : {VectorAddVariant::kDirect, VectorAddVariant::kDirectBad}) {
    for (const int64_t elements : {1, 127, 128, 129, 25601, 256000, 300001}) {
      check(architecture(), {{elements}, {}}, {{elements}, {}}, {.variant = variant});
    }
    for (const int64_t num_free_tiles : {1, 2, 3, 7}) {
      check(architecture(), {{5000}, {}}, {{5000}, {}},
            {.variant = variant, .free_dim = 3, .num_free_tiles = num_free_tiles});
    }
    for (const Dtype dtype : {Dtype::kFloat16, Dtype::kBfloat16, Dtype::kInt32, Dtype::kInt16,
                              Dtype::kInt8, Dtype::kUint8}) {
      check(architecture(), {{9001}, {}, dtype}, {{9001}, {0}, dtype},
            {.variant = variant, .free_dim = 17});
    }
  }
}

TEST_P(VectorAdd, DirectAllocationPutsTheTilesWhereItIsTold) {
  const TensorSpec vector{{256000}, {}};
  const auto addresses = [&](const VectorAddOptions& options) {
    const BuiltOp built = build_alone(kVectorAdd, architecture(), {vector, vector}, options);
    std::vector<int64_t> result;
    for (const Tile& tile : built.program->tiles) {
      if (tile.placed) result.push_back(tile.address);
    }
    return result;
  };
  VectorAddOptions options{
      .variant = VectorAddVariant::kDirect, .free_dim = 1000, .num_free_tiles = 2};
  EXPECT_EQ(addresses(options), (std::vector<int64_t>{0, 4000, 8000, 12000, 16000, 20000}));
  options.base_addresses = {40000, 8, 20000};
  EXPECT_EQ(addresses(options), (std::vector<int64_t>{40000, 44000, 8, 4008, 20000, 24000}));
  check(architecture(), vector, vector, options);
  options = {.variant = VectorAddVariant::kDirectBad, .free_dim = 1000, .num_free_tiles = 2};
  EXPECT_EQ(addresses(options), (std::vector<int64_t>{0, 4000, 4000, 8000, 8000, 12000}));
}

TEST_P(VectorAdd, DirectAllocationIsAsFastAsStreamAndOverlappingTilesAreSlower) {
  const TensorSpec vector{{2560000}, {}};
  const auto build = [&](VectorAddVariant variant) {
    return build_alone(kVectorAdd, architecture(), {vector, vector},
                       {.variant = variant, .free_dim = 1000});
  };
  const BuiltOp direct = build(VectorAddVariant::kDirect);
  const BuiltOp bad = build(VectorAddVariant::kDirectBad);
  const double stream = simulated_microseconds(build(VectorAddVariant::kStream));
  EXPECT_NEAR(simulated_microseconds(direct), stream, 0.05 * stream);
  EXPECT_TRUE(report_overlaps(*direct.program).tiles.empty());
  const OverlapReport report = report_overlaps(*bad.program);
  EXPECT_EQ(report.tiles,
            (std::vector<std::string>{"a_tile and b_tile share bytes [4000, 16000) of sbuf",
                                      "a_tile and sum_tile share bytes [8000, 16000) of sbuf",
                                      "b_tile and sum_tile share bytes [8000, 20000) of sbuf"}));
  EXPECT_EQ(report.lost, simulate(*bad.program).body - simulate(*direct.program).body);
  EXPECT_GT(report.lost.microseconds(), 0.1 * stream);
}

TEST_P(VectorAdd, DirectAllocationThatCannotWorkIsRefused) {
  const TensorSpec vector{{256000}, {}};
  const auto error = [&](VectorAddOptions options) {
    if (options.variant == VectorAddVariant::kStream) options.variant = VectorAddVariant::kDirect;
    if (options.free_dim == 0) options.free_dim = 1000;
    return error_of([&] { build_alone(kVectorAdd, architecture(), {vector, vector}, options); });
  };
  EXPECT_EQ(error({.base_addresses = {0, 0, 0}}),
            "vector_add: the tiles of a at 0 and of b at 0 overlap within a turn: b would "
            "overwrite a before it is used; base addresses must be 4000 bytes (one tile) or more "
            "apart.");
  EXPECT_EQ(error({.base_addresses = {0, 4000, 8000}}), "");
  EXPECT_NE(
      error({.base_addresses = {0, 4000, 7996}}).find("the tiles of b at 4000 and of the sum"),
      std::string::npos);
  EXPECT_EQ(
      error({.base_addresses = {0, 4000, 8002}}),
      "vector_add: base address 8002 of the sum is not a multiple of the 4 bytes of float32.");
  EXPECT_NE(error({.base_addresses = {-4, 4000, 8000}}).find("base address -4 of a"),
            std::string::npos);
  EXPECT_NE(error({.base_addresses = {0, 4000, int64_t{1} << 62}}).find("of the sum exceeds the"),
            std::string::npos);
  EXPECT_EQ(error({.base_addresses = {0, 4000}}),
            "vector_add: base_addresses has 2 values, expected 3 (a, b and the sum).");
  EXPECT_NE(error({.variant = VectorAddVariant::kDirectBad, .base_addresses = {0, 4000, 8000}})
                .find("direct_bad has base addresses of its own"),
            std::string::npos);
  EXPECT_NE(error({.num_free_tiles = 0}).find("num_free_tiles 0 must be between 1 and"),
            std::string::npos);
  const int64_t most = architecture().limits.sbuf_usable.count / 4 / 3;
  EXPECT_EQ(error({.free_dim = most, .num_free_tiles = 1}), "");
  EXPECT_NE(
      error({.free_dim = most + 1, .num_free_tiles = 1}).find("direct allocation of 'sum_tile'"),
      std::string::npos);
  EXPECT_NE(error({.free_dim = 3 * most, .num_free_tiles = 4}).find("of 'a_tile' in sbuf"),
            std::string::npos);
  EXPECT_NE(error({.free_dim = int64_t{1} << 40}).find("free_dim 1099511627776 exceeds the"),
            std::string::npos);
}

TEST_P(VectorAdd, VariantsOfVectorsRefuseOtherLayouts) {
  for (const char* name : {"naive", "tiled", "direct", "direct_bad"}) {
    const std::string error = error_of([&] {
      build_alone(kVectorAdd, architecture(), {{{5, 4}, {1, 5}}, {{5, 4}, {}}},
                  {.variant = parse_vector_add_variant(name)});
    });
    EXPECT_EQ(error, std::string("vector_add: variant ") + name +
                         " adds vectors; these operands are not contiguous and do not flatten into "
                         "one dimension. Use variant stream.");
  }
  EXPECT_EQ(error_of([] { parse_vector_add_variant("fast"); }),
            "vector_add: variant 'fast' is unknown; the variants are naive, tiled, stream, direct "
            "and direct_bad.");
}

TEST_P(VectorAdd, RefusesMorePartitionsThanThereAreInTheVendorsWords) {
  const TensorSpec vector{{25600}, {}};
  const auto error = [&](const VectorAddOptions& options) {
    return error_of([&] { build_alone(kVectorAdd, architecture(), {vector, vector}, options); });
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
    return error_of([&] { build_alone(kVectorAdd, architecture(), {a, b}); });
  };
  EXPECT_EQ(error({{2}, {}}, {{3}, {}}),
            "vector_add: a [2] float32 and b [3] float32 have different shapes.");
  EXPECT_NE(error({{2}, {}}, {{2}, {}, Dtype::kInt8}).find("different dtypes"), std::string::npos);
  EXPECT_NE(error({{2}, {}, Dtype::kBool}, {{2}, {}, Dtype::kBool}).find("bool"),
            std::string::npos);
  EXPECT_EQ(build_alone(kVectorAdd, architecture(), {{{0, 3}, {}}, {{0, 3}, {}}}).program, nullptr);
}

TEST_P(VectorAdd, LongerRunsPerDescriptorAreFaster) {
  const TensorSpec vector{{25600}, {}};
  const auto time = [&](const VectorAddOptions& options) {
    return simulated_microseconds(
        build_alone(kVectorAdd, architecture(), {vector, vector}, options));
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
