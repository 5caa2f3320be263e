// An operator that was refused after it wrote an argument does not begin again on the CPU.

#include "csrc/launch/written_memory.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/runtime/runtime.h"

namespace neuron_sim {
namespace {

const at::Device kDevice(kDeviceType, 0);

at::Tensor on_device(at::ArrayRef<float> values) {
  return at::tensor(values, at::kFloat).to(kDevice);
}

class WrittenMemoryTest : public testing::Test {
 protected:
  void SetUp() override { initialize(); }

  /// Runs `name` as an operator whose kernel does `work` and is refused then.
  static torch::jit::Stack refused(const char* name, const char* overload, torch::jit::Stack stack,
                                   const std::function<void()>& work) {
    const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
    run_or_fall_back(op, &stack, true, [&](torch::jit::Stack*) {
      work();
      throw Refusal{"a test says so"};
    });
    return stack;
  }
  const c10::InferenceMode inference_;
};

TEST_F(WrittenMemoryTest, AnOperatorThatWroteNothingFallsBack) {
  const at::Tensor x = on_device({1, 2}), y = on_device({3, 4});
  refused("aten::add_", "Tensor", {x, y, 1}, [] {});
  EXPECT_TRUE(at::equal(x.cpu(), at::tensor({4.0f, 6.0f})));
  refused("aten::add_", "Tensor", {x, y, 1}, [&] { (x + y).mul_(2); });
  EXPECT_TRUE(at::equal(x.cpu(), at::tensor({7.0f, 10.0f})));
}

TEST_F(WrittenMemoryTest, OneThatWroteWhatItChangesIsAnError) {
  const at::Tensor y = on_device({3, 4});
  const std::function<void(const at::Tensor&)> writes[] = {
      [&](const at::Tensor& x) { x.add_(y); },                               // a kernel
      [&](const at::Tensor& x) { x.narrow(0, 1, 1).copy_(at::ones({1})); },  // a copy from the host
      [&](const at::Tensor& x) { x.i0_(); },                                 // a fallback
  };
  for (const auto& write : writes) {
    const at::Tensor x = on_device({1, 2});
    try {
      refused("aten::add_", "Tensor", {x, y, 1}, [&] { write(x); });
      ADD_FAILURE() << "no error";
    } catch (const c10::Error& error) {
      const std::string message = error.what_without_backtrace();
      EXPECT_NE(message.find("'aten::add_.Tensor' wrote its argument 'self'"), std::string::npos)
          << message;
      EXPECT_NE(message.find("a test says so"), std::string::npos);
    }
  }
}

TEST_F(WrittenMemoryTest, AResultThatIsNoOperandIsWrittenAgain) {
  const at::Tensor x = on_device({1, 2}), y = on_device({3, 4}), out = on_device({0, 0});
  refused("aten::add", "out", {x, y, 1, out}, [&] { out.fill_(7); });
  EXPECT_TRUE(at::equal(out.cpu(), at::tensor({4.0f, 6.0f})));
  EXPECT_THROW(refused("aten::add", "out", {x, y, 1, x}, [&] { x.fill_(7); }), c10::Error);
}

TEST_F(WrittenMemoryTest, TensorsOfListsCount) {
  const at::Tensor x = on_device({1, 2}), y = on_device({3, 4});
  const c10::List<at::Tensor> list({x, y});
  EXPECT_THROW(refused("aten::_foreach_add_", "Scalar", {list, 1}, [&] { y.add_(1); }), c10::Error);
}

TEST_F(WrittenMemoryTest, AnOperandWithoutAStorageIsLeftToTheCpu) {
  const at::Tensor x = on_device({1, 2}), y = on_device({3, 4});
  const at::Tensor sparse = at::tensor({5.0f, 6.0f}).to_sparse();
  try {
    refused("aten::add_", "Tensor", {x, sparse, 1}, [&] { (y + 1).mul_(2); });
    ADD_FAILURE() << "no error";
  } catch (const c10::Error& error) {  // torch's own: its dense kernel takes no sparse operand
    const std::string message = error.what_without_backtrace();
    EXPECT_NE(message.find("unsupported tensor layout: Sparse"), std::string::npos) << message;
  }
}

TEST_F(WrittenMemoryTest, WhatAnEarlierOperatorWroteDoesNotCount) {
  const at::Tensor x = on_device({1, 2}), y = on_device({3, 4});
  x.add_(y);
  refused("aten::add_", "Tensor", {x, y, 1}, [&] {
    const at::Tensor other = on_device({5, 6});
    refused("aten::add_", "Tensor", {other, y, 1}, [] {});  // one that this operator calls
  });
  EXPECT_TRUE(at::equal(x.cpu(), at::tensor({7.0f, 10.0f})));
  EXPECT_THROW(refused("aten::add_", "Tensor", {x, y, 1},
                       [&] {
                         refused("aten::add_", "Tensor", {x, y, 1}, [] {});
                       }),
               c10::Error);
}

}  // namespace
}  // namespace neuron_sim
