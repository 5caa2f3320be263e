// DMA queues that overtake each other, against one engine that serves the packets of all queues in
// turn, followed packet by packet.

#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "device/timeline/engines/dma_engines.h"

namespace neuron_sim {
namespace {

constexpr Picoseconds ns(int64_t count) { return {count * 1000}; }
constexpr int kQueues = 3;

struct Job {
  int queue = 0;
  int64_t trigger = 0, packets = 0;  // ns; packets of 10 ns
  int64_t done = 0;                  // as predicted
};

/// Completion of every job when each turn serves one packet of the next queue that has any.
void serve_in_turn(std::vector<Job>& jobs) {
  std::array<std::deque<Job*>, kQueues> waiting;
  for (Job& job : jobs) waiting[static_cast<size_t>(job.queue)].push_back(&job);
  std::vector<int64_t> left;
  for (const Job& job : jobs) left.push_back(job.packets);
  int64_t time = 0;
  size_t served = 0, turn = 0, idle = 0;
  while (served < jobs.size()) {
    std::deque<Job*>& queue = waiting[turn++ % kQueues];
    if (queue.empty() || queue.front()->trigger > time) {
      if (++idle == kQueues) {  // nothing to do now
        ++time;
        idle = 0;
      }
      continue;
    }
    idle = 0;
    Job& job = *queue.front();
    time += 10;
    if (--left[static_cast<size_t>(&job - jobs.data())] == 0) {
      job.done = time;
      queue.pop_front();
      ++served;
    }
  }
}

/// Triggers of one queue are in order of time; queues follow each other in program order.
std::vector<Job> generate(uint32_t seed, int64_t spread) {
  std::mt19937 random(seed);
  std::array<int64_t, kQueues> time{};
  std::vector<Job> jobs;
  for (int i = 0; i < 20; ++i) {
    Job job;
    job.queue = static_cast<int>(random() % kQueues);
    int64_t& last = time[static_cast<size_t>(job.queue)];
    last += static_cast<int64_t>(random() % static_cast<uint32_t>(spread));
    job.trigger = last;
    job.packets = static_cast<int64_t>(random() % 20 + 1);
    jobs.push_back(job);
  }
  return jobs;
}

/// One engine; packets of 10 ns; no latencies.
std::vector<int64_t> simulated(const std::vector<Job>& jobs) {
  Architecture a = load_architecture("trn2");
  a.dma = {};
  a.dma.engines = 1;
  a.dma.packet = ns(10);
  a.dma.bytes_per_nanosecond = a.dma.hbm_bytes_per_nanosecond = 1e9;
  DmaEngines engines(a);
  std::vector<int64_t> done;
  for (const Job& job : jobs) {
    Step step{.unit = Unit::kDma, .elements = job.packets, .bytes = 1, .fragments = 1};
    const Span span = engines.transfer(step, static_cast<EngineKind>(job.queue), ns(job.trigger),
                                       ns(job.trigger));
    done.push_back(span.done.count / 1000);
  }
  return done;
}

TEST(OvertakingQueues, AreThroughAtTheSameTimeAsWithPacketsInTurn) {
  for (const int64_t spread : {50, 200, 1000}) {
    for (uint32_t seed = 0; seed < 50; ++seed) {
      auto jobs = generate(seed, spread);
      serve_in_turn(jobs);
      const auto done = simulated(jobs);
      int64_t last = 0, expected = 0;
      for (size_t i = 0; i < jobs.size(); ++i) {
        last = std::max(last, done[i]);
        expected = std::max(expected, jobs[i].done);
        EXPECT_GE(done[i], jobs[i].trigger + 10 * jobs[i].packets);
      }
      EXPECT_EQ(last, expected) << spread << ", " << seed;
    }
  }
}

TEST(OvertakingQueues, ATransferDiffersByNoMoreThanTheWorkItMeets) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    auto jobs = generate(seed, 1000);
    serve_in_turn(jobs);
    const auto done = simulated(jobs);
    for (size_t i = 0; i < jobs.size(); ++i) {
      // Work of other queues between its trigger and the later of the two completions.
      int64_t met = 0;
      const int64_t until = std::max(done[i], jobs[i].done);
      for (size_t j = 0; j < jobs.size(); ++j) {
        const int64_t from = std::min(jobs[i].trigger, jobs[j].trigger);
        const bool meets = jobs[j].trigger < until &&
                           std::max(done[j], jobs[j].done) > from + (jobs[i].trigger - from);
        if (j != i && meets) met += 10 * jobs[j].packets;
      }
      EXPECT_LE(std::abs(done[i] - jobs[i].done), met) << seed << ", " << i;
    }
  }
}

TEST(OvertakingQueues, OneThatComesEarlierInTimeButLaterInTheProgramGoesFirst) {
  const std::vector<Job> jobs = {{0, 500, 10, 0}, {1, 100, 10, 0}, {1, 450, 10, 0}};
  const std::vector<int64_t> done = simulated(jobs);
  EXPECT_EQ(done[0], 600);
  EXPECT_EQ(done[1], 200);
  EXPECT_EQ(done[2], 650);  // 50 before the first one and 50 after it
}

}  // namespace
}  // namespace neuron_sim
