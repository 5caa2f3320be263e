#include "device/isa/reduction/range_select.h"

#include "tests/device/isa/patterns.h"

namespace neuron_sim {
namespace {

constexpr double kLowest = -0x1.fffffep127;
constexpr AluOp kComparisons[] = {AluOp::kEqual, AluOp::kLess, AluOp::kLessEqual, AluOp::kGreater,
                                  AluOp::kGreaterEqual};

struct Range : InstructionTiles<RangeSelect> {
  explicit Range(std::vector<int64_t> shape, Dtype dtype = kFp32, MemoryKind memory = kSbuf,
                 Architecture architecture = test_architecture())
      : InstructionTiles{InstructionBench(std::move(architecture)), {}} {
    const int64_t partitions = shape[0];
    instruction.dst = bench.tile(kSbuf, dtype, shape, "dst");
    instruction.on_true_tile = bench.tile(memory, dtype, shape, "x");
    instruction.bound0 = bench.tile(kSbuf, kFp32, {partitions, 1}, "b0");
    instruction.bound1 = bench.tile(kSbuf, kFp32, {partitions, 1}, "b1");
    instruction.reduce_res = bench.tile(kSbuf, kFp32, {partitions, 1}, "max");
  }
  std::vector<double> largest() { return bench.get(instruction.reduce_res); }
};

bool holds(AluOp op, double index, double bound) {
  switch (op) {
    case AluOp::kEqual: return index == bound;
    case AluOp::kLess: return index < bound;
    case AluOp::kLessEqual: return index <= bound;
    case AluOp::kGreater: return index > bound;
    default: return index >= bound;
  }
}

TEST(RangeSelect, KeepsTheIndicesWithinBothBoundsForEveryPairOfComparisons) {
  for (const AluOp op0 : kComparisons) {
    for (const AluOp op1 : kComparisons) {
      for (const int64_t start : {int64_t{0}, int64_t{-5}, int64_t{100}}) {
        SCOPED_TRACE(text(name(op0), " ", name(op1), " ", start));
        Range range({3, 21});
        const double bounds0[] = {static_cast<double>(start + 4), -1, 6.5};
        const double bounds1[] = {static_cast<double>(start + 4), 103, 1e9};
        range.instruction.comp_op0 = op0;
        range.instruction.comp_op1 = op1;
        range.instruction.range_start = start;
        range.bench.set(range.instruction.bound0, {bounds0[0], bounds0[1], bounds0[2]});
        range.bench.set(range.instruction.bound1, {bounds1[0], bounds1[1], bounds1[2]});
        const std::vector<double> x = fill_random(range.bench, range.instruction.on_true_tile, 3);
        std::vector<double> expected, largest(3, -INFINITY);
        for (size_t i = 0; i < x.size(); ++i) {
          const size_t p = i / 21;
          const double index = static_cast<double>(start) + static_cast<double>(i % 21);
          const bool kept = holds(op0, index, bounds0[p]) && holds(op1, index, bounds1[p]);
          expected.push_back(kept ? x[i] : kLowest);
          largest[p] = std::max(largest[p], expected.back());
        }
        expect_values(range.run(), expected);
        expect_values(range.largest(), largest);
      }
    }
  }
}

TEST(RangeSelect, CountsRowMajorOverAnyPatternAndFloatingDtype) {
  for (const Dtype dtype : all_dtypes()) {
    for (const Pattern source : source_patterns()) {
      for (const Pattern target : target_patterns()) {
        SCOPED_TRACE(std::string(name(dtype)));
        InstructionBench bench;
        RangeSelect instruction{.dst = pattern_view(bench, target, kBf16, "dst"),
                                .on_true_tile = pattern_view(bench, source, dtype, "x"),
                                .bound0 = bench.tile(kPsum, kFp32, {3, 1}, "b0", {2, 5, 30}),
                                .bound1 = bench.tile(kSbuf, kFp32, {3, 1}, "b1", {9, 24, 40}),
                                .reduce_res = bench.tile(kSbuf, kFp32, {3, 1}, "max")};
        if (!is_float(dtype)) {
          EXPECT_EQ(bench.error(instruction),
                    text("dtype ", name(dtype),
                         " of operand 'on_true_tile' of 'range_select' is not supported; expected "
                         "a floating dtype."));
          continue;
        }
        const std::vector<double> x = fill_random(bench, instruction.on_true_tile, 4);
        const double low[] = {2, 5, 30}, high[] = {9, 24, 40};
        std::vector<double> expected, largest(3, kLowest);
        for (size_t i = 0; i < x.size(); ++i) {
          const size_t p = i / kPatternElements;
          const auto index = static_cast<double>(i % kPatternElements);
          const double value = index >= low[p] && index < high[p] ? x[i] : kLowest;
          expected.push_back(stored(kBf16, value));  // the lowest fp32 becomes -inf
          largest[p] = std::max(largest[p], value);
        }
        bench.run(instruction);
        expect_values(bench.get(instruction.dst), expected);
        expect_values(bench.get(instruction.reduce_res), largest);
      }
    }
  }
}

TEST(RangeSelect, CommandsWorkOnTheRegisters) {
  Range range({1, 3});
  range.bench.set(range.instruction.bound0, {0});
  range.bench.set(range.instruction.bound1, {2});
  range.bench.set(range.instruction.on_true_tile, {4, 6, 9});
  const View registers = engine_state(EngineState::kVectorAccumulator, 1);
  const auto after = [&](ReduceCommand command, double held) {
    range.instruction.reduce_command = command;
    range.bench.set(registers, {held});
    range.run();
    EXPECT_EQ(range.bench.get(registers), range.largest());
    return range.largest()[0];
  };
  EXPECT_EQ(after(ReduceCommand::kIdle, 7), 7);
  EXPECT_EQ(after(ReduceCommand::kReset, 7), -INFINITY);
  EXPECT_EQ(after(ReduceCommand::kReduce, 7), 7);
  EXPECT_EQ(after(ReduceCommand::kReduce, 5), 6);
  EXPECT_EQ(after(ReduceCommand::kResetReduce, 7), 6);
}

TEST(RangeSelect, NanIsKeptLikeANumberAndANanBoundKeepsNothing) {
  Range range({2, 3});
  range.bench.set(range.instruction.on_true_tile, {NAN, 1, INFINITY, 1, 2, 3});
  range.bench.set(range.instruction.bound0, {0, 0});
  range.bench.set(range.instruction.bound1, {9, NAN});
  expect_values(range.run(), {NAN, 1, INFINITY, kLowest, kLowest, kLowest});
  expect_values(range.largest(), {NAN, kLowest});
}

TEST(RangeSelect, NeedsGenerationThree) {
  Architecture architecture = test_architecture();
  architecture.name = "trn1";
  architecture.neuron_core = "NeuronCore-v2";
  architecture.generation = 2;
  Range range({2, 2}, kFp32, kSbuf, architecture);
  EXPECT_EQ(range.error(),
            "instruction 'range_select' needs NeuronCore-v3 or newer; architecture trn1 is a "
            "NeuronCore-v2.");
  EXPECT_EQ(range.bench.error_kind(range.instruction), ErrorKind::kNotImplemented);
  EXPECT_EQ(Range({2, 2}).error(), "");
}

TEST(RangeSelect, ChecksComparisonsValuesAndOperands) {
  Range range({2, 4});
  RangeSelect& instruction = range.instruction;
  instruction.comp_op0 = AluOp::kNotEqual;
  EXPECT_EQ(range.error(),
            "operator comp_op0 'not_equal' of 'range_select' is not supported; expected equal, "
            "less, less_equal, greater or greater_equal.");
  instruction.comp_op0 = AluOp::kEqual;
  instruction.comp_op1 = AluOp::kAdd;
  EXPECT_EQ(range.error(),
            "operator comp_op1 'add' of 'range_select' is not supported; expected equal, less, "
            "less_equal, greater or greater_equal.");
  instruction.comp_op1 = AluOp::kLess;
  instruction.on_false_value = -1e30;
  EXPECT_EQ(range.error(),
            "on_false_value -1e+30 of 'range_select' is not supported; it must be FP32_MIN, "
            "-3.4028235e+38.");
  instruction.on_false_value = kLowest;
  instruction.range_start = (1 << 24) - 4;
  EXPECT_EQ(range.error(), "");
  for (const int64_t start : {int64_t{(1 << 24) - 3}, INT64_MAX, int64_t{-(1 << 24)}, INT64_MIN}) {
    instruction.range_start = start;
    EXPECT_EQ(range.error(), text("range_start ", start,
                                  " of 'range_select' with 4 elements per partition gives indices "
                                  "that are not within 2^24."));
  }
  instruction.range_start = -(1 << 24) + 1;
  EXPECT_EQ(range.error(), "");
  instruction.range_start = 0;
  instruction.reduce_op = AluOp::kMinimum;
  EXPECT_EQ(range.error(),
            "reduce_op 'minimum' of 'range_select' is not supported; expected one of: maximum.");
  instruction.reduce_op = AluOp::kMaximum;
  instruction.reduce_command = ReduceCommand::kLoadReduce;
  EXPECT_EQ(range.error(),
            "reduce_cmd 'load_reduce' of 'range_select' is not supported; expected one of: idle, "
            "reset, reduce, reset_reduce.");
  instruction.reduce_command = ReduceCommand::kResetReduce;
  instruction.bound1 = range.bench.tile(kSbuf, Dtype::kInt32, {2, 1}, "b");
  EXPECT_EQ(range.error(),
            "dtype int32 of operand 'bound1' of 'range_select' is not supported; expected "
            "float32.");
  instruction.bound1 = View();
  EXPECT_EQ(range.error(),
            "Expected operand 'bound1' of 'range_select' to be in address space 'psum|sbuf', but "
            "it is missing.");
  EXPECT_EQ(Range({128, 4096}, kFp32, kPsum).error(), "");
  EXPECT_EQ(
      Range({1, 4097}, kFp32, kPsum).error(),
      "number of elements per partition 4097 in 'on_true_tile[1, 4097]' of 'range_select' exceed "
      "architecture limitation of 4096 in psum. (instruction 'range_select', operand "
      "'on_true_tile', architecture trn2)");
}

TEST(RangeSelect, DemandsOnePassWithAndWithoutAResult) {
  Range range({2, 7}, kBf16, kPsum);
  EXPECT_EQ(range.step().rate, RateClass::kOneInput);
  EXPECT_EQ(range.step().elements, 7);
  EXPECT_TRUE(range.step().source_psum && range.step().pointer_operand);
  EXPECT_FALSE(range.step().reads_accumulator);
}

}  // namespace
}  // namespace neuron_sim
