// tensor_scalar with operators on one operand, and the engines that have them.

#include <cmath>

#include "device/isa/elementwise/tensor_scalar.h"
#include "tests/device/isa/patterns.h"

namespace neuron_sim {
namespace {

/// [2, 24] tiles of one dtype.
struct UnaryBench : InstructionTiles<TensorScalar> {
  explicit UnaryBench(Dtype dtype = kFp32, Architecture architecture = test_architecture())
      : InstructionTiles{InstructionBench(std::move(architecture)), {}} {
    instruction.dst = bench.tile(kSbuf, dtype, {2, 24}, "dst");
    instruction.data = bench.tile(kSbuf, dtype, {2, 24}, "data");
  }
};

double exact(AluOp op, double x) {
  switch (op) {
    case AluOp::kLogicalNot: return x == 0 ? 1 : 0;
    case AluOp::kAbs: return std::abs(x);
    case AluOp::kSquare: return x * x;
    case AluOp::kRelu: return x > 0 ? x : 0;
    case AluOp::kRsqrt: return 1 / std::sqrt(x);
    default: return 1 / x;
  }
}

TEST(TensorScalarUnary, FollowsAnIndependentOracleForAllDtypesAndPatterns) {
  for (const AluOp op : {AluOp::kLogicalNot, AluOp::kAbs, AluOp::kSquare, AluOp::kRelu,
                         AluOp::kRsqrt, AluOp::kReciprocal}) {
    for (const Dtype dtype : all_dtypes()) {
      for (const Pattern source : source_patterns()) {
        SCOPED_TRACE(text(name(op), " ", name(dtype)));
        InstructionBench bench;
        TensorScalar instruction{.dst = pattern_view(bench, Pattern::kGaps, kFp32, "dst"),
                                 .data = pattern_view(bench, source, dtype, "data"),
                                 .op0 = op};
        const double low = op == AluOp::kRsqrt || op == AluOp::kReciprocal ? 1 : -4;
        std::vector<double> expected;
        for (const double x : fill_random(bench, instruction.data, 5, low, 9)) {
          expected.push_back(round_to(kFp32, exact(op, x)));
        }
        bench.run(instruction);
        expect_values(bench.get(instruction.dst), expected);
      }
    }
  }
}

TEST(TensorScalarUnary, TwoOperatorsChainAndRoundInBetween) {
  UnaryBench b;
  b.bench.set(b.instruction.data, random_values(48, -3, 3));
  b.instruction.op0 = AluOp::kSquare;
  b.instruction.op1 = AluOp::kReciprocal;
  std::vector<double> expected;
  for (const double x : b.bench.get(b.instruction.data)) {
    expected.push_back(round_to(kFp32, 1 / round_to(kFp32, x * x)));
  }
  b.bench.run(b.instruction);
  expect_values(b.bench.get(b.instruction.dst), expected);
}

TEST(TensorScalarUnary, InvertFlipsEveryBitOfIntegers) {
  for (const Dtype dtype : {Dtype::kInt8, Dtype::kUint8, Dtype::kInt16, Dtype::kUint16,
                            Dtype::kInt32, Dtype::kUint32}) {
    UnaryBench b(dtype);
    b.bench.set(b.instruction.data, random_values(48, 0, 100));
    b.instruction.op0 = AluOp::kInvert;
    const std::vector<uint32_t> before = b.bench.bits(b.instruction.data);
    b.bench.run(b.instruction);
    const std::vector<uint32_t> after = b.bench.bits(b.instruction.dst);
    const uint32_t mask = 0xFFFFFFFFU >> (32 - 8 * itemsize(dtype));
    for (size_t i = 0; i < before.size(); ++i) EXPECT_EQ(after[i], ~before[i] & mask);
  }
  UnaryBench floats;
  floats.instruction.op0 = AluOp::kInvert;
  EXPECT_EQ(floats.error(),
            "dtype float32 of operand 'dst' of 'tensor_scalar' is not supported; expected "
            "integers of one size for the bitwise operator invert.");
}

TEST(TensorScalarUnary, TakesNoOperandAndNoOrder) {
  UnaryBench b;
  b.instruction.op0 = AluOp::kAbs;
  EXPECT_EQ(b.error(), "");
  b.instruction.constant0 = 1;
  const std::string operand =
      "operand 'operand0' of 'tensor_scalar' must be None or 0 for the unary operator abs.";
  EXPECT_EQ(b.error(), operand);
  b.instruction.constant0 = 0;
  b.instruction.operand0 = b.bench.tile(kSbuf, kFp32, {2, 1}, "w");
  EXPECT_EQ(b.error(), operand);
  b.instruction.operand0 = View();
  b.instruction.reverse0 = true;
  EXPECT_EQ(b.error(), "operator abs of 'tensor_scalar' is unary and cannot be reversed.");
  b.instruction.reverse0 = false;
  b.instruction.op1 = AluOp::kRelu;
  b.instruction.constant1 = 2;
  EXPECT_EQ(b.error(),
            "operand 'operand1' of 'tensor_scalar' must be None or 0 for the unary operator relu.");
}

TEST(TensorScalarUnary, RsqrtRunsOnGpsimdAtItsOwnRate) {
  UnaryBench b;
  b.instruction.op0 = AluOp::kAdd;
  b.instruction.constant0 = 1e-5;
  b.instruction.op1 = AluOp::kRsqrt;
  Draft draft = b.bench.prepare(b.instruction);
  EXPECT_EQ(draft.engine, EngineKind::kGpSimd);
  EXPECT_EQ(b.bench.demand(draft).steps[0].rate, RateClass::kGpSimdRsqrt);
  b.instruction.engine = EngineKind::kVector;
  EXPECT_EQ(b.error(),
            "instruction 'tensor_scalar of (add, rsqrt)' cannot run on the Vector engine; "
            "architecture trn2 has it on: GpSimd.");
  b.instruction.engine = EngineKind::kScalar;
  EXPECT_EQ(b.error(),
            "instruction 'tensor_scalar of (add, rsqrt)' cannot run on the Scalar engine; "
            "architecture trn2 has it on: GpSimd.");
}

TEST(TensorScalarUnary, TheScalarEngineHasItsListedOperatorsWhereTheGenerationAllows) {
  Architecture architecture = test_architecture();
  architecture.name = "trn3";
  architecture.features.scalar_unary_operators = true;
  UnaryBench b(kBf16, architecture);
  b.instruction.engine = EngineKind::kScalar;
  const std::vector<AluOp> listed = {AluOp::kAdd, AluOp::kMultiply, AluOp::kAbs, AluOp::kRsqrt,
                                     AluOp::kReciprocal};
  for (const AluOp op0 : listed) {
    b.instruction.op0 = op0;
    b.instruction.op1 = AluOp::kNone;
    EXPECT_EQ(b.error(), "");
    EXPECT_EQ(b.bench.demand(b.instruction).steps[0].rate, RateClass::kScalar16bit);
    for (const AluOp op1 : listed) {
      b.instruction.op1 = op1;
      EXPECT_EQ(b.error(), "");
    }
  }
  b.instruction.op0 = AluOp::kSquare;
  b.instruction.op1 = AluOp::kNone;
  EXPECT_EQ(b.error(),
            "instruction 'tensor_scalar of (square, none)' cannot run on the Scalar engine; "
            "architecture trn3 has it on: Vector.");
  b.instruction.op0 = AluOp::kRsqrt;
  b.instruction.engine = EngineKind::kAuto;
  EXPECT_EQ(b.bench.prepare(b.instruction).engine, EngineKind::kScalar);
}

TEST(TensorScalarUnary, EnginesOfTheGenerationsAreThoseOfTheDocuments) {
  const auto engines = [](const char* architecture, AluOp op0, AluOp op1) {
    std::string found;
    for (const EngineKind engine :
         {EngineKind::kVector, EngineKind::kScalar, EngineKind::kGpSimd}) {
      UnaryBench b(kFp32, load_architecture(architecture));
      b.instruction.op0 = op0;
      b.instruction.op1 = op1;
      b.instruction.engine = engine;
      if (b.error().empty()) found += name(engine)[0];
    }
    return found;
  };
  constexpr auto kNone = AluOp::kNone;
  EXPECT_EQ(engines("trn1", AluOp::kMultiply, AluOp::kAdd), "VG");
  EXPECT_EQ(engines("trn2", AluOp::kMultiply, AluOp::kAdd), "VSG");
  EXPECT_EQ(engines("trn3", AluOp::kMultiply, AluOp::kAdd), "VSG");
  EXPECT_EQ(engines("trn2", AluOp::kAdd, AluOp::kMultiply), "VG");
  EXPECT_EQ(engines("trn3", AluOp::kAdd, AluOp::kMultiply), "VSG");
  EXPECT_EQ(engines("trn1", AluOp::kRsqrt, kNone), "G");
  EXPECT_EQ(engines("trn2", AluOp::kRsqrt, kNone), "G");
  EXPECT_EQ(engines("trn3", AluOp::kRsqrt, kNone), "SG");
  EXPECT_EQ(engines("trn1", AluOp::kAbs, kNone), "V");
  EXPECT_EQ(engines("trn2", AluOp::kReciprocal, kNone), "V");
  EXPECT_EQ(engines("trn3", AluOp::kReciprocal, kNone), "VS");
  EXPECT_EQ(engines("trn3", AluOp::kPower, kNone), "G");
  EXPECT_EQ(engines("trn3", AluOp::kSquare, kNone), "V");
}

}  // namespace
}  // namespace neuron_sim
