#include "device/isa/movement/local_gather.h"

#include <gtest/gtest.h>

#include "tests/device/isa/patterns.h"

namespace neuron_sim {
namespace {

constexpr Dtype kIndexType = Dtype::kUint16;

/// What NumPy gives: the index slice of 16 partitions flattened in order 'F', then take().
std::vector<double> gathered(const std::vector<double>& source, const std::vector<double>& index,
                             int64_t partitions, int64_t valid, int64_t each) {
  const auto columns = static_cast<int64_t>(source.size()) / partitions;
  const auto entries = static_cast<int64_t>(index.size()) / partitions;
  std::vector<double> result;
  for (int64_t p = 0; p < partitions; ++p) {
    const int64_t first = p - p % 16;
    for (int64_t i = 0; i < valid; ++i) {
      const int64_t entry = (first + i % 16) * entries + i / 16;
      const auto start = static_cast<int64_t>(index[static_cast<size_t>(entry)]);
      for (int64_t j = 0; j < each; ++j) {
        result.push_back(source[static_cast<size_t>(p * columns + start + j)]);
      }
    }
  }
  return result;
}

std::vector<double> random_indices(int64_t count, int64_t below, unsigned seed) {
  std::vector<double> values = random_values(count, 0, static_cast<double>(below), seed);
  for (double& value : values) value = std::floor(value);
  return values;
}

TEST(LocalGather, TakesWhatNumPyTakesForEveryDtypeAndSize) {
  for (const Dtype dtype : all_dtypes()) {
    for (const int64_t each : {1, 2, 8, 32}) {
      for (const int64_t partitions : {16, 32, 128}) {
        InstructionBench bench;
        const View source = bench.tile(kSbuf, dtype, {partitions, 37}, "source");
        fill_random(bench, source, 3, 0, 100);
        const View index = bench.tile(kSbuf, kIndexType, {partitions, 3}, "index",
                                      random_indices(partitions * 3, 38 - each, 5));
        const View dst = bench.tile(kSbuf, dtype, {partitions, 48, each}, "dst");
        bench.run(LocalGather{
            .dst = dst, .src_buffer = source, .index = index, .num_elem_per_idx = each});
        expect_values(bench.get(dst),
                      gathered(bench.get(source), bench.get(index), partitions, 48, each));
      }
    }
  }
}

TEST(LocalGather, TakesOnlyTheValidIndicesAndLeavesOthersUnread) {
  for (const int64_t valid : {1, 15, 16, 17, 31}) {
    InstructionBench bench;
    const View source = bench.tile(kSbuf, kFp32, {32, 9}, "source", random_values(32 * 9));
    std::vector<double> indices = random_indices(64, 9, 7);
    for (int64_t core = 0; core < 2; ++core) {  // entries that are not valid are out of bounds
      for (int64_t i = valid; i < 32; ++i) {
        indices[static_cast<size_t>((core * 16 + i % 16) * 2 + i / 16)] = 60000;
      }
    }
    const View index = bench.tile(kSbuf, kIndexType, {32, 2}, "index", indices);
    const View dst = bench.tile(kSbuf, kFp32, {32, valid}, "dst");
    bench.run(
        LocalGather{.dst = dst, .src_buffer = source, .index = index, .num_valid_indices = valid});
    expect_values(bench.get(dst), gathered(bench.get(source), indices, 32, valid, 1));
  }
}

TEST(LocalGather, KeepsBitsAndReadsStridedAndBroadcastPatterns) {
  InstructionBench bench;
  const View wide = bench.tile(kSbuf, kFp32, {128, 6, 4}, "wide");
  std::vector<uint32_t> bits(128 * 24);
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = 0x7f800001U + static_cast<uint32_t>(i);  // NaN
  bench.set_bits(wide, bits);
  const View source = wide.slice(0, 64, 16).permute({0, 2, 1});
  const View index =
      bench.tile(kSbuf, kIndexType, {16, 1}, "index", random_indices(16, 24, 9)).broadcast(1, 2);
  const View dst = bench.tile(kSbuf, kFp32, {16, 70}, "dst").slice(1, 3, 32, 2);
  bench.run(LocalGather{.dst = dst, .src_buffer = source, .index = index});
  const std::vector<uint32_t> read = bench.bits(source), written = bench.bits(dst);
  const std::vector<double> indices = bench.get(index);
  for (size_t p = 0; p < 16; ++p) {
    for (size_t i = 0; i < 32; ++i) {
      const auto start = static_cast<size_t>(indices[i % 16 * 2 + i / 16]);
      EXPECT_EQ(written[p * 32 + i], read[p * 24 + start]);
    }
  }
}

TEST(LocalGather, RefusesAnIndexOutOfBoundsAtRunTime) {
  for (const int64_t each : {1, 4}) {
    InstructionBench bench;
    const View source = bench.tile(kSbuf, kFp32, {16, 20}, "source", random_values(320));
    const View index = bench.tile(kSbuf, kIndexType, {16, 1}, "index");
    const View dst = bench.tile(kSbuf, kFp32, {16, 16 * each}, "dst");
    const Draft draft =
        LocalGather{.dst = dst, .src_buffer = source, .index = index, .num_elem_per_idx = each}
            .draft();
    std::vector<double> indices(16, 0);
    indices[5] = static_cast<double>(20 - each);
    bench.set(index, indices);
    bench.run(draft);
    indices[5] += 1;
    bench.set(index, indices);
    try {
      bench.run(draft);
      FAIL();
    } catch (const KernelError& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kIndex);
      EXPECT_EQ(std::string(error.what()),
                each == 1 ? "Out-of-bound access for operand 'src_buffer' of 'local_gather': index "
                            "20 in partition 5 exceed 20 elements per partition."
                          : "Out-of-bound access for operand 'src_buffer' of 'local_gather': index "
                            "17 for 4 elements in partition 5 exceed 20 elements per partition.");
    }
  }
}

TEST(LocalGather, ReportsWrongOperands) {
  InstructionBench bench;
  struct Case {
    int64_t partitions = 16, entries = 1, each = 1, results = 16;
    std::optional<int64_t> valid{};
    Dtype index = kIndexType, dst = kFp32;
    MemoryKind memory = kSbuf;
  };
  const auto error = [&](const Case& c) {
    return bench.error(
        LocalGather{.dst = bench.tile(kSbuf, c.dst, {c.partitions, c.results}, "dst"),
                    .src_buffer = bench.tile(c.memory, kFp32, {c.partitions, 40}, "src"),
                    .index = bench.tile(kSbuf, c.index, {c.partitions, c.entries}, "index"),
                    .num_elem_per_idx = c.each,
                    .num_valid_indices = c.valid});
  };
  EXPECT_EQ(error({}), "");
  EXPECT_EQ(error({.partitions = 24}),
            "number of partitions 24 of operand 'src_buffer' of 'local_gather' must be a multiple "
            "of 16, the partitions of a GpSimd core of architecture trn2.");
  EXPECT_EQ(error({.each = 32, .results = 512}), "");
  EXPECT_EQ(error({.each = 64, .results = 1024}),
            "num_elem_per_idx 64 of 'local_gather' is not supported; expected 1, 2, 4, 8, 16 or "
            "32.");
  EXPECT_EQ(error({.each = 3, .results = 48}),
            "num_elem_per_idx 3 of 'local_gather' is not supported; expected 1, 2, 4, 8, 16 or "
            "32.");
  EXPECT_EQ(error({.results = 17, .valid = 17}),
            "num_valid_indices 17 of 'local_gather' must be 1 to 16, the indices in 16 partitions "
            "of operand 'index' (index[16, 1]).");
  EXPECT_EQ(error({.results = 1, .valid = 0}),
            "num_valid_indices 0 of 'local_gather' must be 1 to 16, the indices in 16 partitions "
            "of operand 'index' (index[16, 1]).");
  EXPECT_EQ(error({.entries = 256, .results = 4096}), "");
  EXPECT_EQ(error({.entries = 257, .results = 4096, .valid = 4096}), "");
  EXPECT_EQ(error({.entries = 257, .results = 4097, .valid = 4097}),
            "number of indices per GpSimd core 4097 of 'local_gather' exceed architecture "
            "limitation of 4096 (architecture trn2).");
  EXPECT_EQ(error({.results = 15}),
            "operand 'dst' of 'local_gather' (dst[16, 15]) must have 16 elements per partition: 16 "
            "indices of 1 elements.");
  EXPECT_EQ(error({.index = Dtype::kUint32}),
            "dtype uint32 of operand 'index' of 'local_gather' is not supported; expected uint16.");
  EXPECT_EQ(error({.dst = Dtype::kInt32}),
            "dtype int32 of operand 'dst' of 'local_gather' is not supported; expected that of "
            "src_buffer, float32.");
  EXPECT_EQ(error({.memory = kPsum}),
            "Expected operand 'src_buffer' of 'local_gather' to be in address space 'sbuf', but "
            "got a tile in 'psum' instead. The GpSimd engine cannot access PSUM.");
}

TEST(LocalGather, DemandsTheDocumentedSteps) {
  InstructionBench bench;
  const auto steps = [&](Dtype dtype, int64_t each) {
    const Demand demand =
        bench.demand(LocalGather{.dst = bench.tile(kSbuf, dtype, {16, 64 * each}, "dst"),
                                 .src_buffer = bench.tile(kSbuf, dtype, {16, 99}, "src"),
                                 .index = bench.tile(kSbuf, kIndexType, {16, 4}, "index"),
                                 .num_elem_per_idx = each});
    EXPECT_EQ(demand.count, 1);
    EXPECT_EQ(demand.steps[0].rate, RateClass::kGpSimdStep);
    return static_cast<double>(demand.steps[0].elements);
  };
  const auto documented = [](double itemsize, double e) {
    const double c = ((28 + 4 * e) / (4 * e)) / std::min(4 / itemsize, e);
    return std::ceil(64 * e / c);
  };
  for (const double e : {1, 2, 4, 8, 16, 32}) {
    EXPECT_EQ(steps(kFp32, static_cast<int64_t>(e)), documented(4, e)) << e;
    EXPECT_EQ(steps(kBf16, static_cast<int64_t>(e)), documented(2, e)) << e;
    EXPECT_EQ(steps(Dtype::kUint8, static_cast<int64_t>(e)), documented(1, e)) << e;
  }
}

}  // namespace
}  // namespace neuron_sim
