#pragma once
// Several ranks side by side: the same program, or different ones, on their own cores.

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "device/program/control_log.h"
#include "device/program/program.h"

namespace neuron_sim {

/// What one rank runs: `arguments` as of execute().
struct RankLaunch {
  std::shared_ptr<const Program> program;
  std::vector<std::byte*> arguments;
};

/// Runs rank i = `launches[i]` of every rank, each on its own host thread and memories;
/// they meet at their collectives. Returns what each rank's control flow decided. The bytes are the
/// same for any number of host threads. KernelError: the one of the smallest rank that failed, or
/// that the ranks deadlock; the outputs are then unspecified.
std::vector<ControlLog> run_ranks(std::span<const RankLaunch> launches);

}  // namespace neuron_sim
