#include "ops/rows/rms_norm.h"

#include "ops/contract/named_kernel.h"
#include "ops/contract/operand_checks.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kOp = "rms_norm";

std::vector<TensorSpec> results_of(std::span<const TensorSpec> operands, const RmsNormOptions&) {
  const TensorSpec &x = operands[0], &weight = operands[1];
  check_last_dimension(kOp, "x", x);
  check_rank(kOp, "weight", weight, 1);
  check_float_operand(kOp, "x", x);
  check_same_dtype(kOp, "x", x, "weight", weight);
  check_size(kOp, "weight", weight, 0, x.shape.back());
  return {{x.shape, {}, x.dtype}};
}

void emit_rms_norm(Builder& builder, HbmTensors operands, HbmTensors results,
                   const RmsNormOptions& options) {
  const HbmTensor& x = operands[0];
  HbmTensor weight = operands[1];  // the same in every row
  const size_t leading = x.shape.size() - 1;
  weight.shape = x.shape;
  weight.strides.insert(weight.strides.begin(), leading, 0);
  Expression result;
  result.add_result(result.input(0) * result.input(2) * result.input(1));
  RowProgram program{{inverse_root_mean_square(x.shape.back(), options.eps)},
                     {result},
                     std::vector<bool>(leading)};
  program.reduced.push_back(true);
  emit_row_program(builder, std::array{x, weight}, results, program);
}

}  // namespace

RowStage inverse_root_mean_square(int64_t count, double eps) {
  const double share = 1.0 / static_cast<double>(count);
  RowStage inverse{.op = AluOp::kAdd};
  inverse.value.add_result(inverse.value.input(0) * inverse.value.input(0));
  inverse.finish.add_result(call(Activation::kRsqrt, inverse.finish.input(0) * share + eps));
  return inverse;
}

const KernelDefinition<RmsNormOptions> kRmsNorm{"rms_norm", "x weight -> out", results_of,
                                                emit_rms_norm};
const NamedKernel kRmsNormByName{kRmsNorm};

}  // namespace neuron_sim
