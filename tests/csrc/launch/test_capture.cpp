// Graphs captured and run again from C++.

#include "csrc/launch/capture.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <functional>

#include "csrc/launch/launches.h"
#include "csrc/runtime/runtime.h"

namespace neuron_sim {
namespace {

using Tensors = std::vector<at::Tensor>;
using Function = std::function<Tensors(const Tensors&)>;

const at::Device kDevice(kDeviceType, 0);

at::Tensor random(at::IntArrayRef sizes) { return at::randn(sizes).to(kDevice); }

std::shared_ptr<const CapturedGraph> captured(const Function& function, const Tensors& inputs,
                                              Tensors* outputs = nullptr) {
  GraphCapture capture(kDevice, inputs, {});
  const Tensors found = function(inputs);
  auto graph = capture.finish(found);
  if (outputs != nullptr) *outputs = found;
  return graph;
}

std::vector<RecordedLaunch> launches_of(const std::function<void()>& work) {
  const RecordingId recording = start_recording();
  work();
  return finish_recording(recording);
}

void expect_equal(const Tensors& found, const Tensors& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].strides(), expected[i].strides());
    EXPECT_TRUE(at::equal(found[i].cpu(), expected[i].cpu())) << "output " << i;
  }
}

class Capture : public testing::Test {
 protected:
  void SetUp() override { initialize(); }
  const c10::InferenceMode inference_;
};

TEST_F(Capture, KernelsOfACaptureAreOneLaunchAndSoIsEveryLaterRun) {
  const Function function = [](const Tensors& in) {
    return Tensors{at::mm(at::relu(in[0] * 2), in[1]) + 1};
  };
  const Tensors inputs{random({40, 30}), random({30, 20})},
      others{random({40, 30}), random({30, 20})};
  std::shared_ptr<const CapturedGraph> graph;
  Tensors first, second;
  EXPECT_EQ(launches_of([&] { graph = captured(function, inputs, &first); }).size(), 1u);
  EXPECT_EQ(launches_of([&] { second = graph->run(others); }).size(), 1u);
  expect_equal(first, function(inputs));
  expect_equal(second, function(others));
  EXPECT_EQ(graph->facts().kernels, 4u);
  EXPECT_EQ(graph->facts().programs, 1u);
  EXPECT_LT(graph->facts().program_bodies, graph->facts().kernel_bodies);
}

TEST_F(Capture, OutputsMayBeInputsViewsAndEachOther) {
  const Function function = [](const Tensors& in) {
    const at::Tensor sum = in[0] + 1;
    return Tensors{in[0], sum, sum.t(), sum.narrow(0, 1, 2)};
  };
  const Tensors inputs{random({4, 5})}, others{random({4, 5})};
  const auto graph = captured(function, inputs);
  const Tensors found = graph->run(others);
  expect_equal(found, function(others));
  EXPECT_TRUE(found[0].is_alias_of(others[0]));
  EXPECT_TRUE(found[1].is_alias_of(found[3]));
  EXPECT_FALSE(found[1].is_alias_of(graph->run(others)[1]));
}

TEST_F(Capture, InputsAreChangedInPlaceInEveryRun) {
  const auto graph = captured([](const Tensors& in) { return Tensors{in[0].add_(in[1])}; },
                              {at::ones({6}).to(kDevice), at::ones({6}).to(kDevice)});
  const at::Tensor target = at::ones({6}).to(kDevice);
  for (int run = 1; run <= 3; ++run) {
    graph->run({target, at::ones({6}).to(kDevice)});
    EXPECT_TRUE(at::equal(target.cpu(), at::ones({6}) * (run + 1)));
  }
}

TEST_F(Capture, ATensorThatGrowsWhileItIsCapturedHasItsLastSize) {
  const Function function = [](const Tensors& in) {
    at::Tensor out = at::empty({0}, in[0].options());
    at::add_out(out, in[0], in[0]);
    return Tensors{out};
  };
  const auto graph = captured(function, {random({33})});
  const Tensors others{random({33})};
  expect_equal(graph->run(others), function(others));
}

TEST_F(Capture, IndicesAreComputedByTheHostInEveryRunAndConstantsOnce) {
  const Function function = [](const Tensors& in) {
    const at::Tensor rows = in[1] * 2 + at::arange(3, in[1].options());
    return Tensors{in[0].index_select(0, rows)};
  };
  const auto indices = [](int64_t first) { return at::arange(first, first + 3).to(kDevice); };
  const Tensors inputs{random({20, 4}), indices(0)}, others{random({20, 4}), indices(5)};
  const auto graph = captured(function, inputs);
  expect_equal(graph->run(others), function(others));
  EXPECT_EQ(graph->facts().host_operators,
            (std::vector<std::string>{"aten::mul.out", "aten::add.out",
                                      "neuron_sim_host::check_bounds"}));
}

TEST_F(Capture, AValueOnTheHostRefusesTheCaptureAndChangesNothing) {
  const at::Tensor input = random({8}), before = input.clone();
  GraphCapture capture(kDevice, {input}, {});
  EXPECT_THROW((input + 1).sum().item<float>(), c10::Error);
  EXPECT_EQ(capture.refusal(), "item() reads a value of the graph on the host");
  EXPECT_FALSE(capture.wrote_inputs());
  EXPECT_TRUE(at::equal(input.cpu(), before.cpu()));
}

TEST_F(Capture, ATensorOfAnotherDeviceRefusesTheCapture) {
  if (visible_devices() < 2) GTEST_SKIP() << "needs two devices";
  const at::Tensor other = at::ones({3}).to(at::Device(kDeviceType, 1));
  GraphCapture capture(kDevice, {random({3})}, {});
  EXPECT_THROW(other + 1, c10::Error);
  EXPECT_EQ(capture.refusal(), "a graph on neuron_sim:0 has a tensor on neuron_sim:1");
}

TEST_F(Capture, OneThreadCapturesOneGraphAtATime) {
  GraphCapture capture(kDevice, {}, {});
  EXPECT_THROW(GraphCapture(kDevice, {}, {}), c10::Error);
  EXPECT_EQ(GraphCapture::active(), &capture);
}

TEST_F(Capture, AnotherNumberOfInputsIsAnError) {
  const auto graph = captured([](const Tensors& in) { return Tensors{in[0] + 1}; }, {random({3})});
  EXPECT_THROW(graph->run({}), c10::Error);
}

}  // namespace
}  // namespace neuron_sim
