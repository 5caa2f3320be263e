// Where the largest and smallest elements are.

#include <ATen/WrapDimUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/gather.h>
#include <c10/core/DeviceGuard.h>

#include <map>
#include <mutex>
#include <utility>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/shared/integers.h"
#include "csrc/aten/shared/reductions.h"
#include "csrc/aten/shared/rows.h"
#include "csrc/aten/shared/running_values.h"
#include "csrc/launch/storage.h"

namespace neuron_sim {
namespace {

using at::Tensor;

/// Above every index that fp32 holds exactly.
constexpr double kNowhere = 16777216;

/// Values [rows with size 1] and int32 indices of the first extremum along a dimension.
struct Extremum {
  Tensor value, index;
};

template <AluOp op>
Extremum extremum_of(const Tensor& self, int64_t dimension);

/// The extremum of int32 values: the high halves decide, the low ones where those are equal.
template <AluOp op>
Extremum whole_extremum_of(const Tensor& self, int64_t dimension) {
  const OrderedHalves halves = ordered_halves(self);
  const Tensor high = extremum_of<op>(halves.high, dimension).value;
  const Tensor index =
      extremum_of<op>(low_candidates(halves, high, op == AluOp::kMaximum), dimension).index;
  return {at::gather(self, dimension, index.to(at::kLong)), index};
}

/// A row's index is the smallest place where the element is the extremum; the first NaN is one.
template <AluOp op>
RowProgram extremum_program(size_t rank, size_t at) {
  const Expression element = make_expression([](Expression& e) { return e.input(0); });
  const Expression index = make_expression([](Expression& e) {
    const ElementValue x = e.input(0);
    const ElementValue here = e.alu(AluOp::kLogicalOr, compare(AluOp::kEqual, x, e.input(2)),
                                    compare(AluOp::kNotEqual, x, x));
    return select(here, e.input(1), e.constant(kNowhere));
  });
  RowProgram program{{{.op = op, .value = element}, {.op = AluOp::kMinimum, .value = index}},
                     {make_expression([](Expression& e) { return e.input(2); }),
                      make_expression([](Expression& e) { return e.input(3); })},
                     std::vector<bool>(rank, false)};
  program.reduced[at] = true;
  return program;
}

/// That program of a rank and dimension, made once.
template <AluOp op>
const StaticRowProgram& kept_program(size_t rank, size_t at) {
  static std::mutex mutex;
  static auto* const programs = new std::map<std::pair<size_t, size_t>, StaticRowProgram>;
  const std::lock_guard lock(mutex);
  const auto [program, added] = programs->try_emplace({rank, at});
  if (added) program->second.program = extremum_program<op>(rank, at);
  return program->second;
}

template <AluOp op>
Extremum extremum_of(const Tensor& self, int64_t dimension) {
  if (self.scalar_type() == at::kInt) return whole_extremum_of<op>(self, dimension);
  check_extremum(self);
  const int64_t at = at::maybe_wrap_dim(dimension, self.dim());
  const int64_t size = self.size(at);
  TORCH_CHECK_INDEX(size > 0, "Expected reduction dim ", dimension, " to have non-zero size.");
  if (static_cast<double>(size) >= kNowhere) throw Refusal{"fp32 does not count so far"};
  at::DimVector shape(self.sizes());
  shape[static_cast<size_t>(at)] = 1;
  const Extremum found{uninitialised(shape, self.scalar_type(), self.device()),
                       uninitialised(shape, at::kInt, self.device())};
  run_rows(kept_program<op>(shape.size(), static_cast<size_t>(at)), {self, places_along(self, at)},
           {found.value, found.index});
  return found;
}

void give(const Tensor& result, int64_t dimension, bool keep, Tensor& out) {
  give_result(keep ? result : result.squeeze(dimension), out);
}

template <AluOp op>
std::tuple<Tensor&, Tensor&> extremum_out(const Tensor& self, int64_t dimension, bool keep,
                                          Tensor& value, Tensor& index) {
  check_out_dtype(value, self.scalar_type());
  check_out_dtype(index, at::kLong);
  const c10::DeviceGuard guard(self.device());
  const Extremum found = extremum_of<op>(self.dim() == 0 ? self.view(1) : self, dimension);
  give(found.value, dimension, keep && self.dim() > 0, value);
  give(found.index, dimension, keep && self.dim() > 0, index);
  return std::tie(value, index);
}

template <AluOp op>
Tensor& place_out(const Tensor& self, std::optional<int64_t> dimension, bool keep, Tensor& out) {
  check_out_dtype(out, at::kLong);
  const c10::DeviceGuard guard(self.device());
  if (dimension && self.dim() > 0) {
    give(extremum_of<op>(self, *dimension).index, *dimension, keep, out);
    return out;
  }
  const Tensor index = extremum_of<op>(self.reshape(-1), 0).index;
  const at::DimVector shape(keep ? static_cast<size_t>(self.dim()) : 0, 1);
  at::native::resize_output(out, shape);
  return out.copy_(index.view(shape));
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("max.dim_max", device_operator<extremum_out<AluOp::kMaximum>>());
  m.impl("min.dim_min", device_operator<extremum_out<AluOp::kMinimum>>());
  m.impl("argmax.out", device_operator<place_out<AluOp::kMaximum>>());
  m.impl("argmin.out", device_operator<place_out<AluOp::kMinimum>>());
}

}  // namespace neuron_sim
