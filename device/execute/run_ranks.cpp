#include "device/execute/run_ranks.h"

#include <thread>

#include "device/base/errors.h"
#include "device/execute/executor.h"

namespace neuron_sim {
namespace {

ControlLog run_rank(const RankLaunch& launch, const RankMember& member) {
  const Program& program = *launch.program;
  std::vector<std::unique_ptr<CoreMemory>> memories;
  std::vector<CoreMemory*> pointers;
  for (size_t core = 0; core < program.cores.size(); ++core) {
    memories.push_back(std::make_unique<CoreMemory>(*program.architecture));
    pointers.push_back(memories.back().get());
  }
  return execute(program, make_plan(program), pointers, launch.arguments, thread_pool(), &member);
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
  for (size_t index = 1; index < launches.size(); ++index) threads.emplace_back(run, index);
  run(0);
  for (std::thread& thread : threads) thread.join();
  ranks.check();
  return logs;
}

}  // namespace neuron_sim
