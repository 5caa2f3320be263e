#include "csrc/aten/rows/batch_norm.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/DeviceGuard.h>

#include <array>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/rows/norms.h"
#include "csrc/aten/shared/reductions.h"
#include "csrc/launch/execution.h"

namespace neuron_sim {

using at::Tensor;

Tensor per_channel(const Tensor& vector, const Tensor& input) {
  at::DimVector shape(static_cast<size_t>(input.dim()), 1);
  shape[1] = vector.numel();
  return vector.reshape(shape);
}

std::vector<bool> all_but_channels(const Tensor& input) {
  std::vector<bool> flags(static_cast<size_t>(input.dim()), true);
  flags[1] = false;
  return flags;
}

int64_t count_of(const Tensor& input) { return input.numel() / input.size(1); }

Moments moments_of(const Tensor& input) {
  const auto options = input.options().dtype(at::kFloat);
  Moments moments{at::empty({input.size(1)}, options), at::empty({input.size(1)}, options)};
  const double share = 1.0 / static_cast<double>(count_of(input));
  const Expression finish = make_expression([&](Expression& e) { return e.input(0) * share; });
  reduce_into(moments.mean, input,
              {.op = AluOp::kAdd, .epilogue = finish, .reduced = all_but_channels(input)});
  const Expression square = make_expression([](Expression& e) {
    const ElementValue deviation = e.input(0) - e.input(1);
    return deviation * deviation;
  });
  reduce_into(moments.variance, {input, per_channel(moments.mean, input).expand_as(input)},
              {.op = AluOp::kAdd,
               .prologue = square,
               .epilogue = finish,
               .reduced = all_but_channels(input)});
  return moments;
}

void update_running(const OptionalTensor& running, const Tensor& observed, double momentum,
                    double factor) {
  if (!given(running)) return;
  if (running->scalar_type() != at::kFloat) {  // rounded after each operator
    running->mul_(1 - momentum).add_(factor == 1 ? observed : observed * factor, momentum);
    return;
  }
  const Expression expression = make_expression([&](Expression& e) {
    const ElementValue scaled = factor == 1 ? e.input(1) : e.input(1) * factor;
    return e.input(0) * (1 - momentum) + scaled * momentum;
  });
  run_pointwise(expression, {*running, observed}, *running);
}

namespace {

/// 1 / sqrt(variance + epsilon).
Tensor inverse_deviation(const Tensor& variance, double epsilon) {
  const Expression expression = make_expression(
      [&](Expression& e) { return call(Activation::kRsqrt, e.input(0) + epsilon); });
  const Tensor result = at::empty(variance.sizes(), variance.options());
  run_pointwise(expression, {variance}, result);
  return result;
}

}  // namespace

Tensor normalised(const Tensor& input, const Tensor& mean, const Tensor& inverse,
                  const OptionalTensor& weight, const OptionalTensor& bias) {
  std::vector<Tensor> operands{input, per_channel(mean, input), per_channel(inverse, input)};
  const bool has_weight = given(weight), has_bias = given(bias);
  if (has_weight) operands.push_back(per_channel(*weight, input));
  if (has_bias) operands.push_back(per_channel(*bias, input));
  const Expression expression = make_expression([&](Expression& e) {
    ElementValue value = (e.input(0) - e.input(1)) * e.input(2);
    if (has_weight) value = value * e.input(3);
    return has_bias ? value + e.input(has_weight ? 4 : 3) : value;
  });
  const Tensor output = at::empty_like(input, input.suggest_memory_format());
  run_pointwise(expression, operands, output);
  return output;
}

namespace {

void check_channels(const Tensor& input, const OptionalTensor& vector, const char* name) {
  TORCH_CHECK(!given(vector) || vector->numel() == input.size(1), name, " should contain ",
              input.size(1), " elements not ", given(vector) ? vector->numel() : 0);
}

}  // namespace

void check_statistics(const Tensor& input, const OptionalTensor& mean,
                      const OptionalTensor& variance, bool needed) {
  TORCH_CHECK(!needed || (given(mean) && given(variance)),
              "batch_norm: mean and variance must be defined");
  for (const OptionalTensor* vector : {&mean, &variance}) {
    TORCH_CHECK(!given(*vector) || (*vector)->is_floating_point(),
                "expected scalar type Float but found ", (*vector)->scalar_type());
  }
  check_channels(input, mean, "running_mean");
  check_channels(input, variance, "running_var");
}

void check_batch(const Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias) {
  TORCH_CHECK(input.dim() >= 2, "batch_norm: expected at least 2 dimensions, got ", input.dim());
  if (input.numel() == 0) throw Refusal{"there are no elements"};
  check_channels(input, weight, "weight");
  check_channels(input, bias, "bias");
}

namespace {

using ThreeTensors = std::tuple<Tensor, Tensor, Tensor>;

/// Normalises by x scale + shift, with the two vectors made first: in a graph whose statistics are
/// constants before its runs, and then the work of one instruction.
Tensor scaled(const Tensor& input, const Tensor& mean, const Tensor& inverse,
              const OptionalTensor& weight, const OptionalTensor& bias) {
  const Tensor scale = given(weight) ? inverse * weight->to(at::kFloat) : inverse;
  Tensor shift = mean * scale;
  shift = given(bias) ? bias->to(at::kFloat) - shift : shift.neg();
  const Expression expression =
      make_expression([](Expression& e) { return e.input(0) * e.input(1) + e.input(2); });
  const Tensor output = at::empty_like(input, input.suggest_memory_format());
  run_pointwise(expression, {input, per_channel(scale, input), per_channel(shift, input)}, output);
  return output;
}

ThreeTensors batch_norm(const Tensor& input, const OptionalTensor& weight,
                        const OptionalTensor& bias, const OptionalTensor& running_mean,
                        const OptionalTensor& running_variance, bool training, double momentum,
                        double epsilon) {
  check_norm_dtypes(input, weight, bias);
  check_batch(input, weight, bias);
  check_statistics(input, running_mean, running_variance, !training);
  const c10::DeviceGuard guard(input.device());
  if (!training) {
    const Tensor inverse = (*running_variance + epsilon).rsqrt();
    const Tensor none = at::empty({0}, input.options());
    const auto apply = runs_at_once() ? normalised : scaled;
    return {apply(input, *running_mean, inverse, weight, bias), none, none};
  }
  const Moments moments = moments_of(input);
  const Tensor inverse = inverse_deviation(moments.variance, epsilon);
  const double count = static_cast<double>(count_of(input));
  update_running(running_mean, moments.mean, momentum, 1);
  update_running(running_variance, moments.variance, momentum, count / (count - 1));
  return {normalised(input, moments.mean, inverse, weight, bias), moments.mean, inverse};
}

ThreeTensors batch_norm_legit(const Tensor& input, const OptionalTensor& weight,
                              const OptionalTensor& bias, Tensor& running_mean,
                              Tensor& running_variance, bool training, double momentum,
                              double epsilon) {
  return batch_norm(input, weight, bias, running_mean, running_variance, training, momentum,
                    epsilon);
}

ThreeTensors batch_norm_without_statistics(const Tensor& input, const OptionalTensor& weight,
                                           const OptionalTensor& bias, bool training,
                                           double momentum, double epsilon) {
  return batch_norm(input, weight, bias, std::nullopt, std::nullopt, training, momentum, epsilon);
}

/// In training: inverse w (g - mean(g) - x mean(g x)) with the normalised input x; else inverse w
/// g.
ThreeTensors batch_norm_backward(const Tensor& gradient, const Tensor& input,
                                 const OptionalTensor& weight, const OptionalTensor& running_mean,
                                 const OptionalTensor& running_variance,
                                 const OptionalTensor& saved_mean,
                                 const OptionalTensor& saved_inverse, bool training, double epsilon,
                                 std::array<bool, 3> mask) {
  check_norm_dtypes(input, weight, std::nullopt);
  check_batch(input, weight, std::nullopt);
  TORCH_CHECK(gradient.sizes() == input.sizes(), "batch_norm: the gradient has sizes ",
              gradient.sizes(), ", the input ", input.sizes());
  check_statistics(input, training ? saved_mean : running_mean,
                   training ? saved_inverse : running_variance, true);
  const c10::DeviceGuard guard(input.device());
  const Tensor mean = training ? *saved_mean : *running_mean;
  const Tensor inverse = training ? *saved_inverse : (*running_variance + epsilon).rsqrt();
  const Tensor wide_mean = per_channel(mean, input).expand_as(input);
  const Tensor wide_inverse = per_channel(inverse, input).expand_as(input);
  const auto options = input.options().dtype(at::kFloat);
  Tensor sum = at::empty({input.size(1)}, options), slope = at::empty({input.size(1)}, options);
  reduce_into(sum, gradient, {.op = AluOp::kAdd, .reduced = all_but_channels(input)});
  const Expression product = make_expression(
      [](Expression& e) { return e.input(0) * ((e.input(1) - e.input(2)) * e.input(3)); });
  reduce_into(slope, {gradient, input, wide_mean, wide_inverse},
              {.op = AluOp::kAdd, .prologue = product, .reduced = all_but_channels(input)});
  ThreeTensors results;
  if (mask[0]) {
    std::vector<Tensor> operands{gradient,
                                 input,
                                 wide_mean,
                                 wide_inverse,
                                 per_channel(sum, input),
                                 per_channel(slope, input)};
    if (given(weight)) operands.push_back(per_channel(*weight, input));
    const double share = training ? 1.0 / static_cast<double>(count_of(input)) : 0;
    const Expression expression = make_expression([&](Expression& e) {
      ElementValue value = e.input(0);
      if (training) {
        const ElementValue x = (e.input(1) - e.input(2)) * e.input(3);
        value = value - e.input(4) * share - x * (e.input(5) * share);
      }
      value = value * e.input(3);
      return given(weight) ? value * e.input(6) : value;
    });
    std::get<0>(results) = at::empty_like(input, input.suggest_memory_format());
    run_pointwise(expression, operands, std::get<0>(results));
  }
  const at::ScalarType type = given(weight) ? weight->scalar_type() : input.scalar_type();
  if (mask[1]) std::get<1>(results) = slope.to(type);
  if (mask[2]) std::get<2>(results) = sum.to(type);
  return results;
}

/// The variant whose statistics are always updated; its reserve is for other backends.
std::tuple<Tensor, Tensor, Tensor, Tensor> batch_norm_with_update(
    const Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias,
    Tensor& running_mean, Tensor& running_variance, double momentum, double epsilon) {
  auto [output, mean, inverse] =
      batch_norm(input, weight, bias, running_mean, running_variance, true, momentum, epsilon);
  return {output, mean, inverse, at::empty({0}, input.options().dtype(at::kByte))};
}

/// The gradient of _batch_norm_with_update, whose reserve is empty.
ThreeTensors batch_norm_update_backward(const Tensor& gradient, const Tensor& input,
                                        const Tensor& weight, const OptionalTensor& running_mean,
                                        const OptionalTensor& running_variance,
                                        const OptionalTensor& saved_mean,
                                        const OptionalTensor& saved_inverse, bool update,
                                        double epsilon, std::array<bool, 3> mask,
                                        const Tensor& /*reserve*/) {
  return batch_norm_backward(gradient, input, weight, running_mean, running_variance, saved_mean,
                             saved_inverse, update, epsilon, mask);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("native_batch_norm", device_operator<batch_norm>());
  m.impl("_native_batch_norm_legit", device_operator<batch_norm_legit>());
  m.impl("_native_batch_norm_legit.no_stats", device_operator<batch_norm_without_statistics>());
  m.impl("_batch_norm_with_update", device_operator<batch_norm_with_update>());
  m.impl("native_batch_norm_backward", device_operator<batch_norm_backward>());
  m.impl("batch_norm_backward", device_operator<batch_norm_update_backward>());
}

}  // namespace neuron_sim
