// _fused_rms_norm, which torch.nn.functional.rms_norm calls, and its gradients.

#include "ops/rows/rms_norm.h"

#include <ATen/native/layer_norm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/DeviceGuard.h>

#include <array>
#include <limits>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/rows/norms.h"
#include "csrc/aten/shared/reductions.h"
#include "csrc/aten/shared/rows.h"

namespace neuron_sim {
namespace {

using at::IntArrayRef;
using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

void check(const Tensor& input, IntArrayRef normalized_shape, const OptionalTensor& weight) {
  for (const OptionalTensor& tensor : {OptionalTensor(input), weight}) {
    if (!given(tensor)) continue;
    check_computable(tensor->scalar_type());
    if (!tensor->is_floating_point()) throw Refusal{"a norm is of floating dtypes"};
  }
  at::native::_check_rms_norm_inputs_symint(input, c10::fromIntArrayRefSlow(normalized_shape),
                                            weight.value_or(Tensor()));
}

std::tuple<Tensor, Tensor> rms_norm(const Tensor& input, IntArrayRef normalized_shape,
                                    const OptionalTensor& weight, std::optional<double> eps) {
  check(input, normalized_shape, weight);
  const c10::DeviceGuard guard(input.device());
  const Tensor dense = input.contiguous();
  const Tensor output = at::empty_like(dense);
  const Tensor inverse = at::empty(statistics_shape(dense, normalized_shape.size()),
                                   dense.options().dtype(at::kFloat));
  if (dense.numel() == 0) {  // the mean of nothing is NaN
    inverse.fill_(std::numeric_limits<float>::quiet_NaN());
    return {output, inverse};
  }
  std::vector<Tensor> operands{dense};
  if (given(weight)) operands.push_back(*weight);
  const int number = static_cast<int>(operands.size());
  // torch defaults to the epsilon of the dtype that it computes in.
  const double epsilon = eps.value_or(std::numeric_limits<float>::epsilon());
  RowProgram program{{inverse_root_mean_square(c10::multiply_integers(normalized_shape), epsilon)},
                     {},
                     row_dimensions(dense, normalized_shape.size())};
  program.results.push_back(make_expression([&](Expression& e) {
    const ElementValue value = e.input(0) * e.input(number);
    return number == 2 ? value * e.input(1) : value;
  }));
  program.results.push_back(make_expression([&](Expression& e) { return e.input(number); }));
  run_rows(program, operands, {output, inverse});
  return {output, inverse};
}

/// inverse (g w - y mean(g w y)) with the normalised input y = x inverse.
void input_gradient(const Tensor& gradient, const Tensor& input, const Tensor& inverse,
                    const OptionalTensor& weight, size_t row_rank, const Tensor& result) {
  std::vector<Tensor> operands{gradient, input, inverse};
  if (given(weight)) operands.push_back(*weight);
  const int number = static_cast<int>(operands.size());
  std::vector<bool> reduced = row_dimensions(input, row_rank);
  const double share = static_cast<double>(inverse.numel()) / static_cast<double>(input.numel());
  const auto weighted = [&](Expression& e) {
    return number == 4 ? e.input(0) * e.input(3) : e.input(0);
  };
  const auto normalised = [](Expression& e) { return e.input(1) * e.input(2); };
  const RowStage slope{
      .op = AluOp::kAdd,
      .value = make_expression([&](Expression& e) { return weighted(e) * normalised(e); }),
      .finish = make_expression([&](Expression& e) { return e.input(0) * share; })};
  const Expression value = make_expression(
      [&](Expression& e) { return e.input(2) * (weighted(e) - normalised(e) * e.input(number)); });
  run_rows({{slope}, {value}, std::move(reduced)}, operands, {result});
}

/// The gradients in float64, which the chip does not compute and for which the CPU has no fused
/// kernel: by operators that fall back to it.
std::tuple<Tensor, Tensor> double_gradients(const Tensor& gradient, const Tensor& input,
                                            IntArrayRef normalized_shape, const Tensor& inverse,
                                            const OptionalTensor& weight,
                                            std::array<bool, 2> mask) {
  std::vector<int64_t> rows, columns;
  const auto outer = input.dim() - static_cast<int64_t>(normalized_shape.size());
  for (int64_t i = 0; i < input.dim(); ++i) (i < outer ? rows : columns).push_back(i);
  const Tensor normalised = input * inverse;
  std::tuple<Tensor, Tensor> results;
  if (mask[0]) {
    const Tensor weighted = given(weight) ? gradient * *weight : gradient;
    const Tensor slope = (weighted * normalised).mean(columns, true);
    std::get<0>(results) = inverse * (weighted - normalised * slope);
  }
  if (mask[1] && given(weight)) {
    const Tensor product = gradient * normalised;
    std::get<1>(results) = rows.empty() ? product : product.sum(rows);
  }
  return results;
}

std::tuple<Tensor, Tensor> rms_norm_backward(const Tensor& gradient, const Tensor& input,
                                             IntArrayRef normalized_shape, const Tensor& inverse,
                                             const OptionalTensor& weight,
                                             std::array<bool, 2> mask) {
  if (input.scalar_type() == at::kDouble) {
    return double_gradients(gradient, input, normalized_shape, inverse, weight, mask);
  }
  check(input, normalized_shape, weight);
  const c10::DeviceGuard guard(input.device());
  const Tensor dense = input.contiguous();
  std::tuple<Tensor, Tensor> results;
  if (mask[0]) {
    std::get<0>(results) = at::empty_like(dense);
    if (dense.numel() > 0) {
      input_gradient(gradient, dense, inverse, weight, normalized_shape.size(),
                     std::get<0>(results));
    }
  }
  if (!mask[1] || !given(weight)) return results;
  Tensor& of_weight = std::get<1>(results) = at::empty(normalized_shape, weight->options());
  if (dense.numel() == 0) {
    of_weight.zero_();
    return results;
  }
  ReductionOptions options{.op = AluOp::kAdd,
                           .reduced = row_dimensions(dense, normalized_shape.size())};
  options.reduced.flip();
  options.prologue =
      make_expression([](Expression& e) { return e.input(0) * (e.input(1) * e.input(2)); });
  reduce_into(of_weight, {gradient, dense, inverse.expand_as(dense)}, options);
  return results;
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_fused_rms_norm", device_operator<rms_norm>());
  m.impl("_fused_rms_norm_backward", device_operator<rms_norm_backward>());
}

}  // namespace neuron_sim
