// What takes long gives up when the caller's check asks for it, and works again afterwards.

#include "device/base/interruption.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "device/builder/builder.h"
#include "device/compiler/passes.h"
#include "device/isa/dma/dma_copy.h"
#include "device/timeline/timeline.h"
#include "tests/device/execute/run_program.h"

namespace neuron_sim {
namespace {

using std::chrono::steady_clock;

class Asked : public Interruption {
 public:
  void raise() override {}
};

std::atomic<int> checks{0};
std::atomic<int> checks_until_raised{0};

void check() {
  if (++checks >= checks_until_raised) throw Asked();
}

/// Installs a check that throws from its n-th call on, while it lives.
class ScopedCheck {
 public:
  explicit ScopedCheck(int calls) {
    checks = 0;
    checks_until_raised = calls;
    set_interruption_check(check);
  }
  ~ScopedCheck() { set_interruption_check(nullptr); }
  ScopedCheck(const ScopedCheck&) = delete;
  ScopedCheck& operator=(const ScopedCheck&) = delete;
};

/// `in` copied to `out` so many times, through a ring of tiles.
std::shared_ptr<const Program> copying(int64_t times, int64_t columns, int ring, bool is_loop) {
  Builder builder("copying", load_architecture("trn2"));
  const View in = builder.argument("in", {128, columns}, Dtype::kFloat32);
  const View out = builder.argument("out", {128, columns}, Dtype::kFloat32);
  const View tiles = builder.sbuf("tile", {128, columns}, Dtype::kFloat32, ring);
  const auto body = [&](const Affine& i) {
    const View tile = tiles.turn(i);
    builder.emit(DmaCopy{.dst = tile, .src = in});
    builder.emit(DmaCopy{.dst = out, .src = tile});
  };
  if (is_loop) {
    builder.loop(times, body);
  } else {  // which the timeline cannot skip
    for (int64_t i = 0; i < times; ++i) body(Affine(i));
  }
  return builder.finish();
}

double seconds_since(steady_clock::time_point start) {
  return std::chrono::duration<double>(steady_clock::now() - start).count();
}

TEST(Interruption, PollsCallTheCheckOnceAnInterval) {
  const ScopedCheck scope(INT_MAX);
  const auto start = steady_clock::now();
  while (checks < 4 && seconds_since(start) < 60) poll_interruption();
  EXPECT_EQ(checks, 4);
  // The first is due at once; the clock of the polls lags by some milliseconds.
  EXPECT_GE(steady_clock::now() - start, 5 * kInterruptionInterval / 2);
}

TEST(Interruption, WithoutACheckNothingIsInterrupted) {
  const auto start = steady_clock::now();
  while (seconds_since(start) < 0.12) poll_interruption();
  check_interruption();
}

class RunOnThreads : public testing::TestWithParam<int> {};

TEST_P(RunOnThreads, ARunEndsSoonAndTheNextOneIsRight) {
  ThreadPool pool(GetParam());
  ProgramRun run(copying(3000, 512, 4, true));
  run.randomise(1);
  ExecutionPlan plan = make_plan(run.program());
  {
    const ScopedCheck scope(1);
    const auto start = steady_clock::now();
    EXPECT_THROW(
        {
          while (seconds_since(start) < 60) run.execute(plan, pool);
        },
        Interruption);
    EXPECT_LT(seconds_since(start), 10);
  }
  run.execute(plan, pool);
  EXPECT_EQ(run.bytes()[0], run.bytes()[1]);
}

INSTANTIATE_TEST_SUITE_P(Interruption, RunOnThreads, testing::Values(1, 2, 4));

/// `action` again and again, until it is interrupted.
template <typename Action>
void expect_interrupted(Action action) {
  const ScopedCheck scope(1);
  const auto start = steady_clock::now();
  EXPECT_THROW(
      {
        while (seconds_since(start) < 60) action();
      },
      Interruption);
}

TEST(Interruption, EndsSimulationsAndPlansAndPasses) {
  const auto program = copying(500, 64, 1, false);
  const Picoseconds before = simulate(*program).body;
  expect_interrupted([&] { simulate(*program); });
  expect_interrupted([&] { make_plan(*program); });
  const PassSettings settings{{"rename_buffers", 1}, {"schedule", 1}, {"reuse_loads", 1}};
  expect_interrupted([&] { compile(program, settings); });
  EXPECT_EQ(simulate(*program).body, before);
  EXPECT_NE(compile(program, settings).program, nullptr);
}

TEST(Interruption, EndsTheWaitForALock) {
  std::timed_mutex mutex;
  mutex.lock();
  std::atomic<bool> interrupted = false;
  const ScopedCheck scope(2);
  std::thread([&] {
    try {
      interruptible_lock(mutex);
    } catch (const Interruption&) {
      interrupted = true;
    }
  }).join();
  EXPECT_TRUE(interrupted);
  mutex.unlock();
  EXPECT_TRUE(interruptible_lock(mutex).owns_lock());
}

TEST(Interruption, EndsTheWaitForACondition) {
  std::mutex mutex;
  std::condition_variable condition;
  std::unique_lock lock(mutex);
  {
    const ScopedCheck scope(2);
    EXPECT_THROW(interruptible_wait(condition, lock, [] { return false; }), Interruption);
    EXPECT_TRUE(lock.owns_lock());
  }
  bool done = false;
  std::thread other([&] {
    const std::lock_guard inside(mutex);
    done = true;
    condition.notify_all();
  });
  interruptible_wait(condition, lock, [&] { return done; });
  other.join();
}

TEST(Interruption, ADefaultCheckGivesWayToAnInstalledOne) {
  static std::atomic<int> asked{0};
  asked = 0;
  const auto standard = [] { ++asked; };
  {
    const ScopedCheck scoped(1000);
    set_default_interruption_check(standard);
    check_interruption();
    EXPECT_EQ(asked, 0);
    EXPECT_EQ(checks, 1);
  }
  set_default_interruption_check(standard);
  check_interruption();
  EXPECT_EQ(asked, 1);
  set_interruption_check(nullptr);
}

}  // namespace
}  // namespace neuron_sim
