#include "device/isa/tensor/quantize_mx.h"

#include <gtest/gtest.h>

#include "device/numerics/packed.h"
#include "tests/device/isa/mx_tiles.h"
#include "tests/device/isa/run_instruction.h"

namespace neuron_sim {
namespace {
constexpr Dtype kE5m2 = Dtype::kFloat8E5m2X4;
constexpr Dtype kE4m3fn = Dtype::kFloat8E4m3fnX4;

QuantizeMx make(InstructionBench& bench, int64_t partitions, int64_t elements, Dtype dst = kE4m3fn,
                Dtype src = kBf16, Dtype scale = Dtype::kUint8) {
  return {.dst = bench.tile(kSbuf, dst, {partitions, elements}, "dst"),
          .src = bench.tile(kSbuf, src, {partitions, elements * 4}, "src"),
          .dst_scale = bench.tile(kSbuf, scale, {partitions, elements}, "scale")};
}

/// The oracle in double: scale exponents and quantised values of [P, 4 N] sources.
void expect_quantised(InstructionBench& bench, const QuantizeMx& quantize) {
  const int64_t partitions = quantize.src.partitions(), columns = quantize.dst.free_elements();
  const std::vector<double> source = bench.get(quantize.src);
  const std::vector<uint32_t> scales = bench.bits(quantize.dst_scale);
  const std::vector<double> result = packed_values(bench, quantize.dst);
  const bool e5m2 = quantize.dst.dtype() == kE5m2;
  const Dtype element = e5m2 ? Dtype::kFloat8E5m2 : Dtype::kFloat8E4m3fn;
  for (int64_t p = 0; p < partitions; ++p) {
    for (int64_t n = 0; n < columns; ++n) {
      double largest = 0;
      bool finite = true;
      for (int64_t q = p / 8 * 8; q < p / 8 * 8 + 8; ++q) {
        for (int64_t j = 0; j < 4; ++j) {
          const double value = source[static_cast<size_t>((q * columns + n) * 4 + j)];
          finite = finite && std::isfinite(value);
          largest = std::max(largest, std::abs(value));
        }
      }
      int expected = 0;
      if (!finite) {
        expected = 255;
      } else if (largest > 0) {
        expected = std::max(std::ilogb(largest) - (e5m2 ? 14 : 7) + 127, 0);
      }
      const int64_t row = p / 32 * 32 + p % 32 / 8;
      ASSERT_EQ(scales[static_cast<size_t>(row * columns + n)], static_cast<uint32_t>(expected))
          << p << " " << n;
      for (int64_t j = 0; j < 4; ++j) {
        const auto at = static_cast<size_t>((p * columns + n) * 4 + j);
        const double scale = finite ? std::ldexp(1.0, expected - 127) : 1;
        const double wanted = round_to(element, source[at] / scale);
        ASSERT_TRUE(result[at] == wanted || (std::isnan(result[at]) && std::isnan(wanted)))
            << result[at] << " " << wanted;
        if (finite) {
          ASSERT_TRUE(std::isfinite(result[at]));  // room is left for rounding
        }
      }
    }
  }
}

TEST(QuantizeMx, ScalesGroupsOfEightPartitionsAndFourElements) {
  for (const int64_t partitions : {32, 64, 96, 128}) {
    for (const int64_t elements : {1, 7, 64}) {
      for (const Dtype dst : {kE4m3fn, kE5m2}) {
        for (const Dtype src : {kBf16, Dtype::kFloat16}) {
          InstructionBench bench(mx_architecture());
          const QuantizeMx quantize = make(bench, partitions, elements, dst, src,
                                           elements == 7 ? Dtype::kUint8 : Dtype::kFloat8E8m0fnu);
          std::vector<double> values = random_values(partitions * elements * 4, -1, 1, 9);
          for (size_t i = 0; i < values.size(); ++i) {  // groups of very different size
            values[i] = std::ldexp(values[i], static_cast<int>(i / 4 * 7 % 24) - 12);
          }
          bench.set(quantize.src, values);
          bench.run(quantize);
          expect_quantised(bench, quantize);
        }
      }
    }
  }
}

TEST(QuantizeMx, TakesZeroTinyHugeAndNonFiniteGroups) {
  for (const Dtype dst : {kE4m3fn, kE5m2}) {
    InstructionBench bench(mx_architecture());
    const QuantizeMx quantize = make(bench, 32, 6, dst);
    std::vector<double> values(32 * 24, 0.0);
    const auto group = [&](size_t column, double value) { values[column * 4 + 1] = value; };
    group(1, 0x1p-133);    // the smallest bf16
    group(2, 0x1.fep127);  // the largest
    group(3, NAN);
    group(4, -INFINITY);
    group(5, -0.0);
    bench.set(quantize.src, values);
    bench.run(quantize);
    expect_quantised(bench, quantize);
  }
}

TEST(QuantizeMx, WritesScalesIntoUnusedRowsOfQuadrants) {
  InstructionBench bench(mx_architecture());
  QuantizeMx quantize = make(bench, 64, 5);
  bench.set(quantize.src, random_values(64 * 20));
  const View scales = bench.tile(kSbuf, Dtype::kUint8, {128, 5}, "scales");
  bench.run(quantize);
  const std::vector<uint32_t> expected = bench.bits(quantize.dst_scale);
  const std::vector<uint32_t> before = bench.bits(scales);
  quantize.dst_scale = scales.slice(0, 8, 36);  // rows 8..11 and 40..43
  bench.run(quantize);
  const std::vector<uint32_t> after = bench.bits(scales);
  for (size_t row = 0; row < 128; ++row) {
    for (size_t n = 0; n < 5; ++n) {
      const bool mine = (row >= 8 && row < 12) || (row >= 40 && row < 44);
      EXPECT_EQ(after[row * 5 + n], mine ? expected[(row - 8) * 5 + n] : before[row * 5 + n]);
    }
  }
}

TEST(QuantizeMx, TakesAccessPatterns) {
  InstructionBench bench(mx_architecture());
  QuantizeMx quantize;
  quantize.src = bench.tile(kSbuf, kBf16, {64, 3, 40}, "src", random_values(64 * 120))
                     .slice(1, 0, 2, 2)
                     .slice(2, 1, 16, 2);
  quantize.dst = bench.tile(kSbuf, kE4m3fn, {64, 20}, "dst").slice(1, 3, 8, 2);
  quantize.dst_scale = bench.tile(kSbuf, Dtype::kUint8, {64, 2, 5}, "scale").slice(2, 1, 4);
  bench.run(quantize);
  expect_quantised(bench, quantize);
}

TEST(QuantizeMxChecks, ReportsShapesDtypesAndGenerations) {
  InstructionBench bench(mx_architecture());
  const auto error = [&](const QuantizeMx& quantize) { return bench.error(quantize); };
  EXPECT_EQ(error(make(bench, 32, 4)), "");
  EXPECT_EQ(error(make(bench, 33, 4)),
            "number of partitions 33 of operand 'dst' of 'quantize_mx' must be a multiple of 32.");
  EXPECT_EQ(error(make(bench, 160, 4)),
            "number of partitions 160 exceed architecture limitation of 128. (instruction "
            "'quantize_mx', operand 'dst', architecture trn3)");
  EXPECT_EQ(error(make(bench, 32, 4, Dtype::kFloat4E2m1fnX4)),
            "dtype float4_e2m1fn_x4 of operand 'dst' of 'quantize_mx' is not supported; expected "
            "float8_e5m2_x4 or float8_e4m3fn_x4.");
  EXPECT_EQ(error(make(bench, 32, 4, kE5m2, kFp32)),
            "dtype float32 of operand 'src' of 'quantize_mx' is not supported; expected float16 or "
            "bfloat16.");
  EXPECT_EQ(error(make(bench, 32, 4, kE5m2, kBf16, Dtype::kInt8)),
            "dtype int8 of operand 'dst_scale' of 'quantize_mx' is not supported; expected "
            "float8_e8m0fnu or uint8.");
  QuantizeMx quantize = make(bench, 128, 4);
  quantize.src = quantize.src.slice(1, 0, 15);
  EXPECT_EQ(error(quantize),
            "operand 'src' of 'quantize_mx' is src[128, 15], but dst dst[128, 4] holds 16 values "
            "per partition.");
  quantize = make(bench, 128, 4);
  const View scale = quantize.dst_scale;
  quantize.dst_scale = scale.slice(0, 0, 100);
  EXPECT_EQ(error(quantize), "");
  quantize.dst_scale = scale.slice(0, 0, 99);
  EXPECT_EQ(error(quantize),
            "operand 'dst_scale' of 'quantize_mx' is scale[99, 4], but the scales of the 128 "
            "partitions of 'dst' take 100 to 128 partitions, 4 rows at the start of every 32.");
  quantize.dst_scale = scale.slice(1, 0, 3);
  EXPECT_EQ(error(quantize),
            "operand 'dst_scale' of 'quantize_mx' is scale[128, 3], but operand 'dst' has 4 groups "
            "of four values per partition.");
  quantize.dst_scale = scale.slice(0, 2, 100);
  EXPECT_EQ(error(quantize),
            "operand 'dst_scale' of 'quantize_mx' starts at partition 2, which is no multiple of "
            "4.");
  quantize.dst_scale = bench.tile(kHbm, Dtype::kUint8, {128, 4}, "scale");
  EXPECT_EQ(error(quantize),
            "Expected operand 'dst_scale' of 'quantize_mx' to be in address space 'sbuf', but got "
            "a tile in 'hbm' instead.");
  InstructionBench old;
  EXPECT_EQ(old.error(make(old, 32, 4)),
            "instruction 'quantize_mx' needs NeuronCore-v4 or newer; architecture trn2 is a "
            "NeuronCore-v3.");
}

TEST(QuantizeMxDemand, TakesFourElementsPerCycle) {
  InstructionBench bench(mx_architecture());
  const Demand demand = bench.demand(make(bench, 128, 64));
  ASSERT_EQ(demand.count, 1);
  EXPECT_EQ(demand.steps[0].elements, 256);
  EXPECT_EQ(demand.steps[0].rate, RateClass::kCopy16bit);
  EXPECT_EQ(load_architecture("trn3").rates[RateClass::kCopy16bit], 0.25);
}

}  // namespace
}  // namespace neuron_sim
