// Which launches compute with a copy of an operand, and what is in it.

#include "csrc/launch/arranged_operands.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <cstring>

#include "csrc/launch/tensor_access.h"
#include "csrc/runtime/runtime.h"
#include "device/base/errors.h"
#include "device/builder/builder.h"

namespace neuron_sim {
namespace {

const at::Device kDevice(kDeviceType, 0);

class ArrangedOperands : public testing::Test {
 protected:
  void SetUp() override { initialize(); }

  static std::shared_ptr<const Program> program() {
    return Builder("reader", load_architecture("trn2")).finish();
  }
  /// The operand of a launch with `tensor`, whose columns the kernel loads best.
  std::optional<ArrangedOperand> of_launch(const at::Tensor& tensor) {
    const int64_t order[] = {1, 0};
    return arranged_operand(kernel_,
                            {tensor, backing(tensor), tensor.sizes(), tensor.strides(),
                             itemsize(Dtype::kFloat32), order},
                            [&](at::IntArrayRef strides, int64_t bytes) {
                              ++built_;
                              strides_ = strides.vec();
                              bytes_ = bytes;
                              if (refuses_) fail("no such strides");
                              return program();
                            });
  }
  static at::Tensor copy_of(const ArrangedOperand& arranged, const at::Tensor& tensor) {
    at::Tensor copy = at::empty({tensor.size(1), tensor.size(0)});
    std::memcpy(copy.mutable_data_ptr(), arranged.elements->data(), copy.nbytes());
    return copy.t();
  }

  const c10::InferenceMode inference_;
  std::shared_ptr<const Kernel> kernel_ = std::make_shared<const Kernel>(program());
  bool refuses_ = false;
  int built_ = 0;
  std::vector<int64_t> strides_;
  int64_t bytes_ = 0;
};

TEST_F(ArrangedOperands, TheSecondLaunchThatFindsTheSameBytesHasACopy) {
  const at::Tensor host = at::rand({130, 250}), tensor = host.to(kDevice);
  EXPECT_FALSE(of_launch(tensor));
  const auto second = of_launch(tensor), third = of_launch(tensor);
  ASSERT_TRUE(second && third);
  EXPECT_EQ(second->elements, third->elements);
  EXPECT_EQ(built_, 1);
  EXPECT_EQ(strides_, (std::vector<int64_t>{1, 130}));
  EXPECT_EQ(bytes_, 130 * 250 * 4);
  EXPECT_TRUE(at::equal(copy_of(*second, host), host));
}

TEST_F(ArrangedOperands, AWriteEndsACopyUntilTheLaunchAfterTheNext) {
  const at::Tensor tensor = at::rand({130, 250}).to(kDevice);
  const at::Tensor other = at::rand({130, 250});
  const std::function<void()> writes[] = {[&] { tensor.add_(1); }, [&] { tensor.copy_(other); },
                                          [&] { tensor.select(0, 129).zero_(); },
                                          [&] { tensor.view({-1}).narrow(0, 0, 1).fill_(3); }};
  for (const auto& write : writes) {
    of_launch(tensor);
    ASSERT_TRUE(of_launch(tensor));
    write();
    EXPECT_FALSE(of_launch(tensor));
    const auto again = of_launch(tensor);
    ASSERT_TRUE(again);
    EXPECT_TRUE(at::equal(copy_of(*again, tensor.cpu()), tensor.cpu()));
  }
  EXPECT_EQ(built_, 1);
}

TEST_F(ArrangedOperands, TensorsOfOneKernelShareItsProgramAndNotTheirCopies) {
  const at::Tensor first = at::rand({130, 250}).to(kDevice);
  const at::Tensor second = at::rand({130, 250}).to(kDevice);
  of_launch(first);
  of_launch(second);
  const auto of_first = of_launch(first), of_second = of_launch(second);
  ASSERT_TRUE(of_first && of_second);
  EXPECT_EQ(built_, 1);
  EXPECT_EQ(of_first->kernel, of_second->kernel);
  EXPECT_NE(of_first->elements, of_second->elements);
}

TEST_F(ArrangedOperands, MemoryThatAnotherTensorGotHasNoCopyOfTheFirst) {
  at::Tensor tensor = at::rand({130, 250}).to(kDevice);
  of_launch(tensor);
  ASSERT_TRUE(of_launch(tensor));
  tensor = at::Tensor();
  tensor = at::empty({130, 250}, kDevice);
  EXPECT_FALSE(of_launch(tensor));
}

TEST_F(ArrangedOperands, SmallOperandsAndThoseInOrderHaveNone) {
  const at::Tensor small = at::rand({128, 127}).to(kDevice);
  const at::Tensor large = at::rand({128, 128}).to(kDevice);
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(of_launch(small));
    EXPECT_EQ(of_launch(large).has_value(), i == 1);
    EXPECT_FALSE(of_launch(large.t()));
  }
}

TEST_F(ArrangedOperands, AKernelThatTakesTheOperandAsItIsAloneIsBuiltOnce) {
  refuses_ = true;
  const at::Tensor tensor = at::rand({130, 250}).to(kDevice);
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(of_launch(tensor));
  EXPECT_EQ(built_, 1);
}

}  // namespace
}  // namespace neuron_sim
