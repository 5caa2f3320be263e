// Scheduling edges that turn the order of a kernel around.

#include "device/builder/order_by_edges.h"

#include <gtest/gtest.h>

#include "device/base/errors.h"
#include "device/builder/builder.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/timeline/timeline.h"
#include "tests/device/execute/run_program.h"

namespace neuron_sim {
namespace {

/// Instruction numbers of a block, in order.
std::vector<uint32_t> numbers(const Block& block) {
  std::vector<uint32_t> result;
  for (const Node& node : block) result.push_back(node.index);
  return result;
}

/// 0, 1: memsets of a and b; 2, 3: copies of their first columns to their second; 4, 5: stores.
/// `edges`: (consumer, producer).
std::shared_ptr<const Program> program_with(const std::vector<std::pair<size_t, size_t>>& edges) {
  Builder builder("turned", load_architecture("trn2"), TilePlacement::kAutomatic);
  const View out = builder.argument("out", {2, 4, 2}, Dtype::kFloat32);
  const View a = builder.sbuf("a", {4, 2}, Dtype::kFloat32);
  const View b = builder.sbuf("b", {4, 2}, Dtype::kFloat32);
  for (const View& tile : {a, b}) builder.emit(Memset{tile.slice(1, 0, 1), tile.tile() * 1.0F});
  for (const View& tile : {a, b}) {
    builder.emit(TensorCopy{.dst = tile.slice(1, 1, 1), .src = tile.slice(1, 0, 1)});
  }
  builder.emit(DmaCopy{.dst = out.select(0, 0), .src = a});
  builder.emit(DmaCopy{.dst = out.select(0, 1), .src = b});
  for (const auto& [consumer, producer] : edges) builder.add_edge(consumer, producer);
  return builder.finish();
}

using Numbers = std::vector<uint32_t>;

TEST(OrderByEdges, LeavesTheOrderThatEdgesAgreeWith) {
  EXPECT_EQ(numbers(program_with({})->cores[0]), (Numbers{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(numbers(program_with({{1, 0}, {5, 2}})->cores[0]), (Numbers{0, 1, 2, 3, 4, 5}));
}

TEST(OrderByEdges, MovesAConsumerAndWhatNeedsItBehindTheProducer) {
  EXPECT_EQ(numbers(program_with({{0, 1}})->cores[0]), (Numbers{1, 0, 2, 3, 4, 5}));
  // The copy of a (2) and its store (4) need the memset of a (0).
  EXPECT_EQ(numbers(program_with({{0, 3}})->cores[0]), (Numbers{1, 3, 0, 2, 4, 5}));
  EXPECT_EQ(numbers(program_with({{0, 5}})->cores[0]), (Numbers{1, 3, 5, 0, 2, 4}));
  // The memset of b (1) follows that of a (0) by an edge, too, and all else needs one of them.
  EXPECT_EQ(numbers(program_with({{1, 0}, {2, 3}})->cores[0]), (Numbers{0, 1, 3, 2, 4, 5}));
}

TEST(OrderByEdges, KeepsTheBytes) {
  const auto expected = [] {
    ProgramRun run(program_with({}));
    ThreadPool pool(1);
    run.execute(make_plan(run.program()), pool);
    return run.bytes();
  }();
  for (const std::vector<std::pair<size_t, size_t>>& edges :
       {std::vector<std::pair<size_t, size_t>>{{0, 1}}, {{0, 5}}, {{2, 3}, {4, 5}}, {{4, 5}}}) {
    ProgramRun run(program_with(edges));
    ThreadPool pool(2);
    run.execute(make_plan(run.program()), pool);
    EXPECT_EQ(run.bytes(), expected);
    EXPECT_GT(simulate(run.program()).body, Picoseconds{});
  }
}

TEST(OrderByEdges, RefusesAProducerThatNeedsItsConsumer) {
  for (const auto& edges : {std::vector<std::pair<size_t, size_t>>{{0, 4}}, {{0, 1}, {1, 0}}}) {
    try {
      program_with(edges);
      FAIL();
    } catch (const KernelError& error) {
      EXPECT_NE(std::string(error.what()).find("', which needs it."), std::string::npos)
          << error.what();
    }
  }
}

TEST(OrderByEdges, RefusesTilesThatHaveAddressesAlready) {
  Builder builder("scoped", load_architecture("trn2"));
  const View a = builder.sbuf("a", {4, 2}, Dtype::kFloat32);
  const View b = builder.sbuf("b", {4, 2}, Dtype::kFloat32);
  builder.emit(Memset{a, 1});
  builder.emit(Memset{b, 2});
  builder.add_edge(1, 0);
  EXPECT_THROW(builder.add_edge(0, 1), KernelError);
}

}  // namespace
}  // namespace neuron_sim
