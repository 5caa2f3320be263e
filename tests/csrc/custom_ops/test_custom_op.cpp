#include "csrc/custom_ops/custom_op.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "csrc/neuron_sim.h"
#include "ops/copies/transpose.h"

namespace neuron_sim {
namespace {

using at::Tensor;

/// An op without gradients, with an option of each kind.
struct Turned {
  static constexpr const char* kSchema =
      "test_turned(Tensor a, *, float scale=1.0, int[]? sizes=None, bool flag=False) -> Tensor";
  static constexpr auto& kKernel = kTranspose;

  static Invocation<TransposeOptions> prepare(const Tensor& a, double scale,
                                              at::OptionalIntArrayRef sizes, bool flag) {
    TORCH_CHECK_VALUE(scale == 1.0 && !sizes && !flag, "test_turned: no option is given.");
    return {{a}, {}, {a.sym_size(1), a.sym_size(0)}, a.scalar_type()};
  }
  static void reference(const Invocation<TransposeOptions>& call, const Tensor& out) {
    out.copy_(call.operands[0].t());
  }
};

/// An operator whose gradients see their arguments.
struct Recorded : Turned {
  static constexpr const char* kSchema =
      "test_recorded(Tensor a, *, float scale=1.0, int[]? sizes=None, bool flag=False) -> Tensor";
  static inline std::vector<std::string> seen;

  static variable_list gradients(const Gradient& gradient, double scale,
                                 const std::optional<std::vector<int64_t>>& sizes, bool flag) {
    seen.push_back(c10::str(gradient.sizes[0], " ", scale, " ", sizes.has_value(), " ", flag));
    return {gradient.of_result.t()};
  }
};

const CustomOp<Turned> kTurned;
const CustomOp<Recorded> kRecorded;

const char* const kPlaces[] = {"cpu", "neuron_sim:1"};

TEST(CustomOp, RunsOnEveryPlace) {
  for (const char* place : kPlaces) {
    const Tensor a = torch::rand({3, 5}).to(place);
    EXPECT_TRUE(torch::equal(kTurned.call(a, 1.0, std::nullopt, false).cpu(), a.cpu().t()));
  }
  const Tensor a = torch::empty({3, 5}, torch::kMeta);
  EXPECT_EQ(kTurned.call(a, 1.0, std::nullopt, false).sizes(), (at::IntArrayRef{5, 3}));
}

TEST(CustomOp, WithoutGradientsRefusesToBeDifferentiated) {
  for (const char* place : kPlaces) {
    const Tensor a = torch::rand({3, 5}).to(place).requires_grad_();
    const Tensor result = kTurned.call(a, 1.0, std::nullopt, false);
    try {
      result.sum().backward();
      FAIL() << place;
    } catch (const c10::Error& error) {
      EXPECT_EQ(std::string(error.what_without_backtrace()),
                "neuron_sim::test_turned: its gradient is not supported.");
    }
  }
}

TEST(CustomOp, KeepsTheSizesOfTensorsThatItsGradientsDoNotTake) {
  Tensor a = torch::rand({3, 5}).requires_grad_(), copy = a * 1;
  const c10::weak_intrusive_ptr<c10::TensorImpl> kept(copy.getIntrusivePtr());
  const Tensor result = kRecorded.call(copy, 1.0, std::nullopt, false);
  copy.reset();
  EXPECT_TRUE(kept.expired());
  result.sum().backward();
  EXPECT_TRUE(torch::equal(a.grad(), torch::ones({3, 5})));
  EXPECT_EQ(Recorded::seen, (std::vector<std::string>{"3 5 1 0 0"}));
}

}  // namespace
}  // namespace neuron_sim
