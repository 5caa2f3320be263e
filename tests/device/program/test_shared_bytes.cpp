#include "device/program/shared_bytes.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

/// Every byte of an access, one by one: (partition, byte).
std::set<std::pair<int64_t, int64_t>> bytes_of(const Operand& operand, const Location& at) {
  std::set<std::pair<int64_t, int64_t>> result;
  const bool hbm = operand.memory == MemoryKind::kHbm;
  for (int64_t p = 0; p < operand.partitions; ++p)
    for (int64_t a = 0; a < operand.free[0].size; ++a)
      for (int64_t b = 0; b < operand.free[1].size; ++b)
        for (int64_t byte = 0; byte < itemsize(operand.dtype); ++byte) {
          const int64_t first = at.offset + a * operand.free[0].stride + b * operand.free[1].stride;
          result.insert(hbm ? std::pair{int64_t{0}, first + p * operand.partition_stride + byte}
                            : std::pair{at.partition + p * operand.partition_stride, first + byte});
        }
  return result;
}

TEST(SharedBytes, AreThoseOfAnEnumerationOfAllBytes) {
  std::mt19937 random(11);
  const auto pick = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  int sharing = 0;
  for (int round = 0; round < 3000; ++round) {
    Operand operands[2];
    Location at[2];
    for (int i = 0; i < 2; ++i) {
      Operand& operand = operands[i];
      operand.memory = round % 3 == 0 ? MemoryKind::kSbuf : MemoryKind::kHbm;
      operand.dtype = pick(0, 1) == 0 ? Dtype::kFloat32 : Dtype::kInt8;
      operand.rank = 2;
      operand.partitions = pick(1, 3);
      operand.partition_stride = operand.memory == MemoryKind::kSbuf ? pick(0, 1) : pick(-40, 40);
      for (int d = 0; d < 2; ++d) operand.free[static_cast<size_t>(d)] = {pick(1, 4), pick(-9, 30)};
      at[i] = {0, pick(0, 3), pick(100, 180)};
    }
    std::vector<std::pair<int64_t, int64_t>> common;
    const auto first = bytes_of(operands[0], at[0]), second = bytes_of(operands[1], at[1]);
    std::set_intersection(first.begin(), first.end(), second.begin(), second.end(),
                          std::back_inserter(common));
    const auto found = shared_bytes(operands[0], at[0], operands[1], at[1]);
    ASSERT_EQ(found.has_value(), !common.empty()) << round;
    if (!found) continue;
    ++sharing;
    int64_t lowest = common[0].second;
    for (const auto& [partition, byte] : common) lowest = std::min(lowest, byte);
    EXPECT_EQ(found->begin, lowest) << round;
    EXPECT_GT(found->end, found->begin);
  }
  EXPECT_GT(sharing, 500);
  EXPECT_LT(sharing, 2500);
}

}  // namespace
}  // namespace neuron_sim
