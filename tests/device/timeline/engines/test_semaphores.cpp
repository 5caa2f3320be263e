#include "device/timeline/engines/semaphores.h"

#include <gtest/gtest.h>

namespace neuron_sim {
namespace {

constexpr Picoseconds ns(int64_t count) { return {count * 1000}; }
constexpr EngineKind kVector = EngineKind::kVector;
constexpr Slot kFromTensor = slot_of(EngineKind::kTensor);
constexpr Slot kFromScalar = slot_of(EngineKind::kScalar);
constexpr Slot kFromVector = slot_of(EngineKind::kVector);
constexpr Slot kFromQueue = queue_of(EngineKind::kGpSimd);

/// Vector wakes 10 ns after Tensor, 20 after Scalar, 5 after a DMA and 7 after itself; a further
/// wait costs 100 and shows for 30.
Architecture round_numbers() {
  Architecture a = load_architecture("trn2");
  a.semaphore = {};
  a.semaphore.wake[0][1] = ns(10);
  a.semaphore.wake[2][1] = ns(20);
  a.semaphore.wake[5][1] = ns(5);
  a.semaphore.same_engine = ns(7);
  a.semaphore.extra_wait[1] = ns(100);
  a.semaphore.extra_wait_shown[1] = ns(30);
  return a;
}

class SemaphoresTest : public ::testing::Test {
 protected:
  Picoseconds start(std::initializer_list<std::pair<Slot, int64_t>> needed, int64_t ready) {
    Waits waits;
    for (const auto& [slot, completion] : needed) {
      if (!semaphores.known(kVector, slot, ns(completion))) waits.need(slot, ns(completion));
    }
    return semaphores.start(kVector, waits, ns(ready));
  }

  Architecture architecture = round_numbers();
  Semaphores semaphores{architecture};
};

TEST_F(SemaphoresTest, OneWaitEndsAtTheWakeUpAndNotBefore) {
  for (const int64_t ready : {509, 510, 511}) {
    Semaphores fresh(architecture);
    Waits waits;
    waits.need(kFromTensor, ns(500));
    EXPECT_EQ(fresh.start(kVector, waits, ns(ready)), ns(std::max<int64_t>(ready, 510)));
    EXPECT_TRUE(fresh.events().empty());
  }
}

TEST_F(SemaphoresTest, TheInstructionWaitsForTheLowestNumberAndAnotherOneForTheRest) {
  // Scalar's semaphore stands before Tensor's: Tensor's has an instruction of its own.
  EXPECT_EQ(start({{kFromTensor, 500}, {kFromScalar, 300}}, 0), ns(610));
  ASSERT_EQ(semaphores.events().size(), 1u);
  EXPECT_EQ(semaphores.events()[0].start, ns(510));
  EXPECT_EQ(semaphores.events()[0].done, ns(540));
  EXPECT_EQ(semaphores.events()[0].end, ns(610));
}

TEST_F(SemaphoresTest, AWaitInstructionThatIsOverInTimeCostsNothing) {
  for (const int64_t scalar : {589, 590, 591}) {  // visible 20 ns later; the other is over at 610
    Semaphores fresh(architecture);
    Waits waits;
    waits.need(kFromTensor, ns(500));
    waits.need(kFromScalar, ns(scalar));
    EXPECT_EQ(fresh.start(kVector, waits, ns(0)), ns(std::max<int64_t>(610, scalar + 20)));
  }
}

TEST_F(SemaphoresTest, EveryTransferHasASemaphoreOfItsOwnButAnEngineHasOne) {
  EXPECT_EQ(start({{kFromQueue, 100}, {kFromQueue, 400}, {kFromQueue, 400}}, 0), ns(505));
  EXPECT_EQ(semaphores.events().size(), 1u);
  EXPECT_EQ(start({{kFromTensor, 600}, {kFromTensor, 700}}, 0), ns(710));
  EXPECT_TRUE(semaphores.events().empty());
}

TEST_F(SemaphoresTest, ItsOwnResultIsAWaitToo) {
  EXPECT_EQ(start({{kFromVector, 200}}, 0), ns(207));
  EXPECT_EQ(start({{kFromVector, 300}, {kFromTensor, 250}}, 0), ns(407));
}

TEST_F(SemaphoresTest, AValueThatWasWaitedForIsKnown) {
  start({{kFromTensor, 500}}, 0);
  EXPECT_EQ(start({{kFromTensor, 500}}, 511), ns(511));
  EXPECT_EQ(start({{kFromTensor, 499}, {kFromScalar, 600}}, 511), ns(620));
  EXPECT_TRUE(semaphores.events().empty());
  EXPECT_TRUE(semaphores.known(kVector, kFromTensor, ns(500)));
  EXPECT_FALSE(semaphores.known(kVector, kFromTensor, ns(501)));
  EXPECT_FALSE(semaphores.known(EngineKind::kGpSimd, kFromTensor, ns(500)));
}

TEST_F(SemaphoresTest, WaitingForATransferDoesNotCoverAnEarlierOne) {
  architecture.semaphore.queue_set = 2;
  Semaphores two(architecture);
  const auto wait_for = [&](int64_t completion) {
    Waits waits;
    waits.need(kFromQueue, ns(completion));
    two.start(kVector, waits, ns(0));
  };
  wait_for(300);
  EXPECT_TRUE(two.known(kVector, kFromQueue, ns(300)));
  EXPECT_FALSE(two.known(kVector, kFromQueue, ns(200)));
  EXPECT_FALSE(two.known(EngineKind::kGpSimd, kFromQueue, ns(300)));
  EXPECT_FALSE(two.known(kVector, queue_of(EngineKind::kSync), ns(300)));
  wait_for(200);
  EXPECT_TRUE(two.known(kVector, kFromQueue, ns(200)));
  EXPECT_FALSE(two.known(kVector, kFromQueue, ns(250)));
  wait_for(400);  // reuses the semaphore of the transfer that completed at 300
  EXPECT_TRUE(two.known(kVector, kFromQueue, ns(250)));
  EXPECT_TRUE(two.known(kVector, kFromQueue, ns(300)));
  EXPECT_FALSE(two.known(kVector, kFromQueue, ns(301)));
}

TEST_F(SemaphoresTest, WaitingForATransferCoversAllEarlierOnesOfAQueueWithoutSemaphores) {
  start({{kFromQueue, 300}}, 0);
  EXPECT_TRUE(semaphores.known(kVector, kFromQueue, ns(299)));
  EXPECT_FALSE(semaphores.known(kVector, kFromQueue, ns(301)));
}

TEST_F(SemaphoresTest, WaitsForMoreTransfersThanItCanTellApart) {
  Waits waits;
  for (int64_t i = 1; i <= 40; ++i) waits.need(kFromQueue, ns(1000 * i));
  waits.need(kFromTensor, ns(50000));
  EXPECT_LE(waits.count(), Waits::kMaximum);
  EXPECT_GE(semaphores.start(kVector, waits, ns(0)), ns(50005));
}

}  // namespace
}  // namespace neuron_sim
