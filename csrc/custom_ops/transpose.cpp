#include "ops/copies/transpose.h"

#include "csrc/custom_ops/argument_checks.h"
#include "csrc/custom_ops/custom_op.h"
#include "csrc/neuron_sim.h"
#include "ops/reference/reference.h"

namespace neuron_sim {
namespace {

using at::Tensor;

struct Transpose {
  static constexpr const char* kSchema = "transpose(Tensor a, *, str engine='auto') -> Tensor";
  static constexpr auto& kKernel = kTranspose;
  using Call = Invocation<TransposeOptions>;

  static Call prepare(const Tensor& a, std::string_view engine) {
    const TransposeOptions options{parse_transpose_engine(engine)};
    check_rank("transpose", {"a", a}, 2);
    dtype_of(a.scalar_type());
    return {{a}, options, {a.sym_size(1), a.sym_size(0)}, a.scalar_type()};
  }

  static void reference(const Call& call, const Tensor& out) {
    const Tensor& a = call.operands[0];
    reference::transpose(a.const_data_ptr(), out.mutable_data_ptr(), a.size(0), a.size(1),
                         dtype_of(call.dtype));
  }

  static variable_list gradients(const Gradient& gradient, std::string_view engine) {
    return {neuron_sim::transpose(gradient.of_result, engine)};
  }
};
const CustomOp<Transpose> kTransposeOp;

}  // namespace

Tensor transpose(const Tensor& a, std::string_view engine) { return kTransposeOp.call(a, engine); }

}  // namespace neuron_sim
