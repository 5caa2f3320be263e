#include "ops/graph/graph_program.h"

#include <set>

#include "device/compiler/line/straight_line.h"
#include "tests/ops/graph/neighbour_kernels.h"

namespace neuron_sim {
namespace {

const std::vector<int64_t> kShape{4, 6};

GraphKernel step(const GraphTensor& from, const GraphTensor& to) {
  return pointwise([](Expression& e) { return e.input(0) * 2.0 + 0.5; }, {from}, to);
}

GraphKernel step(size_t from, size_t to) {
  return step(tensor_in(from, kShape), tensor_in(to, kShape));
}

TEST(GraphProgram, ExternalMemoriesThatAKernelTouchesAreArgumentsInTheirOrder) {
  const GraphProgram built = built_graph({step(7, 3), step(3, 5)}, {1, 2, 5, 7}, plain());
  ASSERT_EQ(built.arguments.size(), 2U);
  EXPECT_EQ(built.arguments[0].memory, 5U);
  EXPECT_EQ(built.arguments[1].memory, 7U);
  ASSERT_EQ(built.program->arguments.size(), 2U);
  EXPECT_TRUE(built.program->arguments[0].written);
  EXPECT_FALSE(built.program->arguments[0].read);
  EXPECT_TRUE(built.program->arguments[1].read);
  EXPECT_FALSE(built.program->arguments[1].written);
}

TEST(GraphProgram, AnArgumentIsWhatTheKernelsTouchInWholeElementsOfAnyDtype) {
  // Elements 3 to 8 and 5 to 10 of memory 0 are bytes 12 to 44.
  const GraphProgram built = built_graph({step(tensor_in(0, {6}, {}, 3), tensor_in(1, {6})),
                                          step(tensor_in(0, {6}, {}, 5), tensor_in(1, {6}, {}, 6))},
                                         {0, 1}, plain());
  ASSERT_EQ(built.arguments.size(), 2U);
  EXPECT_EQ(built.arguments[0].byte_offset, 8);
  EXPECT_EQ(built.program->arguments[0].bytes, 48 - 8);
  EXPECT_EQ(built.arguments[1].byte_offset, 0);
  EXPECT_EQ(built.program->arguments[1].bytes, 48);
}

TEST(GraphProgram, TensorsAnywhereInTheirMemoriesAreFound) {
  for (const int64_t first : {0, 1, 2, 3, 17}) {
    const auto at = [&](size_t memory) {
      return tensor_in(memory, kShape, {7, 1}, first + static_cast<int64_t>(memory));
    };
    EXPECT_EQ(kernels_left({step(at(0), at(1)), step(at(1), at(2))}, {0, 2},
                           random_memories({60, 60, 60})),
              1U);
    EXPECT_EQ(kernels_left({step(at(0), at(1)), step(at(1), at(2))}, {0, 1, 2},
                           random_memories({60, 60, 60}), {0}),
              2U);
  }
}

TEST(GraphProgram, TensorsOfOneMemoryMayDifferInDtype) {
  // Memory 1: 24 int8, 24 bfloat16, 24 float32, 24 float16 and 24 bool, one after the other.
  const std::vector<Dtype> dtypes{Dtype::kInt8, Dtype::kBfloat16, Dtype::kFloat32, Dtype::kFloat16,
                                  Dtype::kBool};
  for (const bool is_external : {false, true}) {
    std::vector<GraphKernel> kernels;
    const auto whole_numbers = [](Expression& e) { return e.round(e.input(0) * 20.0); };
    int64_t byte = 0;
    for (size_t i = 0; i < dtypes.size(); ++i) {
      GraphTensor between = tensor_in(1, kShape, {}, 0, dtypes[i]);
      between.byte_offset = byte;
      byte += 24 * itemsize(dtypes[i]);
      kernels.push_back(pointwise(whole_numbers, {tensor_in(0, kShape)}, between));
      kernels.push_back(step(between, tensor_in(2, kShape, {}, 24 * static_cast<int64_t>(i))));
    }
    std::swap(kernels[1], kernels[8]);  // the last one is written before the first one is read
    const External external = is_external ? External{0, 1, 2} : External{0, 2};
    kernels_left(kernels, external, random_memories({24, byte / 4 + 2, 24 * 5}));
  }
}

TEST(GraphProgram, BytesAreReadAsAnotherDtypeThanTheyWereWritten) {
  const auto copied = [](size_t from, size_t to, Dtype dtype, const std::vector<int64_t>& shape,
                         Domain domain) {
    return pointwise([](Expression& e) { return e.input(0); },
                     {tensor_in(from, shape, {}, 0, dtype)}, tensor_in(to, shape, {}, 0, dtype),
                     domain);
  };
  const std::vector<GraphKernel> kernels{copied(0, 1, Dtype::kFloat32, kShape, Domain::kFloat),
                                         copied(1, 2, Dtype::kInt32, kShape, Domain::kInteger),
                                         copied(2, 3, Dtype::kInt16, {4, 12}, Domain::kInteger),
                                         copied(3, 4, Dtype::kUint8, {4, 24}, Domain::kInteger)};
  const HostMemories before = random_memories({24, 24, 24, 24, 24});
  for (const GraphProgramOptions& options : {plain(), GraphProgramOptions{}}) {
    const GraphProgram built = built_graph(kernels, {0, 4}, options);
    EXPECT_EQ(built.kernels, 4U);
    HostMemories memories = before;
    run_graph(built, memories);
    EXPECT_EQ(memories[4], before[0]);
  }
}

TEST(GraphProgram, InstructionsNameTheSourceOfTheirKernel) {
  GraphKernel first = step(0, 1), second = step(2, 3);
  first.source = "layers.0";
  second.source = "layers.1";
  const GraphProgram built = built_graph({first, second}, {0, 1, 2, 3}, {});
  std::set<std::string> found;
  for (const Instruction& instruction : built.program->instructions) {
    ASSERT_GE(instruction.source_line, 0);
    found.insert(built.program->source_lines[static_cast<size_t>(instruction.source_line)]);
  }
  EXPECT_EQ(found, (std::set<std::string>{"layers.0", "layers.1"}));
}

TEST(GraphProgram, OptionsDecideWhatIsJoinedAndCompiled) {
  const std::vector<GraphKernel> kernels{step(0, 1), step(1, 2)};
  const GraphProgram as_is = built_graph(kernels, {0, 2}, plain());
  EXPECT_EQ(as_is.kernels, 2U);
  EXPECT_EQ(as_is.unchanged, "all passes are off");
  EXPECT_EQ(count_of(*as_is.program, "dma_copy"), 4);
  const GraphProgram joined = built_graph(kernels, {0, 2}, {.passes = {}});
  EXPECT_EQ(joined.kernels, 1U);
  EXPECT_EQ(count_of(*joined.program, "dma_copy"), 2);
  const GraphProgram compiled = built_graph(kernels, {0, 2}, {.fuse = false});
  EXPECT_EQ(compiled.kernels, 2U);
  EXPECT_EQ(compiled.unchanged, "");
  EXPECT_EQ(count_of(*compiled.program, "dma_copy"), 2) << "memory 1 stays in SBUF";
  EXPECT_EQ(count_of(*compiled.program, "tensor_copy"), 0);
}

TEST(GraphProgram, AGraphTakesLessTimeTheMoreOfItIsJoinedAndCompiled) {
  const std::vector<int64_t> shape{500, 512};
  std::vector<GraphKernel> kernels;
  for (size_t i = 0; i < 4; ++i) {
    kernels.push_back(step(tensor_in(i, shape), tensor_in(i + 1, shape)));
  }
  const auto time = [&](const GraphProgramOptions& options) {
    return simulate(*built_graph(kernels, {0, 4}, options).program).body.microseconds();
  };
  const double as_is = time(plain());
  EXPECT_LT(time({.fuse = false}), as_is);
  EXPECT_LT(time({.passes = {}}), 0.6 * as_is);
  EXPECT_LT(time({}), 0.6 * as_is);
}

TEST(GraphProgram, AChoiceThatMakesItLongerIsLeftOut) {
  // Memory 3 = memory 0 [rows, depth] @ memory 1 [depth, columns] @ memory 2 [columns, depth].
  const auto gain = [](const char* pass, Dtype dtype, int64_t rows, int64_t depth,
                       int64_t columns) {
    const External external{0, 1, 2, 3};
    const auto matrix = [&](size_t memory, int64_t height, int64_t width) {
      return tensor_in(memory, {height, width}, {}, 0, dtype);
    };
    const GraphTensor between = matrix(4, rows, columns);
    const std::vector<GraphKernel> kernels{
        product_of({matrix(0, rows, depth), matrix(1, depth, columns)}, between),
        product_of({between, matrix(2, columns, depth)}, matrix(3, rows, depth))};
    const auto time = [&](const std::vector<GraphKernel>& given, bool fuse) {
      return simulate(*built_graph(given, external, {.fuse = fuse}).program).body;
    };
    const bool fuses = pass == std::string("turn_results");  // else no other pass is a choice
    const Picoseconds shortest = time(kernels, fuses),
                      without = time(hidden(kernels, {0, 1}), false);
    const auto with = time(after(pass, kernels, is_in(external)), false);
    EXPECT_EQ(shortest, std::min(with, without));
    return (without - with).microseconds();
  };
  EXPECT_GT(gain("turn_results", Dtype::kFloat32, 128, 384, 512), 0);
  EXPECT_LT(gain("turn_results", Dtype::kFloat32, 256, 192, 128), 0);
  EXPECT_GT(gain("slice_batch", Dtype::kBfloat16, 4096, 128, 2048), 0);
  EXPECT_LT(gain("slice_batch", Dtype::kBfloat16, 4096, 512, 2048), 0);
}

TEST(GraphProgram, PassesAreLeftOutAsInALikeGraph) {
  // Slices pay for weights of 128 x 2048, and not for those of 512 x 2048.
  const auto graph = [](int64_t depth, const std::optional<std::set<std::string>>& left_out) {
    const auto matrix = [&](size_t memory, int64_t height, int64_t width) {
      return tensor_in(memory, {height, width}, {}, 0, Dtype::kBfloat16);
    };
    const std::vector<GraphKernel> kernels{
        product_of({matrix(0, 4096, depth), matrix(1, depth, 2048)}, matrix(4, 4096, 2048)),
        product_of({matrix(4, 4096, 2048), matrix(2, 2048, depth)}, matrix(3, 4096, depth))};
    return built_graph(kernels, {0, 1, 2, 3}, {.fuse = false, .left_out = left_out});
  };
  using Names = std::vector<std::string>;
  for (const int64_t depth : {128, 512}) {
    const GraphProgram weighed = graph(depth, {});
    EXPECT_EQ(weighed.left_out, depth == 128 ? Names{} : Names{"slice_batch"});
    const auto time = [&](const std::set<std::string>& left_out) {
      return simulate(*graph(depth, left_out).program).body;
    };
    EXPECT_EQ(std::min(time({}), time({"slice_batch"})), simulate(*weighed.program).body);
    EXPECT_NE(time({}), time({"slice_batch"})) << "the other choice is taken too";
  }
  EXPECT_THROW(graph(128, std::set<std::string>{"fuse_rows"}), KernelError);
}

TEST(GraphProgram, TensorsOfManyTilesKeepTheirValues) {
  const std::vector<int64_t> shape{300, 700}, strides{701, 1};
  const GraphTensor in = tensor_in(0, shape, strides, 5), out = tensor_in(3, shape);
  const std::vector<GraphKernel> kernels{
      step(in, tensor_in(1, shape)),
      pointwise([](Expression& e) { return e.input(0) * e.input(1); },
                {tensor_in(1, {700, 300}, {1, 700}), tensor_in(2, {700, 300}, {1, 0})},
                tensor_in(4, {700, 300})),
      step(tensor_in(4, {21, 10000}), tensor_in(3, {21, 10000}))};
  const auto before = random_memories({701 * 301, 210000, 700, 210000, 210000});
  EXPECT_EQ(kernels_left(kernels, {0, 2, 3}, before, {1}), 3U);
}

TEST(GraphProgram, ResultsThatSbufCannotHoldAllAreLoadedAgain) {
  // Seven tensors of 4 MB, made one after the other and then added up in the same order.
  const std::vector<int64_t> shape{1000, 1000};
  const auto memory = [&](size_t number) { return tensor_in(number, shape); };
  std::vector<GraphKernel> kernels;
  for (size_t i = 0; i < 7; ++i) kernels.push_back(step(memory(i), memory(i + 1)));
  for (size_t i = 0; i < 7; ++i) {
    kernels.push_back(pointwise([](Expression& e) { return e.input(0) - e.input(1); },
                                {memory(i + 1), memory(10)}, memory(10)));
  }
  const HostMemories before = random_memories(std::vector<int64_t>(11, 1'000'000));
  std::set<size_t> all;
  for (size_t i = 0; i < kernels.size(); ++i) all.insert(i);
  const std::vector<GraphKernel> whole = hidden(kernels, all);
  std::vector<HostMemories> after;
  std::vector<int64_t> transfers;
  const auto run = [&](const std::vector<GraphKernel>& graph, const GraphProgramOptions& options) {
    const GraphProgram built = built_graph(graph, {0, 10}, options, "trn1");
    after.push_back(before);
    run_graph(built, after.back());
    StraightLine line = *unroll(*built.program).line;
    transfers.push_back(
        std::count_if(line.instructions.begin(), line.instructions.end(),
                      [](const auto& each) { return each.instruction.type->name == "dma_copy"; }));
  };
  run(whole, plain());
  run(whole, {.fuse = false});
  run(kernels, {.fuse = false});
  EXPECT_EQ(after[0][10], after[1][10]);
  EXPECT_EQ(after[0][10], after[2][10]);
  // A load and a store of seven, then two loads and a store: 35; nine of them are of arguments and
  // cannot be saved.
  const int64_t tensor = transfers[0] / 35;
  EXPECT_LT(transfers[1], 25 * tensor) << "many stay in SBUF";
  EXPECT_GT(transfers[1], 12 * tensor) << "but not all";
  EXPECT_EQ(transfers[2], 9 * tensor) << "in slices of rows all of them fit";
}

TEST(GraphProgram, AKernelsOwnErrorIsRaised) {
  GraphKernel kernel = step(0, 1);
  kernel.traits = {};
  kernel.emit = [](Builder&, std::span<const HbmTensor>, std::span<const HbmTensor>) {
    fail("this kernel takes no such operands.");
  };
  EXPECT_EQ(error_of([&] {
              built_graph({step(2, 3), kernel}, {0, 1, 2, 3}, {});
            }),
            "this kernel takes no such operands.");
}

TEST(GraphTensor, EndsBehindItsLastElement) {
  EXPECT_EQ(tensor_in(0, {4, 6}, {10, 1}, 3).end(), 4 * (3 + 30 + 5 + 1));
  EXPECT_EQ(tensor_in(0, {}, {}, 3).end(), 4 * 4);
  EXPECT_EQ(tensor_in(0, {4, 6}, {0, 0}, 3, Dtype::kBfloat16).end(), 2 * 4);
  EXPECT_EQ(tensor_in(0, {4, 0}, {}, 3).end(), 4 * 3) << "no elements";
}

TEST(GraphTensor, OverlapsOnlyTensorsOfTheSameBytes) {
  const GraphTensor tensor = tensor_in(1, {6}, {}, 4);
  EXPECT_TRUE(may_overlap(tensor, tensor));
  EXPECT_FALSE(may_overlap(tensor, tensor_in(2, {6}, {}, 4)));
  EXPECT_FALSE(may_overlap(tensor, tensor_in(1, {4})));
  EXPECT_TRUE(may_overlap(tensor, tensor_in(1, {5})));
  EXPECT_FALSE(may_overlap(tensor, tensor_in(1, {6}, {}, 10)));
  EXPECT_TRUE(may_overlap(tensor, tensor_in(1, {1}, {}, 39, Dtype::kInt8)));
  EXPECT_FALSE(may_overlap(tensor, tensor_in(1, {1}, {}, 40, Dtype::kInt8)));
}

}  // namespace
}  // namespace neuron_sim
