// The key of a compiled kernel: any part that differs makes another key.

#include "csrc/launch/kernel_call.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "csrc/launch/launches.h"
#include "csrc/neuron_sim.h"
#include "device/runtime/devices.h"
#include "ops/pointwise/pointwise.h"

namespace neuron_sim {
namespace {

const at::Device kDevice(kDeviceType, 0);

at::Tensor tensor(at::IntArrayRef sizes, at::ScalarType dtype = at::kFloat) {
  return at::empty(sizes, at::TensorOptions().device(kDevice).dtype(dtype));
}

struct TestOptions {
  int64_t number = 0;
  std::string word{};
  static constexpr std::array kFields{"number", "word"};
};

KernelKey key_of(const at::Tensor& operand, int64_t number, std::string_view word,
                 std::string_view kernel = "op",
                 const Architecture& architecture = device_architecture(0)) {
  KernelCall call(kernel, kDevice, architecture);
  call.operand(operand).options(TestOptions{number, std::string(word)});
  return call.key();
}

TEST(KernelCallKey, IsTheSameForOtherDataOfTheSameKind) {
  EXPECT_EQ(key_of(tensor({4, 6}), 1, "relu"), key_of(tensor({4, 6}), 1, "relu"));
  EXPECT_EQ(key_of(tensor({4, 6}), 1, "relu").hash(), key_of(tensor({4, 6}), 1, "relu").hash());
}

TEST(KernelCallKey, DiffersWithEachPartAlone) {
  const KernelKey key = key_of(tensor({4, 6}), 1, "relu");
  EXPECT_FALSE(key == key_of(tensor({6, 4}), 1, "relu")) << "shape";
  EXPECT_FALSE(key == key_of(tensor({24}), 1, "relu")) << "rank";
  EXPECT_FALSE(key == key_of(tensor({6, 4}).t(), 1, "relu")) << "strides";
  EXPECT_FALSE(key == key_of(tensor({4, 6}, at::kInt), 1, "relu")) << "dtype";
  EXPECT_FALSE(key == key_of(tensor({4, 6}), 2, "relu")) << "number";
  EXPECT_FALSE(key == key_of(tensor({4, 6}), 1, "gelu")) << "word";
  EXPECT_FALSE(key == key_of(tensor({4, 6}), 1, "relu", "po")) << "kernel";
  for (const std::string& name : builtin_architectures()) {
    const Architecture& other = load_architecture(name);
    if (&other == &device_architecture(0)) continue;
    EXPECT_FALSE(key == key_of(tensor({4, 6}), 1, "relu", "op", other)) << name;
  }
}

TEST(KernelCallOperand, IsCopiedOnlyIfElementsOverlap) {
  KernelCall call("op", kDevice);
  call.operand(tensor({10}).as_strided({5, 4}, {1, 1}));  // neighbouring rows share three elements
  call.operand(tensor({8}).as_strided({2, 4}, {4, 1}).t());  // a permutation
  call.operand(tensor({4}).expand({3, 4}));                  // one row, three times
  call.operand(tensor({100}).as_strided({5, 4}, {20, 5}));   // gaps
  call.operand(tensor({100}).as_strided({5, 4}, {15, 5}));   // a row ends where the next begins
  const std::vector<TensorSpec> specs = call.specs();
  EXPECT_EQ(specs[0].strides, (std::vector<int64_t>{4, 1}));
  EXPECT_EQ(specs[1].strides, (std::vector<int64_t>{1, 4}));
  EXPECT_EQ(specs[2].strides, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(specs[3].strides, (std::vector<int64_t>{20, 5}));
  EXPECT_EQ(specs[4].strides, (std::vector<int64_t>{4, 1}))
      << "the last of a row is the first of the next";
}

/// The results are the operand plus the number.
void emit_sum(Builder& builder, HbmTensors operands, HbmTensors results,
              const TestOptions& options) {
  Expression sum;
  sum.add_result(sum.input(0) + static_cast<double>(options.number));
  emit_pointwise(builder, operands, results, sum);
}

constexpr KernelDefinition<TestOptions> kSum{.name = "sum", .emit = emit_sum};

TEST(KernelCallLaunch, BuildsAKernelForEveryValueOfAnOption) {
  const at::Tensor x = at::zeros({3}, at::TensorOptions().device(kDevice));
  for (const int64_t number : {1, 2, 1}) {
    const at::Tensor result = at::empty_like(x);
    KernelCall("sum", kDevice).operand(x).result(result).launch(kSum, {number, ""});
    EXPECT_TRUE(at::equal(result.cpu(), at::full({3}, static_cast<double>(number))));
  }
}

template <typename Function>
concept Launchable = requires(Function emit) {
  KernelDefinition<TestOptions>{.name = "", .emit = emit};
};

TEST(KernelDefinition, TakesNoFunctionThatCapturesWhatIsNoOption) {
  const auto plain = [](Builder&, HbmTensors, HbmTensors, const TestOptions&) {};
  const auto capturing = [plain](Builder& builder, HbmTensors operands, HbmTensors results,
                                 const TestOptions& options) {
    plain(builder, operands, results, options);
  };
  EXPECT_TRUE(Launchable<decltype(plain)>);
  EXPECT_FALSE(Launchable<decltype(capturing)>);
}

TEST(Launches, AreKeptByEveryActiveRecording) {
  const at::Tensor x = at::zeros({8}, at::TensorOptions().device(kDevice));
  const RecordingId first = start_recording();
  vector_add(x, x);
  const RecordingId second = start_recording();
  vector_add(x, x);
  const auto outer = finish_recording(first);
  vector_add(x, x);
  const auto inner = finish_recording(second);
  vector_add(x, x);
  EXPECT_EQ(outer.size(), 2U);
  EXPECT_EQ(inner.size(), 2U);
  EXPECT_EQ(outer[0].kernel->arguments, "a [8] float32, b [8] float32 -> out [8] float32");
  EXPECT_TRUE(finish_recording(second).empty());
}

}  // namespace
}  // namespace neuron_sim
