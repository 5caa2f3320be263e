#include "device/isa/elementwise/builtin_custom_op.h"

#include <gtest/gtest.h>

#include <mutex>

#include "device/builder/builder.h"
#include "device/instruction/rows.h"
#include "device/isa/dma/dma_copy.h"
#include "device/timeline/timeline.h"
#include "tests/device/execute/run_program.h"
#include "tests/device/isa/run_instruction.h"

namespace neuron_sim {
namespace {

/// dst0 = src0 + src1, dst1 = src0 - src1, of any floating dtypes.
void sum_and_difference(std::span<const Access> sources, std::span<const Access> destinations) {
  std::vector<float> first, second, result(static_cast<size_t>(sources[0].elements()));
  for (int64_t p = 0; p < sources[0].partitions; ++p) {
    const float* a = read_row(sources[0], p, first);
    const float* b = read_row(sources[1], p, second);
    for (size_t i = 0; i < result.size(); ++i) result[i] = a[i] + b[i];
    write_row(destinations[0], p, result.data());
    for (size_t i = 0; i < result.size(); ++i) result[i] = a[i] - b[i];
    write_row(destinations[1], p, result.data());
  }
}

/// Registers the functions of these tests once per process.
void register_functions() {
  static std::once_flag once;
  std::call_once(once, [] {
    register_custom_function("sum_and_difference",
                             {.sources = 2,
                              .destinations = 2,
                              .accepts =
                                  [](std::span<const Dtype> in, std::span<const Dtype> out) {
                                    return is_float(in[0]) && is_float(in[1]) && is_float(out[0]) &&
                                           is_float(out[1]);
                                  },
                              .run = sum_and_difference,
                              .cycles_per_element = 2.5});
    register_custom_function("eights",
                             {.sources = 8,
                              .destinations = 8,
                              .accepts = {},
                              .run =
                                  [](std::span<const Access> in, std::span<const Access> out) {
                                    for (size_t i = 0; i < 8; ++i)
                                      copy_row(in[i], 0, out[7 - i], 0);
                                  },
                              .cycles_per_element = 1});
  });
}

BuiltinCustomOp call(std::string function, std::vector<View> srcs, std::vector<View> dsts) {
  return {.function_name = std::move(function),
          .lib_file_name = "libmine.so",
          .ulib_to_ucode_version = "1.2",
          .ulib_to_isa_version = "3.4",
          .srcs = std::move(srcs),
          .dsts = std::move(dsts)};
}

TEST(BuiltinCustomOp, CallsTheRegisteredFunction) {
  register_functions();
  InstructionBench bench;
  const View a = bench.tile(kSbuf, kFp32, {3, 7}, "a", random_values(21, -4, 4, 1));
  const View b = bench.tile(kSbuf, kBf16, {3, 7}, "b", random_values(21, -4, 4, 2));
  const View sum = bench.tile(kSbuf, Dtype::kFloat16, {3, 14}, "sum").slice(1, 1, 7, 2);
  const View difference = bench.tile(kSbuf, kFp32, {3, 7}, "difference");
  bench.run(call("sum_and_difference", {a, b}, {sum, difference}));
  const std::vector<double> left = bench.get(a), right = bench.get(b);
  std::vector<double> expected_sum, expected_difference;
  for (size_t i = 0; i < left.size(); ++i) {
    expected_sum.push_back(round_to(Dtype::kFloat16, round_to(kFp32, left[i] + right[i])));
    expected_difference.push_back(round_to(kFp32, left[i] - right[i]));
  }
  expect_values(bench.get(sum), expected_sum);
  expect_values(bench.get(difference), expected_difference);
}

TEST(BuiltinCustomOp, PassesEightOperandsEachWay) {
  register_functions();
  InstructionBench bench;
  std::vector<View> srcs, dsts;
  for (int i = 0; i < 8; ++i) {
    srcs.push_back(bench.tile(kSbuf, kFp32, {1, 1}, text("s", i), {static_cast<double>(i)}));
    dsts.push_back(bench.tile(kSbuf, kFp32, {1, 1}, text("d", i)));
  }
  bench.run(call("eights", srcs, dsts));
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(bench.get(dsts[static_cast<size_t>(i)])[0], 7 - i);
  }
}

TEST(BuiltinCustomOp, ReportsUnknownFunctionsAndWrongOperands) {
  register_functions();
  InstructionBench bench;
  const View a = bench.tile(kSbuf, kFp32, {1, 4}, "a");
  const View psum = bench.tile(kPsum, kFp32, {1, 4}, "psum");
  const View integers = bench.tile(kSbuf, Dtype::kInt32, {1, 4}, "integers");
  const auto error = [&](const std::string& function, std::vector<View> in, std::vector<View> out) {
    return bench.error(call(function, std::move(in), std::move(out)));
  };
  EXPECT_EQ(error("sum_and_difference", {a, a}, {a, a}), "");
  EXPECT_EQ(error("unheard_of", {a}, {a}),
            "function 'unheard_of' of library 'libmine.so' is unknown to 'builtin_custom_op'; "
            "register_custom_function() makes its semantics known to the simulator.");
  EXPECT_EQ(error("sum_and_difference", {a}, {a, a}),
            "function 'sum_and_difference' of library 'libmine.so' takes 2 sources, but "
            "'builtin_custom_op' got 1.");
  EXPECT_EQ(error("sum_and_difference", {a, a}, {a, a, a}),
            "function 'sum_and_difference' of library 'libmine.so' takes 2 destinations, but "
            "'builtin_custom_op' got 3.");
  EXPECT_EQ(error("sum_and_difference", {a, integers}, {a, a}),
            "function 'sum_and_difference' of library 'libmine.so' does not accept the dtypes "
            "(float32, int32) -> (float32, float32) of 'builtin_custom_op'.");
  EXPECT_EQ(error("sum_and_difference", {a, psum}, {a, a}),
            "Expected operand 'src1' of 'builtin_custom_op' to be in address space 'sbuf', but got "
            "a tile in 'psum' instead. The GpSimd engine cannot access PSUM.");
}

template <typename Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const KernelError& error) {
    return error.what();
  }
  return "";
}

