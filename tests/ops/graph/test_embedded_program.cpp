// Finished programs among the kernels of a graph, and several programs joined to one.

#include "ops/graph/embedded_program.h"

#include <algorithm>

#include "device/isa/dma/dma_copy.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/memset.h"
#include "device/isa/sequencing/register_load.h"
#include "device/timeline/timeline.h"
#include "tests/device/compiler/two_core_kernel.h"
#include "tests/ops/graph/graph_kernels.h"

namespace neuron_sim {
namespace {

constexpr int64_t kHeight = 8, kColumns = 12;
const std::vector<int64_t> kShape{kHeight, kColumns};

/// out = 3 x + 0.25, a row at a time in a loop over a ring of tiles; twice x goes by way of a
/// scratch tensor, 0.25 by way of a constant.
std::shared_ptr<const Program> looping_program() {
  Builder builder("looping", load_architecture("trn2"));
  const View x = builder.argument("x", kShape, Dtype::kFloat32);
  const View out = builder.argument("out", kShape, Dtype::kFloat32);
  const float quarter = 0.25F;
  std::vector<std::byte> bytes(sizeof(quarter));
  std::memcpy(bytes.data(), &quarter, sizeof(quarter));
  const View constant = builder.constant("quarter", {1, 1}, Dtype::kFloat32, bytes);
  const View twice = builder.scratch("twice", kShape, Dtype::kFloat32);
  const View addend = builder.sbuf("addend", {1, 1}, Dtype::kFloat32);
  const View row = builder.sbuf("row", {1, kColumns}, Dtype::kFloat32, 2);
  const View other = builder.sbuf("other", {1, kColumns}, Dtype::kFloat32);
  builder.emit(DmaCopy{.dst = addend, .src = constant});
  builder.set_source_line("kernel.py:7");
  builder.loop(kHeight, [&](const Affine& i) {
    const View tile = row.turn(i);
    builder.emit(DmaCopy{.dst = tile, .src = x.slice(0, i, 1)});
    builder.emit(TensorScalar{.dst = other, .data = tile, .op0 = AluOp::kMultiply, .constant0 = 2});
    builder.emit(DmaCopy{.dst = twice.slice(0, i, 1), .src = other});
    builder.emit(DmaCopy{.dst = other, .src = twice.slice(0, i, 1)});
    builder.emit(TensorTensor{.dst = tile, .data1 = tile, .data2 = other, .op = AluOp::kAdd});
    builder.emit(TensorScalar{.dst = tile, .data = tile, .operand0 = addend});
    builder.emit(DmaCopy{.dst = out.slice(0, i, 1), .src = tile});
  });
  return builder.finish();
}

/// An element of data becomes 1: that of the index in an HBM tensor; with `loops` all before it.
std::shared_ptr<const Program> register_program(bool loops = false) {
  Builder builder("registers", load_architecture("trn2"));
  const View index = builder.argument("index", {1, 1}, Dtype::kInt32);
  const View data = builder.argument("data", {1, kHeight * kColumns}, Dtype::kFloat32);
  const View one = builder.sbuf("one", {1, 1}, Dtype::kFloat32);
  builder.emit(Memset{one, 1});
  const int last = builder.allocate_register(), i = builder.allocate_register();
  builder.emit(RegisterLoad{.dst = last, .src = index});
  if (loops) builder.open_range(i, {}, {0, static_cast<int16_t>(last)}, 1);
  builder.emit(DmaCopy{.dst = data.slice(1, 0, 1).at_register(loops ? i : last, 4), .src = one});
  if (loops) builder.close_loop();
  return builder.finish();
}

GraphTensor whole(size_t memory, int64_t first = 0) {
  return tensor_in(memory, {kHeight * kColumns}, {}, first);
}
GraphKernel looping(size_t from, size_t to, int64_t first = 0) {
  GraphKernel kernel = embedded_kernel(looping_program(), {whole(from, first), whole(to, first)});
  kernel.source = "(model): kernel, model.py:3";
  return kernel;
}
GraphKernel triple(const GraphTensor& from, const GraphTensor& to) {
  return pointwise([](Expression& e) { return e.input(0) * 3.0 + 0.25; }, {from}, to);
}
GraphKernel add_one(const GraphTensor& from, const GraphTensor& to) {
  return pointwise([](Expression& e) { return e.input(0) + 1.0; }, {from}, to);
}

/// The graph computes what `expected` computes on the host, with the passes and without.
void expect_computes(const std::vector<GraphKernel>& kernels,
                     const std::vector<GraphKernel>& expected, const External& external) {
  const HostMemories before = random_memories({120, 120, 120, 120, 120});
  HostMemories host = before;
  evaluate(expected, host);
  for (const GraphProgramOptions& options : {plain(), GraphProgramOptions{}}) {
    HostMemories actual = before;
    const GraphProgram built = built_graph(kernels, external, options);
    EXPECT_EQ(built.unchanged, options.passes == PassSettings{} ? "all passes are off" : "");
    run_graph(built, actual);
    for (const size_t memory : external) {
      EXPECT_EQ(floats(actual[memory]), floats(host[memory])) << memory;
    }
  }
}

TEST(EmbeddedProgram, ComputesItsBytesBetweenTheKernelsAroundIt) {
  expect_computes(
      {add_one(whole(0), whole(1)), looping(1, 2), add_one(whole(2), whole(3))},
      {add_one(whole(0), whole(1)), triple(whole(1), whole(2)), add_one(whole(2), whole(3))},
      {0, 3});
}

TEST(EmbeddedProgram, MayBeFirstLastAloneAndTwice) {
  expect_computes({looping(0, 1)}, {triple(whole(0), whole(1))}, {0, 1});
  expect_computes(
      {looping(0, 1), looping(1, 2), looping(2, 3)},
      {triple(whole(0), whole(1)), triple(whole(1), whole(2)), triple(whole(2), whole(3))}, {0, 3});
}

TEST(EmbeddedProgram, FindsItsTensorsAnywhereInTheirMemories) {
  for (const int64_t first : {1, 2, 7, 24}) {
    expect_computes(
        {add_one(whole(0, first), whole(1, first)), looping(1, 2, first)},
        {add_one(whole(0, first), whole(1, first)), triple(whole(1, first), whole(2, first))},
        {0, 1, 2});
  }
}

TEST(EmbeddedProgram, SharesMemoryWithTheKernelsAroundIt) {
  // Writes what an earlier kernel read, and is read and overwritten later.
  expect_computes(
      {add_one(whole(0), whole(1)), looping(1, 0), add_one(whole(0), whole(2)), looping(2, 0)},
      {add_one(whole(0), whole(1)), triple(whole(1), whole(0)), add_one(whole(0), whole(2)),
       triple(whole(2), whole(0))},
      {0, 1, 2});
}

TEST(EmbeddedProgram, TakesLessTimeThanTheProgramsOneByOne) {
  const auto body = [](const std::vector<GraphKernel>& kernels, const External& external) {
    return simulate(*built_graph(kernels, external, {}).program).body;
  };
  const GraphKernel before = add_one(whole(0), whole(1)), after = add_one(whole(2), whole(3));
  EXPECT_LT(body({before, looping(1, 2), after}, {0, 3}),
            body({before}, {0, 1}) + body({looping(1, 2)}, {1, 2}) + body({after}, {2, 3}));
}

TEST(EmbeddedProgram, ItsInstructionsSayWhatTheyComputeAndWhere) {
  const auto program = built_graph({looping(0, 1)}, {0, 1}, {}).program;
  const auto& lines = program->source_lines;
  EXPECT_TRUE(std::count(lines.begin(), lines.end(), "(model): kernel, kernel.py:7"));
  EXPECT_TRUE(std::count(lines.begin(), lines.end(), "(model): kernel, model.py:3"));
}

TEST(EmbeddedProgram, OnRegistersLeavesThePassesToTheKernelsAroundIt) {
  const auto program = register_program();
  const auto kernels = [&](int64_t first) {
    return std::vector<GraphKernel>{
        add_one(whole(0), whole(4)), add_one(whole(4), whole(1, first)),
        embedded_kernel(program, {tensor_in(2, {1}, {}, 0, Dtype::kInt32), whole(1, first)}),
        add_one(whole(1, first), whole(3))};
  };
  HostMemories memories = random_memories({120, 120, 2, 120});
  const int32_t index = 5;
  std::memcpy(memories[2].data(), &index, sizeof(index));
  const std::vector<float> x = floats(memories[0]);
  const GraphProgram built = built_graph(kernels(4), {0, 2, 3}, {.fuse = false});
  EXPECT_EQ(built.unchanged, "its loops or addresses depend on registers");
  run_graph(built, memories);
  const std::vector<float> found = floats(memories[3]);
  for (size_t i = 0; i < kHeight * kColumns; ++i) {
    EXPECT_EQ(found[i], i == 5 ? 2.0F : x[i] + 3.0F) << i;
  }
  EXPECT_LT(simulate(*built.program).body,
            simulate(*built_graph(kernels(4), {0, 2, 3}, plain()).program).body);
}

TEST(EmbeddedProgram, ArgumentsThatItDoesNotTouchNeedNoPlace) {
  Builder builder("unused", load_architecture("trn2"));
  builder.argument("unused", {4}, Dtype::kFloat32);
  const View out = builder.argument("out", kShape, Dtype::kFloat32);
  const View tile = builder.sbuf("tile", kShape, Dtype::kFloat32);
  builder.emit(Memset{tile, 2});
  builder.emit(DmaCopy{.dst = out, .src = tile});
  const GraphKernel kernel = embedded_kernel(builder.finish(), {whole(0), whole(1)});
  const auto tensors = argument_tensors(kernel);
  EXPECT_FALSE(tensors[0].has_value());
  EXPECT_EQ(tensors[1], whole(1));
  HostMemories memories = random_memories({120, 120});
  run_graph(built_graph({kernel}, {1}, {}), memories);
  EXPECT_EQ(floats(memories[1])[95], 2.0F);
}

TEST(EmbeddedProgram, WhatComputesOtherBytesElsewhereIsRefused) {
  EXPECT_EQ(embedding_objection(*looping_program()), "");
  EXPECT_EQ(embedding_objection(*register_program()), "");
  EXPECT_EQ(embedding_objection(*register_program(true)), "loops as often as its data says");
  EXPECT_EQ(embedding_objection(*TwoCoreKernel({}).build()), "runs on 2 cores");
  Program other = *looping_program();
  other.has_collectives = true;
  EXPECT_EQ(embedding_objection(other), "meets other ranks");
  other = *looping_program();
  other.overflow = "too large";
  EXPECT_EQ(embedding_objection(other), "does not fit SBUF and PSUM without spills");
}

TEST(EmbeddedProgram, WhatReadsMoreThanItWritesIsRefused) {
  for (const int64_t written : {kColumns - 1, kColumns}) {
    Builder builder("reads", load_architecture("trn2"));
    const View out = builder.argument("out", kShape, Dtype::kFloat32);
    const View tile = builder.sbuf("tile", kShape, Dtype::kFloat32);
    builder.emit(Memset{tile.slice(1, 0, written), 2});
    builder.emit(DmaCopy{.dst = out, .src = tile});
    EXPECT_EQ(embedding_objection(*builder.finish()),
              written == kColumns ? "" : "may read bytes of tile 'tile' that it did not write");
  }
}

TEST(EmbeddedProgram, AddressesOfArgumentsFromRegistersAreKnown) {
  EXPECT_TRUE(addresses_arguments_by_register(*register_program()));
  EXPECT_FALSE(addresses_arguments_by_register(*looping_program()));
}

}  // namespace
}  // namespace neuron_sim
