// layer_norm and group_norm, and their gradients. A group is a row, too.

#include <ATen/native/layer_norm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/DeviceGuard.h>

#include <array>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/rows/norms.h"
#include "csrc/aten/shared/memory_format.h"
#include "csrc/aten/shared/reductions.h"

namespace neuron_sim {

std::vector<RowStage> moment_stages(int operands, int64_t count, double epsilon) {
  const double share = 1.0 / static_cast<double>(count);
  RowStage mean{.op = AluOp::kAdd,
                .value = make_expression([](Expression& e) { return e.input(0); }),
                .finish = make_expression([&](Expression& e) { return e.input(0) * share; })};
  RowStage inverse{.op = AluOp::kAdd,
                   .value = make_expression([&](Expression& e) {
                     const ElementValue deviation = e.input(0) - e.input(operands);
                     return deviation * deviation;
                   }),
                   .finish = make_expression([&](Expression& e) {
                     return call(Activation::kRsqrt, e.input(0) * share + epsilon);
                   })};
  return {mean, inverse};
}

void check_norm_dtypes(const at::Tensor& input, const std::optional<at::Tensor>& weight,
                       const std::optional<at::Tensor>& bias) {
  for (const std::optional<at::Tensor>& tensor : {std::optional(input), weight, bias}) {
    if (!given(tensor)) continue;
    check_computable(tensor->scalar_type());
    if (!tensor->is_floating_point()) throw Refusal{"a norm is of floating dtypes"};
  }
  // The rule of torch's norms on the CPU.
  const bool is_reduced = at::isReducedFloatingType(input.scalar_type());
  const auto& first = given(weight) ? weight : bias;
  for (const std::optional<at::Tensor>& parameter : {weight, bias}) {
    if (!given(parameter)) continue;
    const at::ScalarType type = parameter->scalar_type();
    TORCH_CHECK(type == first->scalar_type(), "expected scalar type ", first->scalar_type(),
                " but found ", type);
    TORCH_CHECK(type == input.scalar_type() || (is_reduced && type == at::kFloat),
                "mixed dtype: expect parameter to have scalar type of Float, but it is ", type,
                " for an input of ", input.scalar_type());
  }
}

std::vector<bool> row_dimensions(const at::Tensor& input, size_t count) {
  std::vector<bool> result(static_cast<size_t>(input.dim()));
  std::fill(result.end() - static_cast<ptrdiff_t>(count), result.end(), true);
  return result;
}

at::DimVector statistics_shape(const at::Tensor& input, size_t row_dimensions) {
  at::DimVector shape(input.sizes());
  std::fill(shape.end() - static_cast<ptrdiff_t>(row_dimensions), shape.end(), 1);
  return shape;
}

namespace {

using at::IntArrayRef;
using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

/// The tensors of one normalisation: [rows..., row...], affine ones broadcast to it.
struct Normalisation {
  Tensor input;
  OptionalTensor weight, bias;
  std::vector<bool> reduced;
  int64_t count;         ///< elements of a row
  Tensor mean, inverse;  ///< the shape of the input with rows of size 1
};

void normalise(const Normalisation& norm, const Tensor& output, double epsilon) {
  std::vector<Tensor> operands{norm.input};
  const bool has_weight = given(norm.weight), has_bias = given(norm.bias);
  if (has_weight) operands.push_back(*norm.weight);
  if (has_bias) operands.push_back(*norm.bias);
  const int numbers = static_cast<int>(operands.size());
  RowProgram program{moment_stages(numbers, norm.count, epsilon), {}, norm.reduced};
  program.results.push_back(make_expression([&](Expression& e) {
    ElementValue value = (e.input(0) - e.input(numbers)) * e.input(numbers + 1);
    if (has_weight) value = value * e.input(1);
    return has_bias ? value + e.input(has_weight ? 2 : 1) : value;
  }));
  for (const int number : {0, 1}) {
    program.results.push_back(
        make_expression([&](Expression& e) { return e.input(numbers + number); }));
  }
  run_rows(program, operands, {output, norm.mean, norm.inverse});
}

/// inverse (g w - mean(g w) - x mean(g w x)) with the normalised input x.
void input_gradient(const Normalisation& norm, const Tensor& gradient, const Tensor& result) {
  std::vector<Tensor> operands{gradient, norm.input, norm.mean, norm.inverse};
  const bool has_weight = given(norm.weight);
  if (has_weight) operands.push_back(*norm.weight);
  const int numbers = static_cast<int>(operands.size());
  const double share = 1.0 / static_cast<double>(norm.count);
  const auto weighted = [&](Expression& e) {
    return has_weight ? e.input(0) * e.input(4) : e.input(0);
  };
  const auto normalised = [](Expression& e) { return (e.input(1) - e.input(2)) * e.input(3); };
  const Expression finish = make_expression([&](Expression& e) { return e.input(0) * share; });
  const RowStage mean{.op = AluOp::kAdd, .value = make_expression(weighted), .finish = finish};
  const RowStage slope{
      .op = AluOp::kAdd,
      .value = make_expression([&](Expression& e) { return weighted(e) * normalised(e); }),
      .finish = finish};
  const Expression value = make_expression([&](Expression& e) {
    return e.input(3) * (weighted(e) - e.input(numbers) - normalised(e) * e.input(numbers + 1));
  });
  run_rows({{mean, slope}, {value}, norm.reduced}, operands, {result});
}

/// Sums of g x (weight) or g (bias) over the dimensions that `reduced` names.
void affine_gradient(const Normalisation& norm, const Tensor& gradient, bool of_weight,
                     std::vector<bool> reduced, Tensor result) {
  ReductionOptions options{.op = AluOp::kAdd, .reduced = std::move(reduced)};
  std::vector<Tensor> operands{gradient};
  if (of_weight) {
    options.prologue = make_expression(
        [](Expression& e) { return e.input(0) * ((e.input(1) - e.input(2)) * e.input(3)); });
    operands.insert(operands.end(), {norm.input, norm.mean.expand_as(norm.input),
                                     norm.inverse.expand_as(norm.input)});
  }
  reduce_into(result, operands, options);
}

std::vector<bool> inverted(std::vector<bool> flags) {
  flags.flip();
  return flags;
}

Normalisation layer_normalisation(const Tensor& input, size_t row_dimensions,
                                  const OptionalTensor& weight, const OptionalTensor& bias) {
  Normalisation norm{input, weight, bias, neuron_sim::row_dimensions(input, row_dimensions),
                     1,     {},     {}};
  const IntArrayRef sizes = input.sizes();
  norm.count = c10::multiply_integers(sizes.slice(sizes.size() - row_dimensions));
  return norm;
}

std::tuple<Tensor, Tensor, Tensor> layer_norm(const Tensor& input, IntArrayRef normalized_shape,
                                              const OptionalTensor& weight,
                                              const OptionalTensor& bias, double epsilon) {
  check_norm_dtypes(input, weight, bias);
  at::native::_check_layer_norm_inputs(input, normalized_shape, weight.value_or(Tensor()),
                                       bias.value_or(Tensor()));
  const c10::DeviceGuard guard(input.device());
  const Tensor dense = input.contiguous();
  Normalisation norm = layer_normalisation(dense, normalized_shape.size(), weight, bias);
  const Tensor output = at::empty_like(dense);
  const at::DimVector shape = statistics_shape(dense, normalized_shape.size());
  norm.mean = at::empty(shape, dense.options().dtype(at::kFloat));
  norm.inverse = at::empty(shape, dense.options().dtype(at::kFloat));
  normalise(norm, output, epsilon);
  // As on the CPU: statistics of a reduced precision input are in fp32 if the weights are.
  const at::ScalarType type = given(weight) ? weight->scalar_type() : dense.scalar_type();
  return {output, norm.mean.to(type), norm.inverse.to(type)};
}

std::tuple<Tensor, Tensor, Tensor> layer_norm_backward(const Tensor& gradient, const Tensor& input,
                                                       IntArrayRef normalized_shape,
                                                       const Tensor& mean, const Tensor& inverse,
                                                       const OptionalTensor& weight,
                                                       const OptionalTensor& bias,
                                                       std::array<bool, 3> mask) {
  check_norm_dtypes(input, weight, bias);
  const c10::DeviceGuard guard(input.device());
  const Tensor dense = input.contiguous();
  Normalisation norm = layer_normalisation(dense, normalized_shape.size(), weight, bias);
  norm.mean = mean;
  norm.inverse = inverse;
  std::tuple<Tensor, Tensor, Tensor> results;
  if (mask[0]) {
    std::get<0>(results) = at::empty_like(dense);
    input_gradient(norm, gradient, std::get<0>(results));
  }
  const auto affine = [&](bool of_weight, const Tensor& like) {
    Tensor result = at::empty(normalized_shape, like.options());
    if (dense.numel() == 0) return result.zero_();
    affine_gradient(norm, gradient, of_weight, inverted(norm.reduced), result);
    return result;
  };
  if (mask[1]) std::get<1>(results) = affine(true, given(weight) ? *weight : dense);
  if (mask[2]) std::get<2>(results) = affine(false, given(bias) ? *bias : dense);
  return results;
}

/// [N, groups, C / groups, H W] with weights per channel.
Normalisation group_normalisation(const Tensor& input, const OptionalTensor& weight,
                                  const OptionalTensor& bias, int64_t batch, int64_t channels,
                                  int64_t pixels, int64_t groups) {
  TORCH_CHECK(groups > 0 && channels % groups == 0, "Expected number of channels in input to be ",
              "divisible by num_groups, but got input of shape ", input.sizes(),
              " and num_groups=", groups);
  TORCH_CHECK(batch * channels * pixels == input.numel(), "native_group_norm: sizes [", batch, ", ",
              channels, ", ", pixels, "] are not those of an input of shape ", input.sizes());
  for (const OptionalTensor& each : {weight, bias}) {
    TORCH_CHECK(
        !given(each) || each->numel() == channels, "Expected weight and bias to be vectors ",
        "of size equal to the number of channels in input, but got ",
        given(each) ? each->sizes() : at::IntArrayRef(), " and input of shape ", input.sizes());
  }
  const int64_t width = channels / groups;
  const auto per_channel = [&](const OptionalTensor& tensor) {
    return given(tensor) ? OptionalTensor(tensor->reshape({1, groups, width, 1}))
                         : OptionalTensor();
  };
  return {input.contiguous().view({batch, groups, width, pixels}),
          per_channel(weight),
          per_channel(bias),
          {false, false, true, true},
          width * pixels,
          {},
          {}};
}

std::tuple<Tensor, Tensor, Tensor> group_norm(const Tensor& input, const OptionalTensor& weight,
                                              const OptionalTensor& bias, int64_t batch,
                                              int64_t channels, int64_t pixels, int64_t groups,
                                              double epsilon) {
  check_norm_dtypes(input, weight, bias);
  const c10::DeviceGuard guard(input.device());
  Normalisation norm = group_normalisation(input, weight, bias, batch, channels, pixels, groups);
  const Tensor output = at::empty(input.sizes(), input.options());
  norm.mean = at::empty({batch, groups, 1, 1}, input.options());
  norm.inverse = at::empty({batch, groups, 1, 1}, input.options());
  if (input.numel() > 0) normalise(norm, output.view(norm.input.sizes()), epsilon);
  return {in_format(output, input.suggest_memory_format()), norm.mean.view({batch, groups}),
          norm.inverse.view({batch, groups})};
}

std::tuple<Tensor, Tensor, Tensor> group_norm_backward(const Tensor& gradient, const Tensor& input,
                                                       const Tensor& mean, const Tensor& inverse,
                                                       const OptionalTensor& weight, int64_t batch,
                                                       int64_t channels, int64_t pixels,
                                                       int64_t groups, std::array<bool, 3> mask) {
  check_norm_dtypes(input, weight, std::nullopt);
  const c10::DeviceGuard guard(input.device());
  Normalisation norm =
      group_normalisation(input, weight, std::nullopt, batch, channels, pixels, groups);
  norm.mean = mean.view({batch, groups, 1, 1});
  norm.inverse = inverse.view({batch, groups, 1, 1});
  const Tensor incoming = gradient.contiguous().view(norm.input.sizes());
  std::tuple<Tensor, Tensor, Tensor> results;
  if (mask[0]) {
    std::get<0>(results) = at::empty(input.sizes(), input.options());
    if (input.numel() > 0) {
      input_gradient(norm, incoming, std::get<0>(results).view(norm.input.sizes()));
    }
    std::get<0>(results) = in_format(std::get<0>(results), input.suggest_memory_format());
  }
  const auto affine = [&](bool of_weight) {
    Tensor result = at::empty({channels}, input.options());
    if (input.numel() == 0) return result.zero_();
    affine_gradient(norm, incoming, of_weight, {true, false, false, true},
                    result.view({1, groups, channels / groups, 1}));
    return result;
  };
  if (mask[1]) std::get<1>(results) = affine(true);
  if (mask[2]) std::get<2>(results) = affine(false);
  return results;
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("native_layer_norm", device_operator<layer_norm>());
  m.impl("native_layer_norm_backward", device_operator<layer_norm_backward>());
  m.impl("native_group_norm", device_operator<group_norm>());
  m.impl("native_group_norm_backward", device_operator<group_norm_backward>());
}

}  // namespace neuron_sim
