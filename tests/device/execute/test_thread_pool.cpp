#include "device/execute/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

TEST(ThreadPool, RunsTheJobOnceOnEveryThread) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (int repetition = 0; repetition < 50; ++repetition) {
      std::vector<std::atomic<int>> calls(static_cast<size_t>(threads));
      pool.run([&](int worker) { ++calls[static_cast<size_t>(worker)]; });
      for (const auto& count : calls) EXPECT_EQ(count, 1);
    }
  }
}

TEST(ThreadPool, RethrowsAnExceptionOfAnyThreadAndStaysUsable) {
  ThreadPool pool(3);
  for (int thrower = 0; thrower < 3; ++thrower) {
    EXPECT_THROW(pool.run([&](int worker) {
      if (worker == thrower) fail("a job failed.");
    }),
                 KernelError);
    std::atomic<int> calls = 0;
    pool.run([&](int) { ++calls; });
    EXPECT_EQ(calls, 3);
  }
  EXPECT_THROW(pool.run([](int) { fail("all failed."); }), KernelError);
}

TEST(ThreadPool, ServesSeveralHostThreadsInTurn) {
  ThreadPool pool(2);
  std::atomic<int> inside = 0, calls = 0, most = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int repetition = 0; repetition < 100; ++repetition) {
        pool.run([&](int) {
          const int now = ++inside;
          if (now > most) most = now;
          ++calls;
          --inside;
        });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(calls, 800);
  EXPECT_LE(most, 2);
}

TEST(ThreadPool, HasFrom1To256HostThreads) {
  for (const int threads : {0, -1, 257}) {
    try {
      set_host_threads(threads);
      FAIL() << threads;
    } catch (const KernelError& error) {
      EXPECT_EQ(std::string(error.what()),
                text("host threads must be 1 to 256, not ", threads, "."));
    }
  }
  set_host_threads(3);
  EXPECT_EQ(thread_pool().threads(), 3);
  set_host_threads(1);
  EXPECT_EQ(thread_pool().threads(), 1);
}

TEST(ThreadPool, ChangesItsSizeBetweenTwoJobs) {
  ThreadPool pool(2);
  std::atomic<int> most = 0, jobs = 0;
  std::atomic<bool> stop = false;
  std::vector<std::thread> callers;
  for (int i = 0; i < 2; ++i) {
    callers.emplace_back([&] {
      while (!stop) {
        std::atomic<int> calls = 0;
        pool.run([&](int worker) {
          ++calls;
          int seen = most;
          while (worker > seen && !most.compare_exchange_weak(seen, worker)) {
          }
        });
        EXPECT_GE(calls, 1);
        EXPECT_LE(calls, 5);
        ++jobs;
      }
    });
  }
  for (int change = 0; change < 200; ++change) {
    pool.resize(1 + change % 5);
    EXPECT_EQ(pool.threads(), 1 + change % 5);
  }
  while (jobs < 10) std::this_thread::yield();
  stop = true;
  for (std::thread& caller : callers) caller.join();
  EXPECT_LE(most, 4);
}

/// Exit status of `action` in a forked child; 99 after an exception.
template <typename Action>
int in_child(Action&& action) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    int status = 99;
    try {
      status = action();
    } catch (...) {
    }
    _exit(status);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ThreadPool, WorksInAForkedChild) {
  set_host_threads(3);
  thread_pool().run([](int) {});
  const int status = in_child([] {
    std::atomic<int> calls = 0;
    thread_pool().run([&](int) { ++calls; });
    return calls.load();
  });
  EXPECT_EQ(status, 3);
  std::atomic<int> calls = 0;
  thread_pool().run([&](int) { ++calls; });
  EXPECT_EQ(calls, 3);
}

/// A fresh process image: the environment is read at the first use of the pool.
int main_with(const char* value) {
  const std::string filter = "--gtest_filter=ThreadPoolEnvironment.DISABLED_Child";
  return in_child([&] {
    setenv("NEURON_SIM_THREADS", value, 1);
    for (const char* shard : {"GTEST_TOTAL_SHARDS", "GTEST_SHARD_INDEX"}) unsetenv(shard);
    execl("/proc/self/exe", "tests", filter.c_str(), "--gtest_also_run_disabled_tests",
          "--gtest_brief=1", static_cast<char*>(nullptr));
    return 98;
  });
}

// Exits with the number of threads, or 200 after the right error.
TEST(ThreadPoolEnvironment, DISABLED_Child) {
  try {
    _exit(thread_pool().threads());
  } catch (const KernelError& error) {
    const std::string expected = text("NEURON_SIM_THREADS is '", std::getenv("NEURON_SIM_THREADS"),
                                      "'; it must be a number from 1 to 256.");
    _exit(expected == error.what() ? 200 : 201);
  }
}

TEST(ThreadPoolEnvironment, TakesANumberFrom1To256) {
  EXPECT_EQ(main_with("1"), 1);
  EXPECT_EQ(main_with("7"), 7);
  for (const char* wrong : {"0", "257", "-1", "two", "2x", "1.5", "99999999999999999999"}) {
    EXPECT_EQ(main_with(wrong), 200) << wrong;
  }
}

}  // namespace
}  // namespace neuron_sim
