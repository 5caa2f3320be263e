#include "device/isa/reduction/select_reduce.h"

#include "device/builder/builder.h"
#include "device/instruction/vector_accumulator.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/reduction/range_select.h"
#include "device/isa/reduction/tensor_scalar_reduce.h"
#include "tests/device/execute/run_program.h"
#include "tests/device/isa/patterns.h"

namespace neuron_sim {
namespace {

constexpr auto kU8 = Dtype::kUint8;

struct Select : InstructionTiles<SelectReduce> {
  explicit Select(std::vector<int64_t> shape, Dtype dtype = kFp32, Dtype predicate = kU8,
                  MemoryKind on_true = kSbuf, MemoryKind mask = kSbuf) {
    instruction.dst = bench.tile(kSbuf, dtype, shape, "dst");
    instruction.on_true = bench.tile(on_true, dtype, shape, "on_true");
    instruction.predicate = bench.tile(mask, predicate, shape, "mask");
  }
};

bool selectable(Dtype dtype) {
  return dtype != Dtype::kTfloat32 && dtype != Dtype::kInt32 && dtype != Dtype::kUint32;
}

TEST(SelectReduce, SelectsForAllDtypesPatternsAndBothSensesAndTakesTheMaximum) {
  for (const Dtype dtype : all_dtypes()) {
    for (const Dtype target_dtype : {kFp32, kBf16, Dtype::kInt8}) {
      for (const Pattern source : source_patterns()) {
        for (const bool reverse : {false, true}) {
          SCOPED_TRACE(std::string(name(dtype)));
          InstructionBench bench;
          SelectReduce instruction{
              .dst = pattern_view(bench, Pattern::kGaps, target_dtype, "dst"),
              .predicate = pattern_view(bench, source, Dtype::kInt16, "mask"),
              .on_true = pattern_view(bench, source, dtype, "on_true"),
              .on_false = bench.tile(kPsum, kFp32, {3, 1}, "on_false", {-1.3, 2.75, 0}),
              .reduce_res = bench.tile(kSbuf, kFp32, {3, 1}, "max"),
              .reduce_command = ReduceCommand::kResetReduce,
              .reverse_pred = reverse};
          if (!selectable(dtype)) {
            EXPECT_EQ(bench.error(instruction),
                      text("dtype ", name(dtype),
                           " of operand 'on_true' of 'select_reduce' is not supported; expected "
                           "any dtype but tfloat32, int32 and uint32."));
            continue;
          }
          const std::vector<double> on_true = fill_random(bench, instruction.on_true, 2, 0, 9);
          const std::vector<double> mask = fill_random(bench, instruction.predicate, 3, -1, 1);
          const double on_false[] = {round_to(kFp32, -1.3), 2.75, 0};
          std::vector<double> expected, largest(3, -INFINITY);
          for (size_t i = 0; i < mask.size(); ++i) {
            const size_t p = i / kPatternElements;
            const double value = (mask[i] != 0) != reverse ? on_true[i] : on_false[p];
            expected.push_back(stored(target_dtype, value));
            largest[p] = std::max(largest[p], value);
          }
          bench.run(instruction);
          expect_values(bench.get(instruction.dst), expected);
          expect_values(bench.get(instruction.reduce_res), largest);
        }
      }
    }
  }
}

TEST(SelectReduce, IdleLeavesTheRegistersAndReduceGoesOn) {
  Select select({1, 3});
  select.bench.set(select.instruction.on_true, {5, 9, 2});
  select.bench.set(select.instruction.predicate, {1, 0, 1});
  select.bench.set(engine_state(EngineState::kVectorAccumulator, 1), {4.5});
  select.instruction.constant_false = -7;
  expect_values(select.run(), {5, -7, 2});
  expect_values(select.registers(1), {4.5});
  select.instruction.reduce_command = ReduceCommand::kReduce;
  select.run();
  expect_values(select.registers(1), {5});
  select.bench.set(select.instruction.on_true, {1, 1, 3});
  select.run();
  expect_values(select.registers(1), {5});
  select.instruction.reduce_command = ReduceCommand::kResetReduce;
  select.run();
  expect_values(select.registers(1), {3});
  select.instruction.reduce_command = ReduceCommand::kIdle;
  select.instruction.reduce_res = select.bench.tile(kSbuf, kBf16, {1, 1}, "max");
  select.run();
  expect_values(select.bench.get(select.instruction.reduce_res), {3});
}

TEST(SelectReduce, NanWinsWhereItIsSelectedAndOnlyThere) {
  Select select({2, 2});
  select.bench.set(select.instruction.on_true, {NAN, 1, NAN, -INFINITY});
  select.bench.set(select.instruction.predicate, {1, 1, 0, 255});
  select.instruction.constant_false = -INFINITY;
  select.instruction.reduce_command = ReduceCommand::kResetReduce;
  expect_values(select.run(), {NAN, 1, -INFINITY, -INFINITY});
  expect_values(select.registers(2), {NAN, -INFINITY});
}

TEST(SelectReduce, ChecksDtypesSpacesCommandsAndShapes) {
  EXPECT_EQ(Select({128, 4096}, kFp32, kU8, kPsum).error(), "");
  EXPECT_EQ(Select({2, 2}, kFp32, kU8, kPsum, kPsum).error(),
            "operands 'on_true' and 'predicate' of 'select_reduce' are both in PSUM; at most one "
            "input may be (architecture trn2).");
  for (const Dtype dtype : {Dtype::kInt8, Dtype::kInt16, Dtype::kUint16}) {
    EXPECT_EQ(Select({2, 2}, kFp32, dtype).error(), "");
  }
  for (const Dtype dtype : {Dtype::kBool, Dtype::kUint32, kFp32}) {
    EXPECT_EQ(Select({2, 2}, kFp32, dtype).error(),
              text("dtype ", name(dtype),
                   " of operand 'predicate' of 'select_reduce' is not supported; expected int8, "
                   "uint8, int16 or uint16."));
  }
  Select select({2, 2});
  select.instruction.reduce_op = AluOp::kAdd;
  EXPECT_EQ(select.error(),
            "reduce_op 'add' of 'select_reduce' is not supported; expected one of: maximum.");
  select.instruction.reduce_op = AluOp::kMaximum;
  for (const ReduceCommand command : {ReduceCommand::kReset, ReduceCommand::kLoadReduce}) {
    select.instruction.reduce_command = command;
    EXPECT_EQ(select.error(), text("reduce_cmd '", name(command),
                                   "' of 'select_reduce' is not supported; expected one of: idle, "
                                   "reduce, reset_reduce."));
  }
  select.instruction.reduce_command = ReduceCommand::kResetReduce;
  select.instruction.reduce_res = select.bench.tile(kSbuf, Dtype::kInt32, {2, 1}, "r");
  EXPECT_EQ(select.error(),
            "dtype int32 of operand 'reduce_res' of 'select_reduce' is not supported; expected a "
            "floating dtype.");
  select.instruction.reduce_res = select.bench.tile(kSbuf, kFp32, {3, 1}, "r");
  EXPECT_EQ(select.error(),
            "number of partitions (dimension 0 size of a tile) mismatch in parameters (data[2, "
            "2], reduce_res[3, 1]) of 'select_reduce'");
  select.instruction.reduce_res = View();
  select.instruction.on_false = select.bench.tile(kSbuf, kFp32, {2, 2}, "f");
  EXPECT_EQ(select.error(),
            "operand 'on_false[2, 2]' of 'select_reduce' must have one element per partition, but "
            "it has 2.");
  EXPECT_EQ(Select({129, 1}).error(),
            "number of partitions 129 exceed architecture limitation of 128. (instruction "
            "'select_reduce', operand 'on_true', architecture trn2)");
  EXPECT_EQ(Select({1, 4097}, kFp32, kU8, kPsum).error(),
            "number of elements per partition 4097 in 'on_true[1, 4097]' of 'select_reduce' "
            "exceed architecture limitation of 4096 in psum. (instruction 'select_reduce', "
            "operand 'on_true', architecture trn2)");
}

TEST(SelectReduce, DemandsTwoInputsAndReadingTheRegisters) {
  Select select({2, 7});
  EXPECT_EQ(select.step().rate, RateClass::kTwoInputs);
  EXPECT_EQ(select.step().elements, 7);
  EXPECT_FALSE(select.step().reads_accumulator || select.step().pointer_operand);
  select.instruction.reduce_res = select.bench.tile(kSbuf, kFp32, {2, 1}, "r");
  select.instruction.on_false = select.bench.tile(kSbuf, kFp32, {2, 1}, "f");
  EXPECT_TRUE(select.step().reads_accumulator && select.step().pointer_operand);
  EXPECT_EQ(Select({2, 7}, kFp32, kU8, kPsum).step().rate, RateClass::kTwoInputsPsum);
}

/// One maximum over four tiles: each of three instructions goes on where the previous one stopped.
std::shared_ptr<const Program> chained_program() {
  Builder builder("chained", load_architecture("trn2"));
  const View in = builder.argument("in", {4, 128, 50}, kFp32);
  const View bounds = builder.argument("bounds", {128, 2}, kFp32);
  const View out = builder.argument("out", {128, 1}, kFp32);
  const View bound = builder.sbuf("bound", {128, 2}, kFp32);
  const View largest = builder.sbuf("largest", {128, 1}, kFp32);
  builder.emit(DmaCopy{.dst = bound, .src = bounds});
  std::vector<View> tiles;
  for (int64_t i = 0; i < 4; ++i) {
    tiles.push_back(builder.sbuf(text("tile", i), {128, 50}, kFp32));
    builder.emit(DmaCopy{.dst = tiles.back(), .src = in.select(0, Affine(i))});
  }
  const View mask = builder.sbuf("mask", {128, 50}, kU8);
  const View copy = builder.sbuf("copy", {128, 50}, kFp32);
  builder.emit(TensorCopy{.dst = mask, .src = tiles[3]});
  builder.emit(TensorScalarReduce{.dst = copy, .data = tiles[0], .reduce_op = AluOp::kMaximum});
  builder.emit(SelectReduce{.dst = copy,
                            .predicate = mask,
                            .on_true = tiles[1],
                            .constant_false = -100,
                            .reduce_command = ReduceCommand::kReduce});
  builder.emit(RangeSelect{.dst = copy,
                           .on_true_tile = tiles[2],
                           .bound0 = bound.slice(1, 0, 1),
                           .bound1 = bound.slice(1, 1, 1),
                           .reduce_res = largest,
                           .reduce_command = ReduceCommand::kReduce});
  builder.emit(DmaCopy{.dst = out, .src = largest});
  return builder.finish();
}

TEST(SelectReduce, InstructionsOfAProgramShareTheRegistersInOrderOnAnyThreads) {
  const auto program = chained_program();
  const ExecutionPlan plan = make_plan(*program);
  for (const int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    ProgramRun run(program);
    run.randomise(9);
    const float* in = run.data<float>(0);
    float* bounds = run.data<float>(1);
    for (int64_t p = 0; p < 128; ++p) {
      bounds[2 * p] = static_cast<float>(p % 20);
      bounds[2 * p + 1] = static_cast<float>(p % 20 + 9);
    }
    run.execute(plan, pool);
    for (int64_t p = 0; p < 128; ++p) {
      float largest = -INFINITY;
      for (int64_t i = 0; i < 50; ++i) {
        const auto at = [&](int64_t tile) { return in[(tile * 128 + p) * 50 + i]; };
        largest = std::max(largest, at(0));
        const bool masked = std::nearbyint(std::max(at(3), 0.0F)) != 0;
        largest = std::max(largest, masked ? at(1) : -100.0F);
        if (i >= p % 20 && i < p % 20 + 9) largest = std::max(largest, at(2));
      }
      ASSERT_EQ(run.data<float>(2)[p], largest) << p;
    }
  }
}

}  // namespace
}  // namespace neuron_sim
