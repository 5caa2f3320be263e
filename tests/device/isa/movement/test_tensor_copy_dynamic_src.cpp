#include "device/isa/movement/tensor_copy_dynamic_src.h"

#include "device/builder/builder.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy_dynamic_dst.h"
#include "tests/device/execute/run_program.h"
#include "tests/device/isa/patterns.h"

namespace neuron_sim {
namespace {

struct DynamicSource : InstructionTiles<TensorCopyDynamicSrc> {
  DynamicSource(std::vector<int64_t> src, std::vector<int64_t> dst, Dtype source = kFp32,
                Dtype target = kFp32, MemoryKind memory = kSbuf,
                Architecture architecture = test_architecture())
      : InstructionTiles{InstructionBench(std::move(architecture)), {}} {
    instruction.src = bench.tile(memory, source, std::move(src), "src");
    instruction.dst = bench.tile(kSbuf, target, std::move(dst), "dst");
    instruction.offset = bench.tile(kSbuf, Dtype::kInt32, {1, 1}, "offset", {0});
  }
  std::vector<double> run(double offset) {
    bench.set(instruction.offset, {offset});
    bench.run(instruction);
    return bench.get(instruction.dst);
  }
};

TEST(TensorCopyDynamicSrc, CopiesTheSliceThatTheOffsetNamesForAllDtypes) {
  for (const Dtype dtype : all_dtypes()) {
    for (const int64_t size : {1, 3, 10}) {
      DynamicSource copy({2, 10}, {2, size}, dtype, dtype);
      const std::vector<double> src = fill_random(copy.bench, copy.instruction.src, 3, 0, 9);
      for (int64_t offset = 0; offset + size <= 10; ++offset) {
        std::vector<double> expected;
        for (const int64_t p : {0, 1}) {
          for (int64_t i = 0; i < size; ++i) {
            expected.push_back(src[static_cast<size_t>(10 * p + offset + i)]);
          }
        }
        expect_values(copy.run(static_cast<double>(offset)), expected);
      }
    }
  }
}

TEST(TensorCopyDynamicSrc, SlicesTheFirstFreeDimensionOfAnyPatternAndCasts) {
  InstructionBench bench;
  const View wide = bench.tile(kPsum, kFp32, {40, 7, 6}, "wide", random_values(40 * 42, -9, 9));
  const View src = wide.slice(0, 32, 4).slice(2, 1, 3, 2);  // [4, 7, 3]
  const View dst = bench.tile(kSbuf, Dtype::kInt8, {4, 3, 2}, "dst").permute({0, 2, 1});
  const View offset = bench.tile(kSbuf, Dtype::kUint32, {1, 1}, "offset", {4});
  bench.run(TensorCopyDynamicSrc{.dst = dst, .src = src, .offset = offset});
  std::vector<double> expected;
  for (const double value : bench.get(src.slice(1, 4, 2))) {
    expected.push_back(stored(Dtype::kInt8, value));
  }
  expect_values(bench.get(dst), expected);
}

TEST(TensorCopyDynamicSrc, EqualDtypesKeepBitsWhereTensorCopyDoes) {
  for (const bool scalar_tensor_ops : {false, true}) {
    Architecture architecture = test_architecture();
    architecture.features.scalar_tensor_ops = scalar_tensor_ops;
    DynamicSource copy({1, 4}, {1, 2}, Dtype::kInt32, Dtype::kInt32, kSbuf, architecture);
    copy.bench.set(copy.instruction.src, {0, 16777217, 5, 0});
    copy.instruction.engine = EngineKind::kScalar;
    expect_values(copy.run(1), {scalar_tensor_ops ? 16777217.0 : 16777216.0, 5});
    copy.instruction.engine = EngineKind::kVector;
    expect_values(copy.run(1), {16777217, 5});
  }
}

TEST(TensorCopyDynamicSrc, AnOffsetOutsideTheRegionIsAnErrorAndChangesNothing) {
  DynamicSource copy({1, 10}, {1, 4});
  copy.bench.set(copy.instruction.src, random_values(10));
  copy.bench.set(copy.instruction.dst, {1, 2, 3, 4});
  const auto error = [&](double offset) {
    try {
      copy.run(offset);
    } catch (const KernelError& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kIndex);
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string head = "Out-of-bound access for tensor `src` on dimension 1: index range ";
  EXPECT_EQ(error(7), head + "[7, 10] exceed dimension size of 10");
  EXPECT_EQ(error(-1), head + "[-1, 2] exceed dimension size of 10");
  EXPECT_EQ(error(2147483647), head + "[2147483647, 2147483650] exceed dimension size of 10");
  expect_values(copy.bench.get(copy.instruction.dst), {1, 2, 3, 4});
  EXPECT_EQ(error(6), "");
  EXPECT_EQ(error(0), "");
}

TEST(TensorCopyDynamicSrc, ChecksShapesOffsetAndEngine) {
  EXPECT_EQ(DynamicSource({2, 4}, {2, 4}).error(), "");
  EXPECT_EQ(DynamicSource({2, 4}, {2, 5}).error(),
            "operand 'dst' of 'tensor_copy_dynamic_src' (dst[2, 5]) must be a slice of operand "
            "'src' (src[2, 4]) in its first free dimension.");
  EXPECT_EQ(DynamicSource({2, 4, 3}, {2, 4, 2}).error(),
            "operand 'dst' of 'tensor_copy_dynamic_src' (dst[2, 4, 2]) must be a slice of operand "
            "'src' (src[2, 4, 3]) in its first free dimension.");
  EXPECT_EQ(DynamicSource({2, 4}, {3, 4}).error(),
            "number of partitions (dimension 0 size of a tile) mismatch in parameters (src[2, 4], "
            "dst[3, 4]) of 'tensor_copy_dynamic_src'");
  EXPECT_EQ(DynamicSource({1, 4097}, {1, 1}, kFp32, kFp32, kPsum).error(),
            "number of elements per partition 4097 in 'src[1, 4097]' of "
            "'tensor_copy_dynamic_src' exceed architecture limitation of 4096 in psum. "
            "(instruction 'tensor_copy_dynamic_src', operand 'src', architecture trn2)");
  DynamicSource copy({2, 4}, {2, 2}, kFp32, kFp32, kPsum);
  copy.instruction.engine = EngineKind::kGpSimd;
  EXPECT_EQ(copy.error(),
            "Expected operand 'src' of 'tensor_copy_dynamic_src' to be in address space 'sbuf', "
            "but got a tile in 'psum' instead. The GpSimd engine cannot access PSUM.");
  copy.instruction.engine = EngineKind::kTensor;
  EXPECT_EQ(copy.error(),
            "instruction 'tensor_copy_dynamic_src' cannot run on the Tensor engine; architecture "
            "trn2 has it on: Vector, Scalar, GpSimd.");
  copy.instruction.engine = EngineKind::kAuto;
  copy.instruction.offset = copy.bench.tile(kSbuf, Dtype::kInt32, {2, 1}, "o");
  EXPECT_EQ(copy.error(),
            "operand 'offset' of 'tensor_copy_dynamic_src' is o[2, 1], but must have one element.");
  copy.instruction.offset = copy.bench.tile(kSbuf, Dtype::kInt16, {1, 1}, "o");
  EXPECT_EQ(copy.error(),
            "dtype int16 of operand 'offset' of 'tensor_copy_dynamic_src' is not supported; "
            "expected int32 or uint32.");
  copy.instruction.offset = copy.bench.tile(kPsum, Dtype::kInt32, {1, 1}, "o");
  EXPECT_EQ(copy.error(),
            "Expected operand 'offset' of 'tensor_copy_dynamic_src' to be in address space "
            "'sbuf', but got a tile in 'psum' instead.");
}

TEST(TensorCopyDynamicSrc, DemandsTheElementsItCopiesAtADynamicAddress) {
  DynamicSource copy({2, 100}, {2, 7}, kBf16, kBf16, kPsum);
  EXPECT_EQ(copy.step().rate, RateClass::kOneInput);
  EXPECT_EQ(copy.step().elements, 7);
  EXPECT_TRUE(copy.step().dynamic_address && copy.step().source_psum);
  DynamicSource gpsimd({2, 100}, {2, 7});
  gpsimd.instruction.engine = EngineKind::kGpSimd;
  EXPECT_EQ(gpsimd.step().rate, RateClass::kGpSimdOneInput);
}

/// Gathers columns of `table` whose numbers a chain of instructions computes, and scatters them to
/// the mirrored places of `result`.
std::shared_ptr<const Program> mirror_program(int64_t columns) {
  Builder builder("mirror", load_architecture("trn2"));
  const View table = builder.argument("table", {128, columns}, kFp32);
  const View output = builder.argument("output", {128, columns}, kFp32);
  const View in = builder.sbuf("in", {128, columns}, kFp32);
  const View out = builder.sbuf("out", {128, columns}, kFp32);
  const View column = builder.sbuf("column", {128, 1}, kFp32);
  const View from = builder.sbuf("from", {1, 1}, Dtype::kInt32);
  const View to = builder.sbuf("to", {1, 1}, Dtype::kInt32);
  builder.emit(DmaCopy{.dst = in, .src = table});
  builder.emit(Memset{out, -1});
  builder.emit(Memset{from, 0});
  builder.loop(columns, [&](const Affine&) {
    builder.emit(TensorScalar{.dst = to,
                              .data = from,
                              .op0 = AluOp::kSubtract,
                              .constant0 = static_cast<double>(columns - 1),
                              .reverse0 = true});
    builder.emit(TensorCopyDynamicSrc{.dst = column, .src = in, .offset = from});
    builder.emit(TensorCopyDynamicDst{.dst = out, .src = column, .offset = to});
    builder.emit(TensorScalar{.dst = from, .data = from, .op0 = AluOp::kAdd, .constant0 = 1});
  });
  builder.emit(DmaCopy{.dst = output, .src = out});
  return builder.finish();
}

TEST(TensorCopyDynamicSrc, ProgramsOrderOffsetsGathersAndScattersOnAnyNumberOfThreads) {
  const auto program = mirror_program(37);
  const ExecutionPlan plan = make_plan(*program);
  for (const int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    ProgramRun run(program);
    run.randomise(5);
    run.execute(plan, pool);
    for (int64_t p = 0; p < 128; ++p) {
      for (int64_t i = 0; i < 37; ++i) {
        ASSERT_EQ(run.data<float>(1)[p * 37 + i], run.data<float>(0)[p * 37 + 36 - i]);
      }
    }
  }
}

}  // namespace
}  // namespace neuron_sim
