#include "device/compiler/tiles/live_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace neuron_sim {
namespace {

TEST(LiveBytes, TheLargestAmountOfARangeIsThatOfAPlainArray) {
  std::mt19937 random(3);
  for (const size_t count : {1, 2, 37, 64}) {
    LiveBytes live(count);
    std::vector<int64_t> plain(count);
    for (int step = 0; step < 400; ++step) {
      const size_t first = random() % count, last = first + random() % (count - first);
      if (step % 2 == 0) {
        const int64_t amount = static_cast<int64_t>(random() % 100) - 40;
        live.add(first, last, amount);
        for (size_t i = first; i <= last; ++i) plain[i] += amount;
      } else {
        EXPECT_EQ(live.largest(first, last),
                  *std::max_element(plain.begin() + static_cast<std::ptrdiff_t>(first),
                                    plain.begin() + static_cast<std::ptrdiff_t>(last) + 1));
      }
    }
  }
}

TEST(LiveBytes, AnEmptyRangeHoldsNothing) {
  LiveBytes live(8);
  live.add(5, 4, 100);
  EXPECT_EQ(live.largest(0, 7), 0);
  live.add(0, 7, -1);
  EXPECT_EQ(live.largest(3, 2), 0);
  EXPECT_EQ(live.largest(3, 3), -1);
}

}  // namespace
}  // namespace neuron_sim
