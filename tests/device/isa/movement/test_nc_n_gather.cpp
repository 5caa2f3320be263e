#include "device/isa/movement/nc_n_gather.h"

#include <gtest/gtest.h>

#include "tests/device/isa/patterns.h"

namespace neuron_sim {
namespace {

constexpr Dtype kIndexType = Dtype::kUint32;

void fill_indices(InstructionBench& bench, const View& view, int64_t below, unsigned seed) {
  std::vector<double> values =
      random_values(view.partitions() * view.free_elements(), 0, static_cast<double>(below), seed);
  for (double& value : values) value = std::floor(value);
  bench.set(view, values);
}

std::vector<double> taken(const std::vector<double>& data, const std::vector<double>& indices,
                          size_t partitions) {
  const size_t columns = data.size() / partitions, count = indices.size() / partitions;
  std::vector<double> result;
  for (size_t i = 0; i < indices.size(); ++i) {
    result.push_back(data[i / count * columns + static_cast<size_t>(indices[i])]);
  }
  return result;
}

TEST(NcNGather, TakesElementsOfItsOwnPartitionForEveryDtypeAndSize) {
  for (const Dtype dtype : all_dtypes()) {
    for (const int64_t partitions : {1, 3, 128}) {
      for (const int64_t count : {1, 7, 513}) {
        InstructionBench bench;
        const View data = bench.tile(kSbuf, dtype, {partitions, 5, 9}, "data");
        fill_random(bench, data, 3, 0, 100);
        const View indices = bench.tile(kSbuf, kIndexType, {partitions, count}, "indices");
        fill_indices(bench, indices, 45, 5);
        const View dst = bench.tile(kSbuf, dtype, {partitions, 1, count}, "dst");
        bench.run(NcNGather{.dst = dst, .data = data, .indices = indices});
        expect_values(bench.get(dst),
                      taken(bench.get(data), bench.get(indices), static_cast<size_t>(partitions)));
      }
    }
  }
}

TEST(NcNGather, WorksOnEveryAccessPattern) {
  for (const Pattern data_pattern : source_patterns()) {
    for (const Pattern index_pattern : target_patterns()) {
      for (const Pattern dst_pattern : target_patterns()) {
        InstructionBench bench;
        const View data = pattern_view(bench, data_pattern, Dtype::kFloat16, "data");
        const View indices = pattern_view(bench, index_pattern, kIndexType, "indices");
        const View dst = pattern_view(bench, dst_pattern, Dtype::kFloat16, "dst");
        if (data_pattern == Pattern::kBroadcast) {
          bench.set(data, std::vector<double>(kPatternValues, 2.5));
        } else {
          fill_random(bench, data, 1);
        }
        fill_indices(bench, indices, kPatternElements, 2);
        bench.run(NcNGather{.dst = dst, .data = data, .indices = indices});
        expect_values(bench.get(dst),
                      taken(bench.get(data), bench.get(indices), kPatternPartitions));
      }
    }
  }
}

TEST(NcNGather, ReadsEverythingBeforeItWritesInPlaceAndKeepsBits) {
  InstructionBench bench;
  const View data = bench.tile(kSbuf, kFp32, {1, 4}, "data");
  bench.set_bits(data, {0x7fc00001, 0xffc00002, 0x80000000, 0x7f800000});
  const View indices = bench.tile(kSbuf, kIndexType, {1, 4}, "indices", {3, 2, 1, 0});
  bench.run(NcNGather{.dst = data, .data = data, .indices = indices});
  EXPECT_EQ(bench.bits(data),
            (std::vector<uint32_t>{0x7f800000, 0x80000000, 0xffc00002, 0x7fc00001}));
}

TEST(NcNGather, RefusesAnIndexOutOfBoundsAtRunTime) {
  InstructionBench bench;
  const View data = bench.tile(kSbuf, kFp32, {2, 20}, "data", random_values(40));
  const View indices = bench.tile(kSbuf, kIndexType, {2, 2}, "indices", {0, 19, 19, 0});
  const Draft draft =
      NcNGather{.dst = bench.tile(kSbuf, kFp32, {2, 2}, "dst"), .data = data, .indices = indices}
          .draft();
  bench.run(draft);
  for (const double outside : {20.0, 4294967295.0}) {
    bench.set(indices, {0, 19, 19, outside});
    try {
      bench.run(draft);
      FAIL();
    } catch (const KernelError& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kIndex);
      EXPECT_EQ(std::string(error.what()),
                text("Out-of-bound access for operand 'data' of 'nc_n_gather': index ",
                     static_cast<int64_t>(outside),
                     " in partition 1 exceed 20 elements per partition."));
    }
  }
}

TEST(NcNGather, ReportsWrongOperands) {
  InstructionBench bench;
  const auto error = [&](Dtype dst, Dtype index, int64_t count, int64_t partitions = 2,
                         MemoryKind memory = kSbuf) {
    return bench.error(
        NcNGather{.dst = bench.tile(kSbuf, dst, {2, 7}, "dst"),
                  .data = bench.tile(memory, kFp32, {2, 40}, "data"),
                  .indices = bench.tile(kSbuf, index, {partitions, count}, "indices")});
  };
  EXPECT_EQ(error(kFp32, kIndexType, 7), "");
  EXPECT_EQ(error(kFp32, kIndexType, 8),
            "number of elements per partition mismatch in parameters (dst[2, 7], indices[2, 8]) of "
            "'nc_n_gather'");
  EXPECT_EQ(error(kFp32, kIndexType, 7, 3),
            "number of partitions (dimension 0 size of a tile) mismatch in parameters (data[2, "
            "40], indices[3, 7]) of 'nc_n_gather'");
  EXPECT_EQ(error(kFp32, Dtype::kInt32, 7),
            "dtype int32 of operand 'indices' of 'nc_n_gather' is not supported; expected uint32.");
  EXPECT_EQ(error(Dtype::kUint32, kIndexType, 7),
            "dtype uint32 of operand 'dst' of 'nc_n_gather' is not supported; expected that of "
            "data, float32.");
  EXPECT_EQ(error(kFp32, kIndexType, 7, 2, kPsum),
            "Expected operand 'data' of 'nc_n_gather' to be in address space 'sbuf', but got a "
            "tile in 'psum' instead. The GpSimd engine cannot access PSUM.");
}

TEST(NcNGather, StartsOneIsaInstructionPer512Elements) {
  InstructionBench bench;
  const auto starts = [&](int64_t count) {
    const Demand demand =
        bench.demand(NcNGather{.dst = bench.tile(kSbuf, kFp32, {2, count}, "dst"),
                               .data = bench.tile(kSbuf, kFp32, {2, 40}, "data"),
                               .indices = bench.tile(kSbuf, kIndexType, {2, count}, "indices")});
    EXPECT_EQ(demand.count, 1);
    EXPECT_EQ(demand.steps[0].rate, RateClass::kGpSimdTwoInputs);
    EXPECT_EQ(demand.steps[0].elements, count);
    return demand.steps[0].starts;
  };
  EXPECT_EQ(starts(1), 1);
  EXPECT_EQ(starts(512), 1);
  EXPECT_EQ(starts(513), 2);
  EXPECT_EQ(starts(1024), 2);
  EXPECT_EQ(starts(1025), 3);
}

}  // namespace
}  // namespace neuron_sim
