#include "device/compiler/back_end/schedule.h"

#include <set>

#include "device/compiler/back_end/allocate.h"
#include "device/compiler/passes.h"
#include "device/timeline/timeline.h"
#include "tests/device/compiler/attention_statements.h"
#include "tests/device/compiler/compare_runs.h"
#include "tests/device/program/random_program.h"

namespace neuron_sim {
namespace {

constexpr Dtype kFloat = Dtype::kFloat32;
const Architecture& trn2() { return load_architecture("trn2"); }

/// The back end alone.
PassSettings settings() { return published_stack("neuronx-cc trn2 direct").settings; }

Demand product_of(MatmulClass matmul, int64_t columns) {
  Demand demand;
  Step step;
  step.unit = Unit::kMultiplyMoving;
  step.matmul = matmul;
  step.elements = columns;
  demand.add(step);
  return demand;
}

Demand demand_of(Unit unit, int64_t elements, int64_t bytes = 0,
                 DescriptorKind descriptors = DescriptorKind::kHardware) {
  Demand demand;
  Step step;
  step.unit = unit;
  step.elements = elements;
  step.bytes = bytes;
  step.descriptors = descriptors;
  demand.add(step);
  return demand;
}

TEST(CompilerCosts, AreThoseThatOrderThePublicTraces) {
  const CompilerCosts& costs = compiler_costs();
  const auto issue = [&](Unit unit, int64_t elements, EngineKind engine) {
    return compiler_cost(costs, demand_of(unit, elements), engine).issue.nanoseconds();
  };
  const auto multiply = [&](MatmulClass matmul, int64_t columns) {
    return compiler_cost(costs, product_of(matmul, columns), EngineKind::kTensor)
        .issue.nanoseconds();
  };
  const double product = multiply(MatmulClass::kFp32, 512);
  const double transpose = multiply(MatmulClass::kFp32Transpose, 128);
  const double copy = issue(Unit::kElementwise, 512, EngineKind::kScalar);
  EXPECT_NEAR(product, (512 + 64) / 1.4, 1);
  EXPECT_NEAR(multiply(MatmulClass::k16bit, 512), 46 + 512 / 2.8, 1);
  EXPECT_NEAR(copy, (512 + 224) / 1.4, 1);
  EXPECT_NEAR(issue(Unit::kElementwise, 512, EngineKind::kVector), 60 + 512 / 1.12, 1);
  Demand far = demand_of(Unit::kElementwise, 512);
  far.steps[0].strided = true;
  EXPECT_NEAR(compiler_cost(costs, far, EngineKind::kVector, 2).issue.nanoseconds(),
              60 + 2 * 512 / 1.12, 1);
  EXPECT_EQ(compiler_cost(costs, far, EngineKind::kVector).issue,
            compiler_cost(costs, demand_of(Unit::kElementwise, 512), EngineKind::kVector).issue);
  EXPECT_LT(product, copy);
  EXPECT_GT(4 * transpose, copy);  // "four transposes are not shorter than a copy"
  const CompilerCost load =
      compiler_cost(costs, demand_of(Unit::kDma, 128, 2000), EngineKind::kSync);
  EXPECT_EQ(load.issue.nanoseconds(), 600);
  EXPECT_EQ(load.transfer.nanoseconds(), 1024);
  EXPECT_EQ(load.latency.nanoseconds(), 1500);
  const Demand fixed = demand_of(Unit::kDma, 128, 2000, DescriptorKind::kStatic);
  EXPECT_EQ(compiler_cost(costs, fixed, EngineKind::kSync).issue.nanoseconds(), 60);
}

TEST(CompilerCosts, EachIsStatedOnceWithItsSource) {
  std::set<std::string_view> names;
  for (const CompilerCostFact& fact : compiler_cost_facts()) {
    EXPECT_TRUE(names.insert(fact.name).second) << fact.name;
    EXPECT_GT(fact.value, 0);
    EXPECT_EQ(compiler_costs().*fact.field, fact.value) << fact.name;
    EXPECT_FALSE(std::string_view(fact.source).empty());
  }
}

TEST(Schedule, PsumBanksTakeTurnsInTheOrderOfTheProducts) {
  LabelledLine baseline = AttentionStatements(trn2(), kFloat).baseline();
  run_pass(baseline.line, "rename_buffers");
  ASSERT_TRUE(run_pass(baseline.line, "schedule", settings()));
  std::vector<int64_t> banks;
  std::vector<bool> seen(baseline.line.tiles.size());
  for (const StraightInstruction& instance : baseline.line.instructions) {
    for (const StraightOperand& operand : baseline.line.operands_of(instance)) {
      if (operand.memory != MemoryKind::kPsum || seen[static_cast<size_t>(operand.tile)]) continue;
      seen[static_cast<size_t>(operand.tile)] = true;
      banks.push_back(baseline.line.tile_of(operand).address / 2048);
    }
  }
  EXPECT_EQ(banks, (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4}));
}

/// out[i] = f(a[i]) of every tile in a loop, as a kernel is written.
std::shared_ptr<const Program> streaming(int64_t iterations, int64_t width = 512) {
  Builder builder("streaming", trn2());
  const View in = builder.argument("in", {iterations, 128, width}, kFloat);
  const View out = builder.argument("out", {iterations, 128, width}, kFloat);
  builder.loop(iterations, [&](const Affine& i) {
    const View tile = builder.sbuf("tile", {128, width}, kFloat);
    const View result = builder.sbuf("result", {128, width}, kFloat);
    builder.emit(DmaCopy{.dst = tile, .src = in.select(0, i)});
    builder.emit(TensorTensor{result, tile, tile, AluOp::kMultiply, EngineKind::kVector});
    builder.emit(DmaCopy{.dst = out.select(0, i), .src = result});
  });
  return builder.finish();
}

TEST(Schedule, LoadsOfLaterIterationsOvertakeStores) {
  const auto program = streaming(8);
  const Compiled compiled = compile(program, settings());
  ASSERT_EQ(compiled.unchanged, "");
  const auto copies = instructions_named(*compiled.program, "dma_copy");
  for (size_t i = 0; i < copies.size(); ++i) {
    const Operand& target = compiled.program->operands_of(*copies[i])[0];
    EXPECT_EQ(target.memory == MemoryKind::kSbuf, i < 8) << i;  // all loads come first
  }
  EXPECT_LT(simulate(*compiled.program).body.count * 3, simulate(*program).body.count * 2);
  EXPECT_EQ(bytes_after(program), bytes_after(compiled.program));
}

TEST(Schedule, AFullSbufHoldsLoadsBackAndTheBytesStay) {
  const auto program = streaming(7, 8192);  // 64 KiB per partition and iteration
  const Compiled compiled = compile(program, settings());
  const int64_t capacity = trn2().limits.sbuf_usable.count;
  EXPECT_LE(compiled.program->sbuf_peak, capacity);
  EXPECT_GT(compiled.program->sbuf_peak, capacity - 65536);
  EXPECT_EQ(bytes_after(program), bytes_after(compiled.program));
}

TEST(Schedule, IsTheSameEveryTime) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    RandomProgramOptions options;
    const auto program = RandomProgram(seed, trn2(), options).build();
    const auto first = compile(program, settings()).program;
    const auto second = compile(program, settings()).program;
    EXPECT_EQ(listing(*first), listing(*second));
  }
}

