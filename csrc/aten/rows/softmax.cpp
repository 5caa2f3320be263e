// softmax and log_softmax along one dimension, and their gradients.

#include <ATen/WrapDimUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_softmax_compositeexplicitautogradnonfunctional_dispatch.h>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/dispatch/plain_call.h"
#include "csrc/aten/shared/rows.h"
#include "csrc/launch/storage.h"
#include "csrc/launch/tensor_access.h"

namespace neuron_sim {
namespace {

using at::Tensor;

/// Makes `dimension` of `self` the rows of `program`.
void set_rows(RowProgram& program, const Tensor& self, int64_t dimension) {
  program.reduced.assign(static_cast<size_t>(std::max<int64_t>(self.dim(), 1)), false);
  program.reduced[static_cast<size_t>(at::maybe_wrap_dim(dimension, self.dim()))] = true;
}

/// A tensor without dimensions counts as one of a single element.
Tensor with_dimension(const Tensor& tensor) { return tensor.dim() == 0 ? tensor.view(1) : tensor; }

ElementValue exponential(ElementValue x) { return call(Activation::kExp, x); }

/// Stages: the maximum m, then the sum of e^(x - m).
std::vector<RowStage> softmax_stages() {
  return {
      {.op = AluOp::kMaximum, .value = make_expression([](Expression& e) { return e.input(0); })},
      {.op = AluOp::kAdd, .value = make_expression([](Expression& e) {
                            return exponential(e.input(0) - e.input(1));
                          })}};
}

/// A row program along any dimension of tensors of a few dimensions, kept for the process.
class DimensionPrograms {
 public:
  explicit DimensionPrograms(const Expression& result) : result_(result) {
    for (size_t rank = 1; rank <= kRanks; ++rank) {
      for (size_t dimension = 0; dimension < rank; ++dimension) {
        programs_.push_back({row_program(rank, dimension)});
      }
    }
  }

  void run(const Tensor& self, int64_t dimension, const Tensor& out) const {
    const auto rank = static_cast<size_t>(self.dim());
    const auto at = static_cast<size_t>(at::maybe_wrap_dim(dimension, self.dim()));
    if (rank > kRanks) return run_rows(row_program(rank, at), {self}, {out});
    run_rows(programs_[rank * (rank - 1) / 2 + at], {self}, {out});
  }

 private:
  static constexpr size_t kRanks = 6;
  RowProgram row_program(size_t rank, size_t dimension) const {
    RowProgram program{softmax_stages(), {result_}, std::vector<bool>(rank, false)};
    program.reduced[dimension] = true;
    return program;
  }

  Expression result_;
  std::vector<StaticRowProgram> programs_;  // of rank 1, of rank 2, ...
};

Tensor& run(const Tensor& self, int64_t dimension, Tensor& out, const DimensionPrograms& programs) {
  if (!self.is_floating_point()) throw Refusal{"softmax is of floating dtypes"};
  check_castable(self.scalar_type(), out);
  at::native::resize_output(out, self.sizes());
  programs.run(with_dimension(self), dimension, with_dimension(out));
  return out;
}

/// Whether the result of a call is one of `self`'s dtype and sizes.
bool is_plain_call(const Tensor& self, int64_t dimension, bool half_to_float) {
  return is_plain(self) && self.dim() > 0 && !half_to_float && -self.dim() <= dimension &&
         dimension < self.dim();
}

Tensor& softmax_out(const Tensor& self, int64_t dimension, bool /*half_to_float*/, Tensor& out) {
  static const DimensionPrograms programs(make_expression(
      [](Expression& e) { return exponential(e.input(0) - e.input(1)) / e.input(2); }));
  return run(self, dimension, out, programs);
}

Tensor& log_softmax_out(const Tensor& self, int64_t dimension, bool /*half_to_float*/,
                        Tensor& out) {
  static const DimensionPrograms programs(make_expression(
      [](Expression& e) { return e.input(0) - e.input(1) - call(Activation::kLog, e.input(2)); }));
  return run(self, dimension, out, programs);
}

Tensor softmax(const Tensor& self, int64_t dimension, bool half_to_float) {
  return run_plain(
      is_plain_call(self, dimension, half_to_float),
      [&] {
        Tensor out = uninitialised(self.sizes(), self.scalar_type(), self.device());
        return softmax_out(self, dimension, half_to_float, out);
      },
      [&] {
        return at::compositeexplicitautogradnonfunctional::_softmax(self, dimension, half_to_float);
      });
}

/// y (g - sum of g y) of gradient g and output y.
Tensor& softmax_backward_out(const Tensor& gradient, const Tensor& output, int64_t dimension,
                             at::ScalarType /*input_dtype*/, Tensor& out) {
  const RowStage sum{.op = AluOp::kAdd, .value = make_expression([](Expression& e) {
                                          return e.input(0) * e.input(1);
                                        })};
  const Expression result =
      make_expression([](Expression& e) { return e.input(1) * (e.input(0) - e.input(2)); });
  RowProgram program{{sum}, {result}};
  set_rows(program, output, dimension);
  at::native::resize_output(out, gradient.sizes());
  run_rows(program, {with_dimension(gradient), with_dimension(output)}, {with_dimension(out)});
  return out;
}

/// g - e^y sum of g.
Tensor& log_softmax_backward_out(const Tensor& gradient, const Tensor& output, int64_t dimension,
                                 at::ScalarType /*input_dtype*/, Tensor& out) {
  const RowStage sum{.op = AluOp::kAdd,
                     .value = make_expression([](Expression& e) { return e.input(0); })};
  const Expression result = make_expression(
      [](Expression& e) { return e.input(0) - exponential(e.input(1)) * e.input(2); });
  RowProgram program{{sum}, {result}};
  set_rows(program, output, dimension);
  at::native::resize_output(out, gradient.sizes());
  run_rows(program, {with_dimension(gradient), with_dimension(output)}, {with_dimension(out)});
  return out;
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_softmax", softmax);
  m.impl("_softmax.out", device_operator<softmax_out>());
  m.impl("_log_softmax.out", device_operator<log_softmax_out>());
  m.impl("_softmax_backward_data.out", device_operator<softmax_backward_out>());
  m.impl("_log_softmax_backward_data.out", device_operator<log_softmax_backward_out>());
}

}  // namespace neuron_sim
