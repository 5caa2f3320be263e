#include "device/isa/movement/tensor_copy_predicated.h"

#include "tests/device/isa/patterns.h"

namespace neuron_sim {
namespace {

constexpr auto kU8 = Dtype::kUint8;
constexpr Dtype kPredicates[] = {Dtype::kUint8, Dtype::kUint16, Dtype::kUint32};

struct Predicated : InstructionTiles<TensorCopyPredicated> {
  explicit Predicated(std::vector<int64_t> shape, Dtype dtype = kFp32, Dtype predicate = kU8,
                      MemoryKind src = kSbuf, MemoryKind mask = kSbuf) {
    instruction.dst = bench.tile(kSbuf, dtype, shape, "dst");
    instruction.src = bench.tile(src, dtype, shape, "src");
    instruction.predicate = bench.tile(mask, predicate, shape, "mask");
  }
};

TEST(TensorCopyPredicated, SelectsForAllDtypesPredicatesPatternsAndBothSenses) {
  for (const Dtype dtype : all_dtypes()) {
    for (const Dtype predicate : kPredicates) {
      for (const Pattern source : source_patterns()) {
        for (const Pattern target : target_patterns()) {
          for (const bool reverse : {false, true}) {
            SCOPED_TRACE(std::string(name(dtype)));
            InstructionBench bench;
            TensorCopyPredicated instruction{.dst = pattern_view(bench, target, dtype, "dst"),
                                             .src = pattern_view(bench, source, dtype, "src"),
                                             .predicate =
                                                 pattern_view(bench, source, predicate, "mask"),
                                             .reverse_pred = reverse};
            std::vector<double> expected = fill_random(bench, instruction.dst, 1, 0, 9);
            const std::vector<double> src = fill_random(bench, instruction.src, 2, 0, 9);
            const std::vector<double> mask = fill_random(bench, instruction.predicate, 3, 0, 2);
            for (size_t i = 0; i < expected.size(); ++i) {
              if ((mask[i] != 0) != reverse) expected[i] = src[i];
            }
            bench.run(instruction);
            expect_values(bench.get(instruction.dst), expected);
          }
        }
      }
    }
  }
}

TEST(TensorCopyPredicated, KeepsEveryBitOfWhatItCopiesAndOfWhatStays) {
  Predicated copy({1, 4}, kFp32, Dtype::kUint32);
  copy.bench.set_bits(copy.instruction.dst, {0x7F800001, 0x7FC12345, 0xFFFFFFFF, 0x80000000});
  copy.bench.set_bits(copy.instruction.src, {0xFF812345, 0x00000001, 0x7F812345, 0x7F800001});
  copy.bench.set_bits(copy.instruction.predicate, {0x80000000, 0, 1, 0});
  copy.run();
  EXPECT_EQ(copy.bench.bits(copy.instruction.dst),
            (std::vector<uint32_t>{0xFF812345, 0x7FC12345, 0x7F812345, 0x80000000}));
  Predicated boolean({1, 2}, Dtype::kBool);
  boolean.bench.set_bits(boolean.instruction.dst, {0xFE, 2});
  boolean.bench.set_bits(boolean.instruction.src, {0xFF, 3});
  boolean.bench.set_bits(boolean.instruction.predicate, {0, 255});
  boolean.run();
  EXPECT_EQ(boolean.bench.bits(boolean.instruction.dst), (std::vector<uint32_t>{0xFE, 3}));
}

TEST(TensorCopyPredicated, AConstantIsRoundedToTheDestination) {
  for (const Dtype dtype : all_dtypes()) {
    Predicated copy({1, 3}, dtype);
    const double constant = dtype == Dtype::kBool ? 1 : is_integer(dtype) ? 100 : 1.2345;
    copy.bench.set(copy.instruction.dst, {0, 0, 0});
    copy.bench.set(copy.instruction.predicate, {1, 0, 7});
    copy.instruction.src = View();
    copy.instruction.constant = constant;
    expect_values(copy.run(), {stored(dtype, constant), 0, stored(dtype, constant)});
  }
  Predicated narrow({1, 1}, kU8);
  narrow.instruction.src = View();
  narrow.instruction.constant = 255;
  EXPECT_EQ(narrow.error(), "");
  for (const double constant : {256.0, -1.0, 0.5}) {
    narrow.instruction.constant = constant;
    EXPECT_EQ(narrow.error(), text("src ", constant,
                                   " of 'tensor_copy_predicated' must match the dtype uint8 of "
                                   "operand 'dst': an integer in [0, 255]."));
  }
}

TEST(TensorCopyPredicated, ThePredicateMayLieInPsumAndTheDestinationBeTheSource) {
  Predicated copy({1, 3}, kFp32, kU8, kSbuf, kPsum);
  copy.bench.set(copy.instruction.src, {1, 2, 3});
  copy.bench.set(copy.instruction.predicate, {1, 0, 1});
  copy.instruction.dst = copy.instruction.src;
  expect_values(copy.run(), {1, 2, 3});
}

TEST(TensorCopyPredicated, ChecksDtypesSpacesAndShapes) {
  EXPECT_EQ(Predicated({128, 4096}, kFp32, kU8, kPsum).error(), "");
  EXPECT_EQ(Predicated({2, 2}, kFp32, kU8, kPsum, kPsum).error(),
            "operands 'src' and 'predicate' of 'tensor_copy_predicated' are both in PSUM; at most "
            "one input may be (architecture trn2).");
  for (const Dtype dtype : {Dtype::kInt8, Dtype::kBool, kFp32}) {
    EXPECT_EQ(Predicated({2, 2}, kFp32, dtype).error(),
              text("dtype ", name(dtype),
                   " of operand 'predicate' of 'tensor_copy_predicated' is not supported; expected "
                   "uint8, uint16 or uint32."));
  }
  Predicated copy({2, 2});
  copy.instruction.src = copy.bench.tile(kSbuf, Dtype::kInt32, {2, 2}, "s");
  EXPECT_EQ(copy.error(),
            "dtype int32 of operand 'src' of 'tensor_copy_predicated' is not supported; expected "
            "float32, the dtype of dst.");
  copy.instruction.src = copy.bench.tile(kSbuf, kFp32, {2, 1}, "s");
  EXPECT_EQ(copy.error(),
            "number of elements per partition mismatch in parameters (dst[2, 2], src[2, 1]) of "
            "'tensor_copy_predicated'");
  copy.instruction.engine = EngineKind::kScalar;
  EXPECT_EQ(copy.error(),
            "instruction 'tensor_copy_predicated' cannot run on the Scalar engine; architecture "
            "trn2 has it on: Vector.");
  EXPECT_EQ(Predicated({129, 1}).error(),
            "number of partitions 129 exceed architecture limitation of 128. (instruction "
            "'tensor_copy_predicated', operand 'predicate', architecture trn2)");
  EXPECT_EQ(Predicated({1, 4097}, kFp32, kU8, kPsum).error(),
            "number of elements per partition 4097 in 'src[1, 4097]' of 'tensor_copy_predicated' "
            "exceed architecture limitation of 4096 in psum. (instruction "
            "'tensor_copy_predicated', operand 'src', architecture trn2)");
}

TEST(TensorCopyPredicated, DemandsTwoInputsOrOnePassWithPsumOrAConstant) {
  EXPECT_EQ(Predicated({2, 7}).step().rate, RateClass::kTwoInputs);
  EXPECT_EQ(Predicated({2, 7}).step().elements, 7);
  for (const auto& [src, mask] : {std::pair{kPsum, kSbuf}, std::pair{kSbuf, kPsum}}) {
    const Step step = Predicated({2, 7}, kFp32, kU8, src, mask).step();
    EXPECT_EQ(step.rate, RateClass::kTwoInputsPsum);
    EXPECT_TRUE(step.source_psum);
  }
  Predicated constant({2, 7});
  constant.instruction.src = View();
  EXPECT_EQ(constant.step().rate, RateClass::kOneInput);
}

}  // namespace
}  // namespace neuron_sim