/// Sums of two tiles each: the first ones are there at once, the second ones wait for loads, and
/// the first ones for them.
std::shared_ptr<const Program> pairs(int64_t count) {
  Builder builder("pairs", trn2());
  const View early = builder.argument("early", {128, 128}, kFloat);
  const View late = builder.argument("late", {count, 128, 1024}, kFloat);
  const View out = builder.argument("out", {count, 128, 128}, kFloat);
  const View a = builder.sbuf("a", {128, 128}, kFloat);
  builder.emit(DmaCopy{.dst = a, .src = early});
  builder.loop(count, [&](const Affine& i) {
    const View b = builder.sbuf("b", {128, 1024}, kFloat);
    const View first = builder.psum("first", {128, 128}),
               second = builder.psum("second", {128, 128});
    const View sum = builder.sbuf("sum", {128, 128}, kFloat);
    const View copy = builder.sbuf("copy", {128, 128}, kFloat);
    builder.emit(NcMatmul{.dst = first, .stationary = a, .moving = a});
    builder.emit(DmaCopy{.dst = b, .src = late.select(0, i)});
    builder.emit(NcMatmul{.dst = second, .stationary = a, .moving = b.slice(1, 0, 128)});
    builder.emit(TensorCopy{copy, second});
    builder.emit(TensorTensor{sum, first, copy, AluOp::kAdd, EngineKind::kVector});
    builder.emit(DmaCopy{.dst = out.select(0, i), .src = sum});
  });
  return builder.finish();
}

TEST(Schedule, WhenTheGreedyOrderRunsOutOfBanksTheyArePlanned) {
  for (const int64_t count : {3, 12}) {  // six tiles fit into the banks, 24 do not
    const auto program = pairs(count);
    StraightLine line = *unroll(*program).line;
    run_pass(line, "rename_buffers");
    ASSERT_TRUE(run_pass(line, "allocate_sbuf"));
    ASSERT_TRUE(run_pass(line, "schedule", settings())) << count;
    EXPECT_EQ(bytes_after(program), bytes_after(lower(line)));
  }
}

