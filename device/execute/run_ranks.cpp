#include "device/execute/run_ranks.h"

#include "device/base/errors.h"
#include "device/execute/executor.h"

namespace neuron_sim {
namespace {

ControlLog run_rank(const RankLaunch& launch, const RankMember& member) {
  const Program& program = *launch.program;
  const ProgramMemories memories(program);
  return execute(program, make_plan(program), memories.all(), launch.arguments, thread_pool(),
                 &member);
}

}  // namespace

std::vector<ControlLog> run_ranks(std::span<const RankLaunch> launches) {
  require(!launches.empty(), "at least one rank runs");
  RankRendezvous ranks(static_cast<int64_t>(launches.size()));
  std::vector<ControlLog> logs(launches.size());
  const auto run = [&](size_t index) {
    const auto rank = static_cast<int64_t>(index);
    try {
      logs[index] = run_rank(launches[index], {&ranks, rank});
      ranks.leave(rank);
    } catch (...) {
      ranks.abandon(rank);
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(launches.size());
  try {
    for (size_t index = 1; index < launches.size(); ++index) {
      threads.push_back(start_thread([&run, index] { run(index); }));
    }
  } catch (...) {
    ranks.abandon(static_cast<int64_t>(threads.size()) + 1);  // the others do not wait for it
  }
  run(0);
  for (std::thread& thread : threads) thread.join();
  ranks.check();
  return logs;
}

}  // namespace neuron_sim
