#include "device/runtime/launch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "device/base/errors.h"
#include "device/builder/builder.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/runtime/timing_only.h"
#include "tests/device/program/two_cores.h"

namespace neuron_sim {
namespace {

/// output = input, [4, elements] fp32.
std::shared_ptr<const Kernel> copy_kernel(int64_t elements = 8) {
  Builder builder("copy", load_architecture("trn2"));
  const View input = builder.argument("input", {4, elements}, Dtype::kFloat32);
  const View output = builder.argument("output", {4, elements}, Dtype::kFloat32);
  if (elements > 0) {
    const View tile = builder.sbuf("t", {4, elements}, Dtype::kFloat32);
    builder.emit(DmaCopy{.dst = tile, .src = input});
    builder.emit(DmaCopy{.dst = output, .src = tile});
  }
  return std::make_shared<const Kernel>(builder.finish());
}

/// output = input * 2, [4, 8] fp32, with three tiles of `bytes` per partition alive at a time.
std::shared_ptr<const Program> doubling(int64_t bytes = 32) {
  Builder builder("double", load_architecture("trn2"), TilePlacement::kAutomatic);
  const View input = builder.argument("input", {4, 8}, Dtype::kFloat32);
  const View output = builder.argument("output", {4, 8}, Dtype::kFloat32);
  const auto end_of_tile = [&](const char* label) {
    return builder.sbuf(label, {4, bytes / 4}, Dtype::kFloat32).slice(1, bytes / 4 - 8, 8);
  };
  const View once = end_of_tile("once"), twice = end_of_tile("twice"), sum = end_of_tile("sum");
  builder.emit(DmaCopy{.dst = once, .src = input});
  builder.emit(TensorTensor{twice, once, once, AluOp::kAdd});
  builder.emit(TensorTensor{sum, twice, twice, AluOp::kAdd});
  builder.emit(TensorTensor{sum, sum, once, AluOp::kSubtract});
  builder.emit(TensorTensor{sum, sum, once, AluOp::kSubtract});
  builder.emit(DmaCopy{.dst = output, .src = sum});
  return builder.finish(Overflow::kSpilled);
}

std::byte* bytes(float* data) { return reinterpret_cast<std::byte*>(data); }

LaunchRecord run(const std::shared_ptr<const Kernel>& kernel, float* input, float* output) {
  std::byte* arguments[] = {bytes(input), bytes(output)};
  return launch(0, Schedule::kDefaultStream, kernel, arguments);
}

TEST(Launch, ComputesAndTakesTheBenchmarkTimeOnTheSchedule) {
  std::vector<float> input(32, 3), output(32);
  const auto kernel = copy_kernel();
  const LaunchRecord first = run(kernel, input.data(), output.data());
  EXPECT_EQ(output, input);
  const Architecture& architecture = *kernel->program().architecture;
  EXPECT_EQ(first.span.end - first.span.start, first.timing.benchmark(architecture));
  EXPECT_GT(first.timing.body.count, 0);
  const LaunchRecord second = run(kernel, input.data(), output.data());
  EXPECT_EQ(second.span.start, first.span.end);
  EXPECT_EQ(kernel->simulations(), 1);
}

TEST(Launch, TakesItsTimeAndTouchesNoBytesWhileOnlyTimeIsWanted) {
  std::vector<float> input(32, 3), output(32);
  const auto kernel = copy_kernel();
  const LaunchRecord with_bytes = run(kernel, input.data(), output.data());
  std::fill(output.begin(), output.end(), 7.0F);
  set_timing_only(true);
  const LaunchRecord timed = run(kernel, input.data(), output.data());
  std::byte* arguments[] = {bytes(input.data()), bytes(output.data())};
  compute(0, kernel, arguments);
  set_timing_only(false);
  EXPECT_EQ(output, std::vector<float>(32, 7));
  EXPECT_EQ(timed.span.start, with_bytes.span.end);
  EXPECT_EQ(timed.span.end - timed.span.start, with_bytes.span.end - with_bytes.span.start);
}

TEST(Launch, TakesTheTimeOfAProgramAndComputesTheOneItWasCompiledFrom) {
  std::vector<float> input(32, 3), output(32);
  const auto timed = copy_kernel();
  const auto kernel = std::make_shared<const Kernel>(
      std::shared_ptr<const Program>(timed, &timed->program()), doubling());
  const LaunchRecord record = run(kernel, input.data(), output.data());
  EXPECT_EQ(output, std::vector<float>(32, 6));
  EXPECT_EQ(record.timing.body, timed->timing().body);
  EXPECT_NE(record.timing.body, Kernel(doubling()).timing().body);
  EXPECT_GT(kernel->bytes(), timed->bytes());
}

TEST(Launch, ComputesAProgramWhoseTilesTheChipCannotHold) {
  const int64_t half = load_architecture("trn2").limits.sbuf_usable.count / 64 * 32;
  const auto timed = std::make_shared<const Kernel>(doubling());
  for (const int64_t size : {half, int64_t{32}}) {
    const auto program = doubling(size);
    EXPECT_EQ(program->overflow.empty(), size == 32);
    std::vector<float> input(32, 1.5F), output(32);
    run(std::make_shared<const Kernel>(std::shared_ptr<const Program>(timed, &timed->program()),
                                       program),
        input.data(), output.data());
    EXPECT_EQ(output, std::vector<float>(32, 3));
  }
}

TEST(Launch, RejectsOutputsThatOverlapOtherArguments) {
  const auto kernel = copy_kernel();
  std::vector<float> data(96);
  EXPECT_NO_THROW(run(kernel, data.data(), data.data() + 32));
  EXPECT_NO_THROW(run(kernel, data.data() + 32, data.data()));
  for (const int offset : {-31, 0, 31}) {
    try {
      run(kernel, data.data() + 32, data.data() + 32 + offset);
      FAIL() << offset;
    } catch (const KernelError& error) {
      EXPECT_EQ(std::string(error.what()),
                "kernel 'copy': output 'output' overlaps argument 'input' in memory.");
    }
  }
}

TEST(Launch, LetsEmptyArgumentsLieAnywhere) {
  std::vector<float> data(8);
  EXPECT_NO_THROW(run(copy_kernel(0), data.data() + 1, data.data() + 1));
}

TEST(Launch, TellsItsListenerUntilItIsReplaced) {
  std::vector<float> input(32), output(32);
  const auto kernel = copy_kernel();
  std::vector<LaunchRecord> records;
  set_launch_listener([&](const LaunchRecord& record) { records.push_back(record); });
  const LaunchRecord launched = run(kernel, input.data(), output.data());
  set_launch_listener(nullptr);
  run(kernel, input.data(), output.data());
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].kernel, kernel);
  EXPECT_EQ(records[0].device, 0);
  EXPECT_EQ(records[0].span, launched.span);
}