TEST(Schedule, WhenBanksDoNotSufficeAtAllTheProgramOrderStays) {
  Builder builder("nine banks", trn2());
  const View out = builder.argument("out", {8, 128, 512}, kFloat);
  const View result = builder.sbuf("result", {128, 512}, kFloat);
  const View gate = builder.sbuf("gate", {128, 512}, kFloat);
  std::vector<View> tiles;
  for (int i = 0; i < 8; ++i) {
    tiles.push_back(builder.psum("tile", {128, 512}));
    builder.emit(Memset{tiles.back().slice(1, 0, 256), 1.0 + i, EngineKind::kVector});
    builder.emit(Memset{tiles.back().slice(1, 256, 256), 2, EngineKind::kVector});
  }
  // Reads the first version of tile 7 and begins its second one: nine banks at once.
  builder.emit(TensorCopy{tiles[7].slice(1, 256, 256), tiles[7].slice(1, 0, 256)});
  builder.emit(Memset{tiles[7].slice(1, 0, 256), 3, EngineKind::kVector});
  builder.emit(TensorCopy{gate, tiles[7]});
  for (int i = 0; i < 8; ++i) {
    builder.emit(TensorTensor{result, tiles[static_cast<size_t>(i)], gate, AluOp::kAdd});
    builder.emit(DmaCopy{.dst = out.select(0, i), .src = result});
  }
  const auto program = builder.finish();
  StraightLine line = *unroll(*program).line;
  run_pass(line, "rename_buffers");
  const std::string before = listing(*lower(line));
  EXPECT_FALSE(run_pass(line, "schedule", settings()));
  EXPECT_EQ(listing(*lower(line)), before);
  EXPECT_EQ(bytes_after(program), bytes_after(compile(program, settings()).program));
}

/// Engines of two copies, out of PSUM and within SBUF, of which Vector alone could make the second
/// with the same bytes if it is of another dtype than fp32 on generation 2.
std::vector<EngineKind> engines_of_copies(const char* architecture, Dtype dtype,
                                          EngineKind engine = EngineKind::kAuto) {
  Builder builder("copies", load_architecture(architecture));
  const View psum = builder.psum("psum", {128, 64}, kFloat);
  const View first = builder.sbuf("first", {128, 64}, dtype);
  const View second = builder.sbuf("second", {128, 64}, dtype);
  builder.emit(Memset{psum, 1, EngineKind::kVector});
  builder.emit(TensorCopy{first, psum, engine});
  builder.emit(TensorCopy{second, first, engine});
  PassSettings kept = settings();
  for (const char* elision : {"elide_psum_copies", "eliminate_copies"}) kept.set(elision, 0);
  const Compiled compiled = compile(builder.finish(), kept);
  std::vector<EngineKind> engines;
  for (const Instruction* copy : instructions_named(*compiled.program, "tensor_copy")) {
    engines.push_back(copy->engine);
  }
  return engines;
}

TEST(Schedule, OpenCopiesMoveToTheEngineThatIsFreeFirst) {
  using enum EngineKind;
  using Engines = std::vector<EngineKind>;
  EXPECT_EQ(engines_of_copies("trn2", kFloat), (Engines{kScalar, kScalar}));
  EXPECT_EQ(engines_of_copies("trn2", kFloat, kVector), (Engines{kVector, kVector}));
  EXPECT_EQ(engines_of_copies("trn2", Dtype::kInt32), (Engines{kScalar, kScalar}));
}

TEST(Schedule, CopiesThatScalarWouldPassThroughFp32StayOnGeneration2) {
  using enum EngineKind;
  using Engines = std::vector<EngineKind>;
  EXPECT_EQ(engines_of_copies("trn1", kFloat), (Engines{kScalar, kScalar}));
  EXPECT_EQ(engines_of_copies("trn1", Dtype::kInt32), (Engines{kScalar, kVector}));
}

/// Copies that Vector makes, of eight out of PSUM and of as many within SBUF, which wait for
/// nothing but an engine.
std::pair<int64_t, int64_t> copies_on_vector(int64_t on_scalar) {
  Builder builder("copies", load_architecture("trn1"));
  const View psum = builder.psum("psum", {128, 512}, kFloat);
  const View from = builder.sbuf("from", {128, 512}, kFloat);
  const View copies = builder.sbuf("copies", {128, 16, 512}, kFloat);
  builder.emit(Memset{psum, 1, EngineKind::kVector});
  builder.emit(Memset{from, 1, EngineKind::kVector});
  for (int64_t i = 0; i < 16; ++i) {
    builder.emit(TensorCopy{copies.select(1, i), i % 2 == 0 ? psum : from});
  }
  PassSettings wanted = settings();
  wanted.set("copy_psum_on_scalar", on_scalar);
  const auto compiled = compile(builder.finish(), wanted).program;
  std::pair<int64_t, int64_t> found;
  for (const Instruction* copy : instructions_named(*compiled, "tensor_copy")) {
    const Operand& source = compiled->operands[copy->first_operand + 1];
    const bool within = source.memory == MemoryKind::kSbuf;
    if (copy->engine == EngineKind::kVector) ++(within ? found.second : found.first);
  }
  return found;
}

TEST(Schedule, CopiesOutOfPsumAllStayOnScalarWhenThatIsWanted) {
  const auto [free_of_psum, free_within] = copies_on_vector(0);
  EXPECT_GT(free_of_psum, 0);
  EXPECT_GT(free_of_psum + free_within, 4);
  const auto [of_psum, within] = copies_on_vector(1);
  EXPECT_EQ(of_psum, 0);
  EXPECT_GT(within, free_within);
}

}  // namespace
}  // namespace neuron_sim
