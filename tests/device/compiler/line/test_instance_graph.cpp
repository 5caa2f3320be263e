#include "device/compiler/line/instance_graph.h"

#include <gtest/gtest.h>

#include "tests/device/compiler/compare_runs.h"
#include "tests/device/compiler/two_core_kernel.h"
#include "tests/device/program/random_program.h"

namespace neuron_sim {
namespace {

/// The graph that the executor builds of the program.
InstanceGraph graph_of_program(const Program& program) {
  GraphBuilder builder(program);
  const std::array<int64_t, kMaximumLoopDepth> variables{};
  for (uint32_t i = 0; i < program.instructions.size(); ++i) builder.add(i, variables.data());
  return builder.take();
}

void expect_same(const InstanceGraph& graph, const InstanceGraph& expected) {
  EXPECT_EQ(graph.waits, expected.waits);
  EXPECT_EQ(graph.first_successor, expected.first_successor);
  EXPECT_EQ(graph.successors, expected.successors);
}

std::vector<int64_t> own_addresses(const StraightLine& line) {
  return std::vector<int64_t>(line.tiles.size(), -1);
}

TEST(InstanceGraph, IsThatOfTheProgramThatTheLineBecomes) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const auto program = RandomProgram(seed, load_architecture("trn2"), {.blocks = 6}).build();
    const StraightLine line = *unroll(*program).line;
    expect_same(instance_graph(line, own_addresses(line)), graph_of_program(*lower(line)));
  }
}

TEST(InstanceGraph, ALineOfTwoCoresKeepsTheOrderOfItsMeetings) {
  for (const size_t core : {0, 1}) {
    const auto program = TwoCoreKernel({.rounds = 3}).build();
    const StraightLine line = *unroll(*program, core).line;
    EXPECT_FALSE(program_edges(line, true).empty());
    expect_same(instance_graph(line, own_addresses(line)), graph_of_program(*lower(line)));
  }
}

TEST(InstanceGraph, TilesAtOtherAddressesWaitAsIfTheyLayThere) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto program = RandomProgram(seed, load_architecture("trn2"), {.blocks = 6}).build();
    StraightLine line = *unroll(*program).line;
    std::vector<int64_t> addresses = own_addresses(line);
    int64_t moved = 0;
    for (size_t tile = 0; tile < line.tiles.size(); ++tile) {
      const bool together = is_on_chip(line.tiles[tile]) && !line.tiles[tile].placed;
      if (together && ++moved % 2 == 0) addresses[tile] = 512;
    }
    const InstanceGraph graph = instance_graph(line, addresses);
    move_tiles(line, addresses);
    expect_same(graph, graph_of_program(*lower(line)));
  }
}

}  // namespace
}  // namespace neuron_sim
