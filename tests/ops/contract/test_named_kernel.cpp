#include "ops/contract/named_kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "device/arch/architecture.h"
#include "device/base/errors.h"
#include "ops/conv2d/conv2d_maxpool.h"
#include "ops/conv2d/input_gradient.h"
#include "ops/ffnn/ffnn.h"
#include "ops/matmul/matmul.h"

namespace neuron_sim {
namespace {

/// Options given as values; `names` are those that were asked for.
class Given final : public OptionReader {
 public:
  std::map<std::string, int64_t, std::less<>> numbers;
  std::map<std::string, std::string, std::less<>> words;
  std::vector<std::string> names;
  bool finished = false;

  bool read(std::string_view option, std::string& value) override {
    return find(words, option, value);
  }
  bool read(std::string_view option, int64_t& value) override {
    return find(numbers, option, value);
  }
  bool read(std::string_view option, double&) override { return note(option); }
  bool read(std::string_view option, std::array<int64_t, 2>& value) override {
    if (!find(numbers, option, value[0])) return false;
    value[1] = value[0];
    return true;
  }
  bool read(std::string_view option, std::vector<int64_t>&) override { return note(option); }
  void finish() override { finished = true; }

 private:
  bool note(std::string_view option) {
    names.emplace_back(option);
    return false;
  }
  template <typename Values, typename Value>
  bool find(const Values& values, std::string_view option, Value& value) {
    note(option);
    const auto found = values.find(option);
    if (found == values.end()) return false;
    value = found->second;
    return true;
  }
};

const NamedKernel& kernel_of_name(std::string_view name) {
  const auto& kernels = named_kernels();
  const auto found = std::find_if(kernels.begin(), kernels.end(),
                                  [&](const NamedKernel* each) { return each->name() == name; });
  return **found;
}

std::string error_of(std::string_view kernel, const std::vector<TensorSpec>& operands) {
  Given given;
  try {
    kernel_of_name(kernel).build(load_architecture("trn2"), operands, given);
  } catch (const KernelError& error) {
    return error.what();
  }
  return "";
}

TEST(NamedKernel, AreListedOnceInOrder) {
  std::vector<std::string_view> names;
  for (const NamedKernel* kernel : named_kernels()) names.push_back(kernel->name());
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  EXPECT_GE(names.size(), 11u);
}

TEST(NamedKernel, OptionsWithoutANameAreNotForCallers) {
  Given given;
  read_options<MatmulOptions>(given, "matmul");
  EXPECT_EQ(given.names, (std::vector<std::string>{"variant", "transpose_x"}));
  EXPECT_TRUE(given.finished);
  given.names.clear();
  read_options<FfnnOptions>(given, "ffnn_forward");
  EXPECT_EQ(given.names, (std::vector<std::string>{"hidden_activation", "output_activation"}));
}

TEST(NamedKernel, OptionsAreReadByTheTypeOfTheirField) {
  Given given;
  given.numbers = {{"transpose_x", 1}};
  given.words = {{"variant", "tiled"}};
  const auto options = read_options<MatmulOptions>(given, "matmul");
  EXPECT_TRUE(options.transpose_x);
  EXPECT_EQ(options.variant, MatmulVariant::kTiled);
}

TEST(NamedKernel, AnOptionMayDefaultToAnother) {
  Given given;
  given.numbers = {{"pool_size", 3}};
  EXPECT_EQ(read_options<Conv2dMaxpoolOptions>(given, "conv2d_maxpool").pool_stride,
            (std::array<int64_t, 2>{3, 3}));
  given.numbers["pool_stride"] = 2;
  const auto options = read_options<Conv2dMaxpoolOptions>(given, "conv2d_maxpool");
  EXPECT_EQ(options.pool_stride, (std::array<int64_t, 2>{2, 2}));
  EXPECT_EQ(options.pool_kernel, (std::array<int64_t, 2>{3, 3}));
}

TEST(NamedKernel, RefuseAnotherNumberOfOperands) {
  const TensorSpec matrix{{4, 4}, {}}, bias{{4}, {}};
  EXPECT_EQ(error_of("matmul", {matrix, matrix}), "");
  EXPECT_EQ(error_of("matmul", {matrix}), "kernel 'matmul' has 2 inputs, not 1.");
  EXPECT_EQ(error_of("matmul", {matrix, matrix, matrix}), "kernel 'matmul' has 2 inputs, not 3.");
  EXPECT_EQ(error_of("ffnn_forward", {matrix, matrix, bias}), "");
  EXPECT_EQ(error_of("ffnn_forward", {matrix, matrix, matrix, bias, bias}), "");
  for (const size_t count : {0, 1, 2, 4}) {
    EXPECT_EQ(
        error_of("ffnn_forward", std::vector<TensorSpec>(count, matrix)),
        text("kernel 'ffnn_forward' has the inputs x, weight*, bias* (*: one or more, as many "
             "of each), not ",
             count, " tensors."));
  }
}

TEST(NamedKernel, AnOperandInParenthesesIsNoArgumentOfTheProgram) {
  const TensorSpec gradient{{1, 4, 6, 6}, {}}, weight{{4, 3, 3, 3}, {}}, input{{1, 3, 8, 8}, {}};
  Given given;
  const BuiltOp built = kernel_of_name("conv2d_input_gradient")
                            .build(load_architecture("trn2"), {gradient, weight, input}, given);
  EXPECT_EQ(built.output, input);
  EXPECT_EQ(operand_labels(kConv2dInputGradient.labels),
            (std::vector<std::string>{"gradient", "weight", "(input)"}));
  EXPECT_EQ(labels_of(kConv2dInputGradient.labels, 3),
            (std::vector<std::string>{"gradient", "weight", "grad_input"}));
  EXPECT_EQ(labels_of(kFfnnForward.labels, 6),
            (std::vector<std::string>{"x", "weight0", "weight1", "bias0", "bias1", "out"}));
}

}  // namespace
}  // namespace neuron_sim
