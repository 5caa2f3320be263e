#include "device/isa/dma/sendrecv.h"

#include <gtest/gtest.h>

#include "device/isa/dma/dma_copy.h"
#include "tests/device/isa/run_instruction.h"

namespace neuron_sim {
namespace {

/// The instruction of core 0.
SendRecv exchange(const View& dst, const View& src) {
  return {.src = src, .dst = dst, .send_to_rank = 1, .recv_from_rank = 1};
}

TEST(SendRecv, MovesOneDirectionBitByBitForEveryDtype) {
  for (const Dtype dtype :
       {kFp32, kBf16, Dtype::kFloat16, Dtype::kInt32, Dtype::kUint8, Dtype::kInt8}) {
    InstructionBench bench;
    const View src = bench.tile(kSbuf, dtype, {5, 7}, "src");
    const View dst = bench.tile(kSbuf, dtype, {5, 7}, "dst");
    std::vector<uint32_t> bits;  // all patterns, those of NaN and infinity among them
    const uint32_t mask = itemsize(dtype) == 4 ? 0xffffffffU : (1U << 8 * itemsize(dtype)) - 1;
    for (uint32_t i = 0; i < 35; ++i) bits.push_back((0xffc00000U + i * 0x01234567U) & mask);
    bench.set_bits(src, bits);
    bench.run(exchange(dst, src));
    EXPECT_EQ(bench.bits(dst), bits) << name(dtype);
  }
}

TEST(SendRecv, FollowsTheAccessPatternsOfBothSides) {
  InstructionBench bench;
  const View a = bench.tile(kSbuf, kFp32, {64, 4, 6}, "a");
  const View b = bench.tile(kSbuf, kFp32, {64, 24}, "b");
  std::vector<double> values(64 * 24);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  bench.set(a, values);
  bench.set(b, std::vector<double>(values.size(), -1));
  // Columns 1 and 4 of every row, from partition 32 on, to every third element.
  const View src = a.slice(0, 32, 3).slice(2, 1, 2, 3);
  const View dst = b.slice(0, 7, 3).slice(1, 2, 8, 2).split(1, 4, 2);
  bench.run(exchange(dst, src));
  EXPECT_EQ(bench.get(dst), bench.get(src));
  const View column = a.slice(0, 0, 64).select(2, 5).slice(1, 0, 1).broadcast(1, 24);
  bench.run(exchange(b, column));
  EXPECT_EQ(bench.get(b), bench.get(column));
}

TEST(SendRecv, IsTriggeredBySyncOrDoneByGpSimd) {
  InstructionBench bench;
  const View src = bench.tile(kSbuf, kBf16, {128, 256}, "src");
  const View dst = bench.tile(kSbuf, kBf16, {128, 256}, "dst");
  SendRecv instruction = exchange(dst, src);
  EXPECT_EQ(bench.prepare(instruction).engine, EngineKind::kSync);
  for (int engine = 0; engine < kEngineCount; ++engine) {
    instruction.engine = static_cast<EngineKind>(engine);
    const Step sent = bench.demand(instruction).steps[0];
    const Step copied =
        bench.demand(DmaCopy{.dst = dst, .src = src, .engine = instruction.engine}).steps[0];
    EXPECT_EQ(sent.unit, Unit::kDma);
    EXPECT_EQ(sent.descriptors, copied.descriptors);
    EXPECT_EQ(sent.elements, 128);
    EXPECT_EQ(sent.bytes, 512);
    EXPECT_TRUE(sent.store);
  }
  instruction.dma_engine = DmaEngine::kGpSimdDma;
  instruction.engine = EngineKind::kAuto;
  EXPECT_EQ(bench.prepare(instruction).engine, EngineKind::kGpSimd);
  const Step step = bench.demand(instruction).steps[0];
  EXPECT_EQ(step.unit, Unit::kGpSimdDma);
  EXPECT_EQ(step.elements * step.bytes, 128 * 512);
  instruction.engine = EngineKind::kSync;
  EXPECT_EQ(bench.error(instruction),
            "instruction 'sendrecv' cannot run on the Sync engine; architecture trn2 has it on: "
            "GpSimd.");
}

TEST(SendRecv, LimitsTilesOfTheGpSimdDma) {
  for (const auto& [dtype, item] : {std::pair{kFp32, 4}, {kBf16, 2}, {Dtype::kInt8, 1}}) {
    InstructionBench bench;
    const View src = bench.tile(kSbuf, dtype, {2, 257}, "src");
    const View dst = bench.tile(kSbuf, dtype, {2, 257}, "dst");
    SendRecv instruction = exchange(dst.slice(1, 0, 256), src.slice(1, 1, 256));
    instruction.dma_engine = DmaEngine::kGpSimdDma;
    EXPECT_EQ(bench.error(instruction), "");
    instruction.src = src;
    instruction.dst = dst;
    EXPECT_EQ(bench.error(instruction),
              text("'sendrecv' of ", name(dtype), " src[2, 257] by gpsimd_dma: ", 257 * item,
                   " bytes per partition exceed architecture limitation of ", 256 * item, " for ",
                   item, "-byte dtypes on trn2."));
    instruction.dma_engine = DmaEngine::kDma;
    EXPECT_EQ(bench.error(instruction), "");
  }
}

TEST(SendRecv, SendsToAndReceivesFromTheOtherCore) {
  InstructionBench bench;
  const View src = bench.tile(kSbuf, kFp32, {2, 4}, "src");
  const View dst = bench.tile(kSbuf, kFp32, {2, 4}, "dst");
  const auto error = [&](int core, int64_t to, int64_t from) {
    Draft draft =
        SendRecv{.src = src, .dst = dst, .send_to_rank = to, .recv_from_rank = from}.draft();
    draft.core = core;
    return bench.error(draft);
  };
  EXPECT_EQ(error(0, 1, 1), "");
  EXPECT_EQ(error(1, 0, 0), "");
  EXPECT_EQ(error(0, 0, 1),
            "'sendrecv' of core 0: send_to_rank is 0; it must be 1, the other core of the logical "
            "core.");
  EXPECT_EQ(error(1, 0, 2),
            "'sendrecv' of core 1: recv_from_rank is 2; it must be 0, the other core of the "
            "logical core.");
  EXPECT_EQ(error(1, -1, 0),
            "'sendrecv' of core 1: send_to_rank is -1; it must be 0, the other core of the logical "
            "core.");
}

TEST(SendRecv, NeedsEqualTilesInSbuf) {
  InstructionBench bench;
  const View f = bench.tile(kSbuf, kFp32, {2, 4}, "f");
  const View i = bench.tile(kSbuf, Dtype::kInt32, {2, 4}, "i");
  const View wide = bench.tile(kSbuf, kFp32, {2, 4, 2}, "wide");
  const View sum = bench.tile(kPsum, kFp32, {2, 4}, "sum");
  const View tensor = bench.tile(kHbm, kFp32, {2, 4}, "tensor");
  const auto error = [&](const View& dst, const View& src) {
    return bench.error(exchange(dst, src));
  };
  EXPECT_EQ(error(f, i),
            "'sendrecv' needs the same shape and dtype, but dst is float32 f[2, 4] and src is "
            "int32 i[2, 4].");
  EXPECT_EQ(error(f, wide),
            "'sendrecv' needs the same shape and dtype, but dst is float32 f[2, 4] and src is "
            "float32 wide[2, 4, 2].");
  EXPECT_EQ(error(f.slice(0, 0, 1), f),
            "'sendrecv' needs the same shape and dtype, but dst is float32 f[1, 4] and src is "
            "float32 f[2, 4].");
  EXPECT_EQ(error(f, sum),
            "Expected operand 'src' of 'sendrecv' to be in address space 'sbuf', but got a tile in "
            "'psum' instead.");
  EXPECT_EQ(error(tensor, f),
            "Expected operand 'dst' of 'sendrecv' to be in address space 'sbuf', but got a tile in "
            "'hbm' instead.");
  EXPECT_EQ(error(f.slice(1, 0, 1).broadcast(1, 4), f),
            "operand 'dst' of 'sendrecv' repeats dimension 1 of f[2, 4]; only a source can be "
            "broadcast.");
  SendRecv negative = exchange(f, f);
  negative.pipe_id = -1;
  EXPECT_EQ(bench.error(negative), "'sendrecv': pipe_id -1 is negative.");
}

TEST(SendRecv, ExistsFromNeuronCoreV3On) {
  InstructionBench bench;
  bench.architecture().generation = 2;
  bench.architecture().neuron_core = "NeuronCore-v2";
  const View f = bench.tile(kSbuf, kFp32, {2, 4}, "f");
  EXPECT_EQ(bench.error(exchange(f, f)),
            "instruction 'sendrecv' needs NeuronCore-v3 or newer; architecture trn2 is a "
            "NeuronCore-v2.");
  EXPECT_EQ(bench.error_kind(exchange(f, f)), ErrorKind::kNotImplemented);
}

}  // namespace
}  // namespace neuron_sim
