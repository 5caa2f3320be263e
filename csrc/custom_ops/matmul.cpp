#include "ops/matmul/matmul.h"

#include "csrc/custom_ops/argument_checks.h"
#include "csrc/custom_ops/custom_op.h"
#include "csrc/neuron_sim.h"
#include "ops/reference/reference.h"

namespace neuron_sim {
namespace {

using at::Tensor;

struct Matmul {
  static constexpr const char* kSchema =
      "matmul(Tensor a, Tensor b, *, str variant='auto', bool transpose_x=False) -> Tensor";
  static constexpr auto& kKernel = kMatmul;
  using Call = Invocation<MatmulOptions>;

  static Call prepare(const Tensor& a, const Tensor& b, std::string_view variant,
                      bool transpose_x) {
    constexpr const char* kOp = "matmul";
    const MatmulOptions options{.variant = parse_matmul_variant(variant),
                                .transpose_x = transpose_x};
    check_same_device(kOp, {{"a", a}, {"b", b}});
    check_same_dtype(kOp, {{"a", a}, {"b", b}});
    check_float(kOp, {"a", a});
    check_rank(kOp, {"a", a}, 2);
    check_rank(kOp, {"b", b}, 2);
    const int64_t depth = transpose_x ? 0 : 1;
    check_size(kOp, {"b", b}, 0, a.sym_size(depth),
               transpose_x ? "the rows of a, with transpose_x" : "the columns of a");
    return {{a, b}, options, {a.sym_size(1 - depth), b.sym_size(1)}, a.scalar_type()};
  }

  static void reference(const Call& call, const Tensor& out) {
    const Tensor& b = call.operands[1];
    const Tensor a =
        call.options.transpose_x ? call.operands[0].t().contiguous() : call.operands[0];
    reference::matmul(a.const_data_ptr(), b.const_data_ptr(), out.mutable_data_ptr(),
                      {a.size(0), a.size(1), b.size(1)}, dtype_of(call.dtype));
  }

  static variable_list gradients(const Gradient& gradient, const Tensor& a, const Tensor& b,
                                 std::string_view, bool transpose_x) {
    const Tensor& outer = gradient.of_result;
    return {gradient.where_wanted(0,
                                  [&] {
                                    const Tensor of_rows = neuron_sim::matmul(outer, b.t());
                                    return transpose_x ? of_rows.t() : of_rows;
                                  }),
            gradient.where_wanted(
                1, [&] { return neuron_sim::matmul(transpose_x ? a : a.t(), outer); })};
  }
};
const CustomOp<Matmul> kMatmulOp;

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b, std::string_view variant, bool transpose_x) {
  return kMatmulOp.call(a, b, variant, transpose_x);
}

}  // namespace neuron_sim
