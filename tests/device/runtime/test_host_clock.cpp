#include "device/runtime/host_clock.h"

#include <gtest/gtest.h>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

/// Sets the cost of submission for one test.
struct SubmissionCost {
  explicit SubmissionCost(int64_t cost) { set_submission_cost({cost}); }
  ~SubmissionCost() { set_submission_cost({}); }
};

constexpr auto kDefault = Schedule::kDefaultStream;

TEST(HostClock, TimeThatTheProgramSpendsDelaysWhatItSubmitsLater) {
  Schedule device(host_clock());
  const int64_t begin = host_clock().now().count;
  EXPECT_EQ(device.submit(kDefault, Resource::kCore, {10}).end.count, begin + 10);
  spend_host_time({25});
  EXPECT_EQ(host_clock().now().count, begin + 25);
  EXPECT_EQ(device.submit(kDefault, Resource::kCore, {10}).start.count, begin + 25);
  EXPECT_THROW(spend_host_time({-1}), SimulatorBug);
}

TEST(HostClock, ShortSubmissionsHideBehindTheDevice) {
  const SubmissionCost cost(4);
  HostClock host;
  Schedule device(host);
  for (int64_t i = 0; i < 3; ++i) {
    const TimeSpan task = device.submit(kDefault, Resource::kCore, {10});
    EXPECT_EQ(task.start.count, 4 + 10 * i);
  }
  EXPECT_EQ(host.now().count, 12);
  EXPECT_EQ(device.synchronize().count, 34);
}

TEST(HostClock, LongSubmissionsKeepTheDeviceWaiting) {
  const SubmissionCost cost(15);
  HostClock host;
  Schedule device(host);
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(device.submit(kDefault, Resource::kCore, {10}).start.count, 15 * (i + 1));
  }
  EXPECT_EQ(device.synchronize().count, 55);
}

}  // namespace
}  // namespace neuron_sim
