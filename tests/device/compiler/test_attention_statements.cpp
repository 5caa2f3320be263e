// The two attention kernels of the public traces from their source: the middle end's statements and
// the whole compiler's order of each engine (neuronx-cc 2.23, trn2).

#include "device/compiler/passes.h"
#include "tests/device/compiler/attention_source.h"
#include "tests/device/compiler/compare_runs.h"

namespace neuron_sim {
namespace {

using Statements = std::vector<std::string>;

/// "nc_matmul 512 x4": name, elements per partition on chip and how often in a row; of one engine,
/// or in program order.
Statements statements(const Program& program, EngineKind engine = EngineKind::kAuto) {
  Statements result;
  std::string last;
  int count = 0;
  const auto flush = [&] {
    if (count > 0) result.push_back(last + (count > 1 ? " x" + std::to_string(count) : ""));
  };
  for (const Node& node : program.cores.at(0)) {
    const Instruction& instruction = program.instructions[node.index];
    if (engine != EngineKind::kAuto && instruction.engine != engine) continue;
    const auto operands = program.operands_of(instruction);
    const bool store = operands[0].memory == MemoryKind::kHbm;
    const Operand& operand = operands[store ? 1 : 0];
    int64_t elements = 1;
    for (int i = 0; i < operand.rank; ++i) elements *= operand.free[static_cast<size_t>(i)].size;
    const std::string name =
        std::string(store ? "store" : instruction.type->name) + " " + std::to_string(elements);
    if (name != last) {
      flush();
      last = name;
      count = 0;
    }
    ++count;
  }
  flush();
  return result;
}

void append(Statements& list, const Statements& more, int times = 1) {
  for (int i = 0; i < times; ++i) list.insert(list.end(), more.begin(), more.end());
}

class AttentionStatements : public testing::TestWithParam<Dtype> {
 protected:
  std::shared_ptr<const Program> source(bool fused, int64_t sequence = 512) const {
    AttentionSource kernel(load_architecture("trn2"), GetParam(), sequence);
    return fused ? kernel.fused() : kernel.baseline();
  }
  static std::shared_ptr<const Program> compiled(const std::shared_ptr<const Program>& program,
                                                 bool back_end) {
    PassSettings settings = keeping_bytes(published_stack("neuronx-cc trn2").settings);
    settings.set("schedule", back_end ? 1 : 0);
    settings.set("assign_queues", back_end ? 1 : 0);
    const Compiled result = compile(program, settings);
    EXPECT_EQ(result.unchanged, "");
    EXPECT_TRUE(bytes_after(program) == bytes_after(result.program));
    return result.program;
  }
};

TEST_P(AttentionStatements, FusedHasThoseOfTheTrace) {
  Statements expected{"dma_copy 512 x3", "nc_transpose 128 x4", "tensor_copy 512"};
  append(expected, {"nc_matmul 512", "tensor_reduce 1"}, 4);
  append(expected, {"tensor_reduce 4"});
  append(expected, {"activation 512", "tensor_reduce 1"}, 4);
  append(expected, {"tensor_reduce 4", "reciprocal 4"});
  append(expected, {"nc_transpose 128 x4", "tensor_copy 512"}, 4);
  append(expected, {"nc_matmul 128 x16", "tensor_scalar 128 x4", "store 512"});
  EXPECT_EQ(statements(*compiled(source(true), false)), expected);
}

TEST_P(AttentionStatements, BaselineHasThoseOfTheTrace) {
  Statements expected{"dma_copy 512 x3"};
  const Statements product{"nc_matmul 512", "tensor_copy 512"};
  for (int half = 0; half < 2; ++half) {
    append(expected, product, 2);
    append(expected, {"store 1024"});
  }
  append(expected, {"dma_copy 1024", "tensor_reduce 1 x2"}, 2);
  append(expected, {"tensor_reduce 4"});
  append(expected, {"activation 512", "tensor_reduce 1"}, 4);
  append(expected, {"tensor_reduce 4", "reciprocal 4"});
  append(expected, {"tensor_scalar 512 x2", "store 1024"}, 2);
  const Statements transpose{"nc_transpose 128 x4", "tensor_copy 512"};
  append(expected, transpose);
  for (int half = 0; half < 2; ++half) {
    append(expected, {"dma_copy 1024"});
    append(expected, transpose, 2);
  }
  append(expected, {"nc_matmul 128 x16", "tensor_copy 128 x4", "store 512"});
  EXPECT_EQ(statements(*compiled(source(false), false)), expected);
}

TEST_P(AttentionStatements, FusedIsOrderedAsInTheTrace) {
  const auto program = compiled(source(true), true);
  EXPECT_EQ(statements(*program, EngineKind::kTensor),
            (Statements{"nc_transpose 128 x4", "nc_matmul 512 x4", "nc_transpose 128 x16",
                        "nc_matmul 128 x16"}));
  EXPECT_EQ(statements(*program, EngineKind::kVector),
            (Statements{"tensor_reduce 1 x4", "tensor_reduce 4", "tensor_reduce 1 x2",
                        "tensor_copy 512", "tensor_reduce 1 x2", "tensor_reduce 4", "reciprocal 4",
                        "tensor_scalar 128 x4"}));
  EXPECT_EQ(statements(*program, EngineKind::kScalar),
            (Statements{"tensor_copy 512", "activation 512 x4", "tensor_copy 512 x3"}));
  EXPECT_EQ(statements(*program, EngineKind::kGpSimd),
            (Statements{"dma_copy 512 x3", "store 512"}));
}

TEST_P(AttentionStatements, BaselineIsOrderedAsInTheTrace) {
  const auto program = compiled(source(false), true);
  EXPECT_EQ(statements(*program, EngineKind::kTensor),
            (Statements{"nc_matmul 512 x4", "nc_transpose 128 x12", "nc_matmul 128 x6",
                        "nc_transpose 128 x8", "nc_matmul 128 x10"}));
  EXPECT_EQ(statements(*program, EngineKind::kVector),
            (Statements{"tensor_copy 512 x2", "tensor_reduce 1 x4", "tensor_reduce 4",
                        "tensor_reduce 1 x4", "tensor_reduce 4", "reciprocal 4",
                        "tensor_scalar 512 x4", "tensor_copy 128"}));
  EXPECT_EQ(statements(*program, EngineKind::kScalar),
            (Statements{"tensor_copy 512 x2", "store 1024", "tensor_copy 512", "store 1024",
                        "activation 512 x4", "store 1024 x2", "tensor_copy 512 x2",
                        "tensor_copy 128", "tensor_copy 512 x2", "tensor_copy 128 x2"}));
  EXPECT_EQ(statements(*program, EngineKind::kSync), (Statements{"dma_copy 1024 x4"}));
  EXPECT_EQ(statements(*program, EngineKind::kGpSimd),
            (Statements{"dma_copy 512 x3", "store 512"}));
}

TEST_P(AttentionStatements, LongerSequencesKeepTheirBytes) {
  for (const bool fused : {true, false}) {
    for (const bool back_end : {true, false}) compiled(source(fused, 1024), back_end);
  }
}

INSTANTIATE_TEST_SUITE_P(Dtypes, AttentionStatements,
                         testing::Values(Dtype::kFloat32, Dtype::kBfloat16));

}  // namespace
}  // namespace neuron_sim
