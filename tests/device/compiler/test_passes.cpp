#include "device/compiler/passes.h"

#include <set>

#include "tests/device/compiler/compare_runs.h"
#include "tests/device/compiler/two_core_kernel.h"
#include "tests/device/program/random_program.h"

namespace neuron_sim {
namespace {

TEST(Passes, EveryStackKeepsTheBytesOfGeneratedPrograms) {
  for (const PublishedStack& stack : published_stacks()) {
    const bool generation2 = std::string_view(stack.name).find("trn1") != std::string_view::npos;
    const Architecture& architecture = load_architecture(generation2 ? "trn1" : "trn2");
    for (uint64_t seed = 0; seed < 20; ++seed) {
      RandomProgramOptions options{.blocks = 6, .undefined_reads = seed % 3 == 0};
      const auto program = RandomProgram(seed, architecture, options).build();
      const Compiled compiled = compile(program, keeping_bytes(stack.settings));
      EXPECT_EQ(compiled.unchanged.empty(), std::string_view(stack.name) != "none");
      ASSERT_EQ(bytes_after(program), bytes_after(compiled.program)) << stack.name << " " << seed;
    }
  }
}

std::vector<std::string_view> meetings_of(const Program& program, size_t core) {
  std::vector<std::string_view> names;
  for (const Node& node : program.cores.at(core)) {
    if (node.kind != Node::Kind::kSynchronisation) continue;
    names.push_back(program.instructions[node.index].type->name);
  }
  return names;
}

TEST(Passes, EveryStackKeepsTheBytesAndMeetingsOfTwoCores) {
  for (const PublishedStack& stack : published_stacks()) {
    if (std::string_view(stack.name).find("trn1") != std::string_view::npos) continue;
    const PassSettings plain = keeping_bytes(stack.settings);
    PassSettings forwarding = plain;
    if (forwarding["reuse_loads"] != 0) forwarding.set("forward_stores", 1);
    for (const int64_t columns : {1, 33, 96}) {
      const auto program =
          TwoCoreKernel({.columns = columns, .dma_engine = DmaEngine{columns == 1}}).build();
      for (const PassSettings& settings : {plain, forwarding}) {
        const Compiled compiled = compile(program, settings);
        ASSERT_EQ(bytes_after(program), bytes_after(compiled.program)) << stack.name;
        if (!compiled.unchanged.empty()) continue;
        EXPECT_TRUE(compiled.skipped_passes.empty());
        const std::vector<std::string_view> round{"sendrecv", "core_barrier", "core_barrier"};
        for (const size_t core : {0, 1}) {
          const auto meetings = meetings_of(*compiled.program, core);
          ASSERT_EQ(meetings.size(), 9U);
          for (size_t i = 0; i < 9; ++i) EXPECT_EQ(meetings[i], round[i % 3]);
        }
      }
    }
  }
}

TEST(Passes, EachCoreGetsWhatItsInstructionsAloneWouldGet) {
  const PassSettings& settings = published_stack("neuronx-cc trn2").settings;
  const auto load_and_add = [](Builder& builder, const View& in, const View& out) {
    const View sum = builder.sbuf("sum", {128, 64}, Dtype::kFloat32);
    builder.emit(Memset{sum, 0});
    builder.loop(6, [&](const Affine& row) {
      const View data = builder.sbuf("data", {128, 64}, Dtype::kFloat32);
      builder.emit(DmaCopy{.dst = data, .src = in.select(0, row)});
      builder.emit(TensorTensor{sum, sum, data, AluOp::kAdd});
    });
    builder.emit(DmaCopy{.dst = out, .src = sum});
  };
  using Order = std::vector<std::pair<std::string_view, EngineKind>>;
  const auto orders = [&](const std::vector<int>& cores) {
    Builder builder("halves", load_architecture("trn2"));
    const View in = builder.argument("in", {2, 6, 128, 64}, Dtype::kFloat32);
    const View out = builder.argument("out", {2, 128, 64}, Dtype::kFloat32);
    for (const int core : cores) {
      builder.core(core, [&] { load_and_add(builder, in.select(0, core), out.select(0, core)); });
    }
    const auto program = compile(builder.finish(), settings).program;
    std::vector<Order> result(program->cores.size());
    for (size_t core = 0; core < result.size(); ++core) {
      for (const Node& node : program->cores[core]) {
        const Instruction& instruction = program->instructions[node.index];
        result[core].emplace_back(instruction.type->name, instruction.engine);
      }
    }
    return result;
  };
  const std::vector<Order> alone = orders({0});
  EXPECT_EQ(orders({0, 1}), (std::vector<Order>{alone[0], alone[0]}));
}

TEST(Passes, EverySettingIsThatOfAPassAndEveryPassHasASwitch) {
  std::set<std::string_view> switches;
  for (const PassSetting& each : pass_settings()) {
    EXPECT_STREQ(pass_named(each.pass).name, each.pass);
    switches.insert(each.name);
  }
  for (const Pass& pass : pipeline()) EXPECT_EQ(switches.count(pass.switched_by()), 1U);
}

}  // namespace
}  // namespace neuron_sim