TEST(Launch, TakesTurnsOfSeveralHostThreads) {
  const auto kernel = copy_kernel();
  std::vector<std::thread> threads;
  std::vector<std::vector<float>> outputs(4, std::vector<float>(32));
  for (size_t i = 0; i < outputs.size(); ++i) {
    threads.emplace_back([&, i] {
      std::vector<float> input(32, static_cast<float>(i));
      for (int repetition = 0; repetition < 20; ++repetition) {
        run(kernel, input.data(), outputs[i].data());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_EQ(outputs[i], std::vector<float>(32, static_cast<float>(i)));
  }
}

TEST(Launch, RunsBothCoresOfALogicalCore) {
  Builder builder("halves", load_architecture("trn2"));
  const View input = builder.argument("input", {4, 8}, Dtype::kFloat32);
  const View output = builder.argument("output", {4, 8}, Dtype::kFloat32);
  for (const int core : {0, 1}) {
    builder.core(core, [&] {  // the halves change places
      const View tile = builder.sbuf("t", {2, 8}, Dtype::kFloat32);
      const View other = builder.sbuf("u", {2, 8}, Dtype::kFloat32);
      builder.emit(DmaCopy{.dst = tile, .src = input.slice(0, 2 * core, 2)});
      builder.emit(exchange_of(core, other, tile));
      builder.emit(DmaCopy{.dst = output.slice(0, 2 * core, 2), .src = other});
    });
  }
  const auto kernel = std::make_shared<const Kernel>(builder.finish());
  std::vector<float> in(32), out(32);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
  const LaunchRecord both = run(kernel, in.data(), out.data());
  for (size_t i = 0; i < in.size(); ++i) EXPECT_EQ(out[i], in[(i + 16) % 32]);
  EXPECT_EQ(both.timing.cores.size(), 2U);
  EXPECT_EQ(both.span.end - both.span.start,
            both.timing.benchmark(*kernel->program().architecture));
  // A program of one core afterwards.
  EXPECT_EQ(run(copy_kernel(), in.data(), out.data()).timing.cores.size(), 1U);
  EXPECT_EQ(out, in);
}

}  // namespace
}  // namespace neuron_sim
