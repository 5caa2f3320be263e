#include "device/memory/write_watch.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

namespace neuron_sim {
namespace {

class WriteWatches : public ::testing::Test {
 protected:
  HostBytes bytes(size_t begin, size_t end) const {
    return {memory_.data() + begin, memory_.data() + end};
  }

 private:
  std::array<std::byte, 1000> memory_{};
};

TEST_F(WriteWatches, TakeAWriteOnceAndTheFirstTimeAlways) {
  WriteWatch watch(bytes(100, 200));
  EXPECT_TRUE(watch.take_written());
  EXPECT_FALSE(watch.take_written());
  note_write(bytes(150, 160));
  EXPECT_TRUE(watch.take_written());
  EXPECT_FALSE(watch.take_written());
}

TEST_F(WriteWatches, SeeWritesThatTouchTheirFirstOrLastByte) {
  WriteWatch watch(bytes(100, 200));
  watch.take_written();
  for (const auto& [begin, end, touches] : {std::tuple{0, 100, false},
                                            {0, 101, true},
                                            {199, 200, true},
                                            {200, 300, false},
                                            {0, 1000, true},
                                            {150, 150, false}}) {
    note_write(bytes(static_cast<size_t>(begin), static_cast<size_t>(end)));
    EXPECT_EQ(watch.take_written(), touches) << begin << " to " << end;
  }
}

TEST_F(WriteWatches, OfManyRangesSeeTheirOwnWrites) {
  // Short ones, long ones over them, and two of the same bytes.
  std::vector<HostBytes> ranges{bytes(0, 1000), bytes(300, 700), bytes(300, 700)};
  for (size_t i = 0; i < 100; ++i) ranges.push_back(bytes(10 * i, 10 * i + 7));
  std::vector<std::unique_ptr<WriteWatch>> watches;
  for (const HostBytes& range : ranges) watches.push_back(std::make_unique<WriteWatch>(range));
  for (const auto& watch : watches) watch->take_written();
  for (const auto& [begin, end] : {std::pair<size_t, size_t>{305, 306}, {8, 9}, {690, 745}}) {
    note_write(bytes(begin, end));
    for (const auto& watch : watches) {
      EXPECT_EQ(watch->take_written(), watch->bytes().overlaps(bytes(begin, end)));
    }
  }
}

TEST_F(WriteWatches, EndWithTheirObjects) {
  auto gone = std::make_unique<WriteWatch>(bytes(0, 10));
  WriteWatch stays(bytes(0, 10));
  stays.take_written();
  gone.reset();
  note_write(bytes(0, 10));
  EXPECT_TRUE(stays.take_written());
}

TEST_F(WriteWatches, CountMemoryThatIsOpenForWritingAsWrittenAtAnyTime) {
  WriteWatch watch(bytes(100, 200)), other(bytes(300, 400));
  {
    const OpenForWriting open(bytes(150, 250)), again(bytes(150, 250));
    EXPECT_TRUE(watch.take_written());
    EXPECT_TRUE(watch.take_written());
    other.take_written();
    EXPECT_FALSE(other.take_written());
  }
  EXPECT_TRUE(watch.take_written());  // by the end of it
  EXPECT_FALSE(watch.take_written());
  EXPECT_FALSE(other.take_written());
}

}  // namespace
}  // namespace neuron_sim