TEST(BuiltinCustomOp, ReportsTooManyOrMissingOperands) {
  InstructionBench bench;
  const View a = bench.tile(kSbuf, kFp32, {1, 4}, "a");
  EXPECT_EQ(message_of([&] { call("eights", std::vector<View>(9, a), {a}).draft(); }),
            "'builtin_custom_op' has 9 srcs; at most 8 are supported.");
  EXPECT_EQ(message_of([&] { call("eights", {a}, std::vector<View>(9, a)).draft(); }),
            "'builtin_custom_op' has 9 dsts; at most 8 are supported.");
  EXPECT_EQ(message_of([&] {
              call("eights", {a, View()}, {a}).draft();
            }),
            "srcs[1] of 'builtin_custom_op' is missing.");
}

TEST(BuiltinCustomOp, RefusesIncompleteAndRepeatedRegistrations) {
  register_functions();
  const auto message = [](const std::string& name, CustomFunction function) {
    return message_of([&] { register_custom_function(name, std::move(function)); });
  };
  EXPECT_EQ(message("sum_and_difference", {.run = sum_and_difference}),
            "custom function 'sum_and_difference' is registered already.");
  EXPECT_EQ(message("nine", {.sources = 9, .run = sum_and_difference}),
            "custom function 'nine' has 9 sources; 'builtin_custom_op' allows 0 to 8.");
  EXPECT_EQ(message("none", {.destinations = 0, .run = sum_and_difference}),
            "custom function 'none' has 0 destinations; 'builtin_custom_op' allows 1 to 8.");
  EXPECT_EQ(message("empty", {}),
            "custom function 'empty' has no 'run' to call for 'builtin_custom_op'.");
  EXPECT_EQ(message("gift", {.run = sum_and_difference, .cycles_per_element = -1}),
            "cycles_per_element -1 of custom function 'gift' must not be negative.");
  EXPECT_EQ(find_custom_function("nine"), nullptr);
}

TEST(BuiltinCustomOp, RunsAndIsTimedInAProgram) {
  register_functions();
  Builder builder("custom", load_architecture("trn2"));
  const View input = builder.argument("input", {4, 100}, kFp32);
  const View output = builder.argument("output", {4, 100}, kFp32);
  const View a = builder.sbuf("a", {4, 100}, kFp32), b = builder.sbuf("b", {4, 100}, kFp32);
  const View difference = builder.sbuf("difference", {4, 100}, kFp32);
  builder.emit(DmaCopy{.dst = a, .src = input});
  builder.emit(call("sum_and_difference", {a, a}, {b, difference}));
  builder.emit(DmaCopy{.dst = output, .src = b});
  const auto program = builder.finish();
  const Step& step = program->demands[program->instructions[1].demand].steps[0];
  EXPECT_EQ(step.rate, RateClass::kGpSimdStep);
  EXPECT_EQ(step.elements, 250);
  EXPECT_GT(simulate(*program).busy[static_cast<size_t>(EngineKind::kGpSimd)].count, 0);
  ProgramRun run(program);
  run.randomise(1);
  ThreadPool pool(2);
  run.execute(make_plan(*program), pool);
  for (int i = 0; i < 400; ++i) {
    EXPECT_EQ(run.data<float>(1)[i], 2 * run.data<float>(0)[i]);
  }
}

}  // namespace
}  // namespace neuron_sim
