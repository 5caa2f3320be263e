#include "device/isa/reduction/tensor_tensor_scan.h"

#include "tests/device/isa/patterns.h"
#include "tests/device/isa/vector_operators.h"

namespace neuron_sim {
namespace {

struct Scan : InstructionTiles<TensorTensorScan> {
  explicit Scan(std::vector<int64_t> shape, Dtype dtype = kFp32, MemoryKind data0 = kSbuf,
                MemoryKind data1 = kSbuf) {
    instruction.dst = bench.tile(kSbuf, dtype, shape, "dst");
    instruction.data0 = bench.tile(data0, dtype, shape, "data0");
    instruction.data1 = bench.tile(data1, dtype, shape, "data1");
  }
};

/// The recurrence in float64, rounded to fp32 after every operator; `initial` per partition.
std::vector<double> oracle_scan(const TensorTensorScan& scan, const std::vector<double>& data0,
                                const std::vector<double>& data1,
                                const std::vector<double>& initial) {
  const size_t row = data0.size() / initial.size();
  std::vector<double> result;
  for (size_t i = 0; i < data0.size(); ++i) {
    const double before = i % row == 0 ? round_to(kFp32, initial[i / row]) : result.back();
    const double first = oracle_apply(scan.op0, data0[i], before, scan.reverse0);
    result.push_back(oracle_apply(scan.op1, first, data1[i], scan.reverse1));
  }
  return result;
}

TEST(TensorTensorScan, FollowsTheRecurrenceForEveryPairOfOperatorsAndOrder) {
  Scan scan({2, 17});
  scan.bench.set(scan.instruction.data0, random_values(34, 0.5, 1.5, 1));
  scan.bench.set(scan.instruction.data1, random_values(34, -2, 2, 2));
  scan.instruction.constant_initial = 0.7;
  const std::vector<double> data0 = scan.bench.get(scan.instruction.data0);
  const std::vector<double> data1 = scan.bench.get(scan.instruction.data1);
  for (const AluOp op0 : arithmetic_operators()) {
    for (const AluOp op1 : arithmetic_operators()) {
      if (op0 == AluOp::kDivide || op1 == AluOp::kDivide) continue;
      for (const int reverse : {0, 1, 2, 3}) {
        SCOPED_TRACE(text(name(op0), " ", name(op1), " ", reverse));
        scan.instruction.op0 = op0;
        scan.instruction.op1 = op1;
        scan.instruction.reverse0 = (reverse & 1) != 0;
        scan.instruction.reverse1 = (reverse & 2) != 0;
        std::vector<double> expected = oracle_scan(scan.instruction, data0, data1, {0.7, 0.7});
        std::vector<double> actual = scan.run();
        for (double& value : expected) value += 0.0;  // the sign of zero is tested elsewhere
        for (double& value : actual) value += 0.0;
        expect_values(actual, expected);
      }
    }
  }
}

TEST(TensorTensorScan, CarriesFp32AndRoundsToAnyDtypeOnce) {
  for (const Dtype dtype : all_dtypes()) {
    for (const Pattern source : source_patterns()) {
      for (const Pattern target : target_patterns()) {
        SCOPED_TRACE(std::string(name(dtype)));
        InstructionBench bench;
        TensorTensorScan scan{
            .dst = pattern_view(bench, target, dtype, "dst"),
            .data0 = pattern_view(bench, source, kBf16, "data0"),
            .data1 = pattern_view(bench, source, dtype, "data1"),
            .initial = bench.tile(kPsum, Dtype::kFloat16, {3, 1}, "initial", {1, -2, 0.5})};
        const std::vector<double> data0 = fill_random(bench, scan.data0, 3, -1, 1);
        const std::vector<double> data1 = fill_random(bench, scan.data1, 4, 0, 9);
        std::vector<double> expected = oracle_scan(scan, data0, data1, {1, -2, 0.5});
        for (double& value : expected) value = stored(dtype, value);
        bench.run(scan);
        expect_values(bench.get(scan.dst), expected);
      }
    }
  }
}

TEST(TensorTensorScan, TheDestinationMayBeEitherInput) {
  for (const bool second : {false, true}) {
    Scan scan({1, 3});
    scan.bench.set(scan.instruction.data0, {2, 3, 4});
    scan.bench.set(scan.instruction.data1, {1, 1, 1});
    scan.instruction.dst = second ? scan.instruction.data1 : scan.instruction.data0;
    scan.instruction.constant_initial = 5;
    expect_values(scan.run(), {11, 34, 137});
  }
}

TEST(TensorTensorScan, ANanOrInfinityStaysInTheRestOfItsPartitionOnly) {
  Scan scan({2, 3});
  scan.bench.set(scan.instruction.data0, {1, NAN, 1, 1, 1, -1});
  scan.bench.set(scan.instruction.data1, {1, 1, 1, 1, INFINITY, 2});
  expect_values(scan.run(), {1, NAN, NAN, 1, INFINITY, -INFINITY});
  scan.bench.set(scan.instruction.data0, {-0.0, 1, 1, 1, 1, 1});
  scan.bench.set(scan.instruction.data1, {-0.0, -0.0, 0.0, 3, 4, 5});
  expect_values(scan.run(), {-0.0, -0.0, 0, 3, 7, 12});
}

TEST(TensorTensorScan, OneElementUsesTheInitialValue) {
  Scan scan({128, 1});
  scan.bench.set(scan.instruction.data0, std::vector<double>(128, 3));
  scan.bench.set(scan.instruction.data1, std::vector<double>(128, 4));
  scan.instruction.constant_initial = 2;
  expect_values(scan.run(), std::vector<double>(128, 10));
}

TEST(TensorTensorScan, ChecksOperatorsAndOperands) {
  Scan scan({2, 4});
  EXPECT_EQ(scan.error(), "");
  scan.instruction.op0 = AluOp::kSquare;
  EXPECT_EQ(scan.error(),
            "operator op0 'square' of 'tensor_tensor_scan' is not supported; expected an "
            "arithmetic operator of the Vector engine on two operands.");
  scan.instruction.op0 = AluOp::kAdd;
  scan.instruction.op1 = AluOp::kLeftShift;
  EXPECT_EQ(scan.error(),
            "operator op1 'left_shift' of 'tensor_tensor_scan' is not supported; expected an "
            "arithmetic operator of the Vector engine on two operands.");
  scan.instruction.op1 = AluOp::kAdd;
  scan.instruction.initial = scan.bench.tile(kSbuf, kFp32, {3, 1}, "i");
  EXPECT_EQ(scan.error(),
            "number of partitions (dimension 0 size of a tile) mismatch in parameters (data[2, "
            "4], initial[3, 1]) of 'tensor_tensor_scan'");
  scan.instruction.initial = scan.bench.tile(kSbuf, kFp32, {2, 2}, "i");
  EXPECT_EQ(scan.error(),
            "operand 'initial[2, 2]' of 'tensor_tensor_scan' must have one element per partition, "
            "but it has 2.");
  EXPECT_EQ(Scan({2, 4}, kFp32, kPsum, kPsum).error(),
            "operands 'data0' and 'data1' of 'tensor_tensor_scan' are both in PSUM; at most one "
            "input may be (architecture trn2).");
  EXPECT_EQ(Scan({128, 4096}, kFp32, kPsum).error(), "");
  EXPECT_EQ(Scan({1, 4097}, kFp32, kPsum).error(),
            "number of elements per partition 4097 in 'data0[1, 4097]' of 'tensor_tensor_scan' "
            "exceed architecture limitation of 4096 in psum. (instruction 'tensor_tensor_scan', "
            "operand 'data0', architecture trn2)");
  EXPECT_EQ(Scan({129, 1}).error(),
            "number of partitions 129 exceed architecture limitation of 128. (instruction "
            "'tensor_tensor_scan', operand 'data0', architecture trn2)");
}

TEST(TensorTensorScan, DemandsTwoCyclesPerElementWhereverItsInputsAre) {
  Scan scan({2, 7}, kBf16, kSbuf, kPsum);
  EXPECT_EQ(scan.step().rate, RateClass::kScan);
  EXPECT_EQ(scan.step().elements, 7);
  EXPECT_TRUE(scan.step().source_psum);
  EXPECT_FALSE(scan.step().pointer_operand);
  scan.instruction.initial = scan.bench.tile(kSbuf, kFp32, {2, 1}, "i");
  EXPECT_TRUE(scan.step().pointer_operand);
}

}  // namespace
}  // namespace neuron_sim
