#include "device/runtime/schedule.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

constexpr auto kDefault = Schedule::kDefaultStream;

TimeSpan span(int64_t start, int64_t end) { return {{start}, {end}}; }

TEST(Schedule, TasksOfOneStreamFollowEachOther) {
  HostClock host;
  Schedule device(host);
  EXPECT_EQ(device.submit(kDefault, Resource::kCore, {10}), span(0, 10));
  EXPECT_EQ(device.submit(kDefault, Resource::kHostToDevice, {5}), span(10, 15));
  EXPECT_EQ(device.submit(kDefault, Resource::kDeviceToHost, {0}), span(15, 15));
  EXPECT_EQ(device.now().count, 15);
  EXPECT_EQ(host.now().count, 0);  // nobody waited
}

TEST(Schedule, ProgramsOfTwoStreamsNeverOverlapButCopiesDo) {
  HostClock host;
  Schedule device(host);
  const auto other = device.create_stream();
  EXPECT_EQ(device.submit(kDefault, Resource::kCore, {10}), span(0, 10));
  EXPECT_EQ(device.submit(other, Resource::kHostToDevice, {4}), span(0, 4));
  EXPECT_EQ(device.submit(other, Resource::kCore, {1}), span(10, 11));
  const auto third = device.create_stream();
  EXPECT_EQ(device.submit(third, Resource::kHostToDevice, {2}), span(4, 6));
  EXPECT_EQ(device.submit(third, Resource::kDeviceToHost, {2}), span(6, 8));
}

TEST(Schedule, AnEventBlocksAnotherStreamUntilExactlyItsTime) {
  HostClock host;
  Schedule device(host);
  const auto other = device.create_stream();
  device.submit(kDefault, Resource::kCore, {10});
  const Picoseconds event = device.record(kDefault);
  device.submit(kDefault, Resource::kCore, {90});
  device.block(other, event);
  EXPECT_EQ(device.submit(other, Resource::kHostToDevice, {1}), span(10, 11));
  device.block(other, {3});  // in the past: no effect
  EXPECT_EQ(device.submit(other, Resource::kHostToDevice, {1}), span(11, 12));
}

TEST(Schedule, WaitingForTheDeviceIncludesStreamsThatWait) {
  HostClock host;
  Schedule device(host);
  device.block(kDefault, {30});
  EXPECT_EQ(device.synchronize().count, 30);
}

TEST(Schedule, ABlockedStreamDoesNotHoldTheResourceBeforeItStarts) {
  HostClock host;
  Schedule device(host);
  const auto other = device.create_stream();
  device.block(other, {100});
  EXPECT_EQ(device.submit(kDefault, Resource::kCore, {10}), span(0, 10));
  EXPECT_EQ(device.submit(other, Resource::kCore, {1}), span(100, 101));
}

TEST(Schedule, WorkSubmittedAfterAWaitStartsAfterItOnEveryDevice) {
  HostClock host;
  Schedule first(host), second(host);
  first.submit(kDefault, Resource::kCore, {50});
  EXPECT_EQ(second.submit(kDefault, Resource::kCore, {1}), span(0, 1));
  EXPECT_EQ(first.synchronize().count, 50);
  EXPECT_EQ(second.submit(kDefault, Resource::kCore, {1}), span(50, 51));
  EXPECT_EQ(second.now().count, 51);
}

TEST(Schedule, WaitingForOneStreamDoesNotWaitForAnother) {
  HostClock host;
  Schedule device(host);
  const auto other = device.create_stream();
  device.submit(kDefault, Resource::kCore, {50});
  device.submit(other, Resource::kHostToDevice, {7});
  EXPECT_EQ(device.synchronize(other).count, 7);
  EXPECT_EQ(device.synchronize(kDefault).count, 50);
}

TEST(Schedule, AnEventOnAnIdleStreamFiresAtTheHostsTime) {
  HostClock host;
  Schedule device(host);
  EXPECT_EQ(device.record(kDefault).count, 0);
  host.wait_until({42});
  EXPECT_EQ(device.record(device.create_stream()).count, 42);
  EXPECT_EQ(device.now().count, 42);
}

TEST(Schedule, TheHostClockNeverGoesBack) {
  HostClock host;
  host.wait_until({5});
  host.wait_until({3});
  EXPECT_EQ(host.now().count, 5);
}

TEST(Schedule, NegativeDurationsAreABug) {
  HostClock host;
  Schedule device(host);
  EXPECT_THROW(device.submit(kDefault, Resource::kCore, {-1}), SimulatorBug);
}

TEST(Schedule, ThreadsLoseNoTask) {
  HostClock host;
  Schedule device(host);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const auto stream = device.create_stream();
      for (int task = 0; task < 1000; ++task) device.submit(stream, Resource::kCore, {1});
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(device.now().count, 4000);  // one core: the sum of all
}

}  // namespace
}  // namespace neuron_sim
