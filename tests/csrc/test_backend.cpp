// The device as a C++ program sees it: no Python anywhere.

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <thread>

#include "csrc/aten/dispatch/fallback.h"
#include "csrc/launch/tensor_access.h"
#include "csrc/runtime/errors.h"
#include "csrc/runtime/runtime.h"
#include "device/runtime/devices.h"

namespace neuron_sim {
namespace {

const at::Device kFirst(kDeviceType, 0);
const at::Device kSecond(kDeviceType, 1);

class Backend : public testing::Test {
 protected:
  void SetUp() override {
    initialize();
    if (visible_devices() < 2) GTEST_SKIP() << "needs two devices";
  }
  void TearDown() override {
    set_device(0);
    set_fallback_policy(FallbackPolicy::kAllow);
  }
};

TEST_F(Backend, TheNameIsKnownWithoutPython) {
  EXPECT_EQ(at::Device("neuron_sim:1"), kSecond);
  EXPECT_EQ(kSecond.str(), "neuron_sim:1");
}

TEST_F(Backend, GuardsRestoreTheDevice) {
  {
    const c10::DeviceGuard guard(kSecond);
    EXPECT_EQ(current_device(), 1);
    EXPECT_EQ(at::empty({1}, at::TensorOptions(kDeviceType)).device(), kSecond);
  }
  EXPECT_EQ(current_device(), 0);
}

TEST_F(Backend, ADeviceThatDoesNotExistIsNamedInTheError) {
  try {
    at::empty({1}, at::Device(kDeviceType, 77));
    FAIL();
  } catch (const c10::Error& error) {
    EXPECT_NE(std::string(error.what()).find("device index 77 is out of range"), std::string::npos);
  }
  EXPECT_THROW(set_device(-1), c10::Error);
  EXPECT_EQ(current_device(), 0);
}

TEST_F(Backend, TensorsLiveWhereTheirDeviceSays) {
  const at::Tensor tensor = at::ones({3, 5}, kSecond);
  EXPECT_EQ(device_index(tensor), 1);
  EXPECT_EQ(hbm().device_of(tensor.const_data_ptr()), 1);
  EXPECT_EQ(reinterpret_cast<const float*>(backing(tensor))[14], 1.0f);
}

TEST_F(Backend, TheBackingOfAViewStartsAtItsOffset) {
  const at::Tensor base = at::arange(12, at::kInt).to(kFirst);
  const at::Tensor view = base.slice(0, 5);
  EXPECT_EQ(backing(view) - backing(base), 5 * 4);
  EXPECT_EQ(*reinterpret_cast<const int32_t*>(backing(view)), 5);
  EXPECT_EQ(backing(base.slice(0, 0, 0)), nullptr);
  EXPECT_THROW(backing(at::ones({1})), c10::Error);
  EXPECT_THROW(device_index(at::ones({1})), c10::Error);
}

TEST_F(Backend, CopiesRoundTrip) {
  const at::Tensor source = at::arange(12).reshape({3, 4});
  const at::Tensor device = source.t().to(kFirst).to(kSecond);
  EXPECT_EQ(device.device(), kSecond);
  EXPECT_TRUE(at::equal(device.cpu(), source.t()));
  EXPECT_EQ(device[3][2].item<int64_t>(), 11);
}

TEST_F(Backend, FallbackIsCountedAndStrictModeRefusesIt) {
  const at::Tensor left = at::rand({4, 5}), right = at::rand({5, 3});
  const at::Tensor device_left = left.to(kFirst), device_right = right.to(kFirst);
  reset_fallbacks();
  count_fallback("aten::none", "no reason", {16});
  count_fallback("aten::none", "no reason", {8});
  ASSERT_EQ(fallbacks().size(), 1);
  EXPECT_EQ(fallbacks()[0].count, 2);
  EXPECT_EQ(fallbacks()[0].moved, Bytes{24});
  check_fallback("aten::none", "no reason");
  set_fallback_policy(FallbackPolicy::kError);
  EXPECT_THROW(check_fallback("aten::none", "no reason"), c10::NotImplementedError);
  set_fallback_policy(FallbackPolicy::kAllow);
  EXPECT_TRUE(at::allclose(at::mm(device_left, device_right).cpu(), at::mm(left, right)));
}

TEST_F(Backend, EachKindOfErrorBecomesItsC10Class) {
  const auto raise = [](ErrorKind kind) { translate_errors([&] { fail("sentence", kind); }); };
  EXPECT_THROW(raise(ErrorKind::kValue), c10::ValueError);
  EXPECT_THROW(raise(ErrorKind::kType), c10::TypeError);
  EXPECT_THROW(raise(ErrorKind::kIndex), c10::IndexError);
  EXPECT_THROW(raise(ErrorKind::kOutOfMemory), c10::OutOfMemoryError);
  EXPECT_THROW(raise(ErrorKind::kNotImplemented), c10::NotImplementedError);
  EXPECT_THROW(raise(ErrorKind::kRuntime), c10::Error);
  EXPECT_THROW(translate_errors([] { require(false, "invariant"); }), c10::Error);
  EXPECT_EQ(translate_errors([] { return 3; }), 3);
}

TEST_F(Backend, OutOfMemoryLeavesTensorsUsable) {
  const at::Tensor kept = at::ones({4}, kFirst);
  const int64_t too_much = hbm().capacity().count + 1;
  EXPECT_THROW(at::empty({too_much}, at::TensorOptions(kFirst).dtype(at::kByte)),
               c10::OutOfMemoryError);
  EXPECT_EQ(kept.sum().item<float>(), 4.0f);
}

TEST_F(Backend, DtypesOfTheChipAreMappedAndOthersRefused) {
  EXPECT_EQ(dtype_of(at::kBFloat16), Dtype::kBfloat16);
  EXPECT_EQ(dtype_of(at::kFloat8_e5m2), Dtype::kFloat8E5m2);
  EXPECT_EQ(dtype_of(at::kBool), Dtype::kBool);
  for (const at::ScalarType type :
       {at::kLong, at::kDouble, at::kComplexFloat, at::kFloat8_e4m3fn}) {
    try {
      dtype_of(type);
      FAIL() << c10::toString(type);
    } catch (const KernelError& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kType);
    }
  }
}

TEST_F(Backend, ASeedGivesTheNumbersOfTheCpu) {
  at::Generator generator = at::globalContext().defaultGenerator(kSecond);
  const auto draw = [&](const at::Device& device) {
    at::manual_seed(11);
    return at::rand({5}, device).cpu();
  };
  EXPECT_TRUE(at::equal(draw(kSecond), draw(at::kCPU)));
  const std::lock_guard lock(generator.mutex());
  EXPECT_EQ(generator.current_seed(), 11u);
}

TEST_F(Backend, EventsCarrySimulatedTime) {
  c10::Event start(kDeviceType, c10::EventFlag::BACKEND_DEFAULT);
  c10::Event end(kDeviceType, c10::EventFlag::BACKEND_DEFAULT);
  const c10::Stream stream = c10::impl::VirtualGuardImpl(kDeviceType).getNewStream(kFirst);
  const c10::StreamGuard guard(stream);
  start.record(stream);
  submit(0, Resource::kCore, from_nanoseconds(2500000));
  end.record(stream);
  EXPECT_TRUE(end.query());
  EXPECT_DOUBLE_EQ(start.elapsedTime(end), 2.5);
}

TEST_F(Backend, CurrentDeviceAndStreamBelongToTheThread) {
  set_device(1);
  const int64_t before = exchange_stream(1, 5);
  std::thread([] {
    EXPECT_EQ(current_device(), 0);
    EXPECT_EQ(current_stream(1), 0);
  }).join();
  EXPECT_EQ(current_stream(1), 5);
  exchange_stream(1, before);
}

}  // namespace
}  // namespace neuron_sim
