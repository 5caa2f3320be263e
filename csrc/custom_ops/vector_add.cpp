#include "ops/vector_add/vector_add.h"

#include <algorithm>

#include "csrc/custom_ops/argument_checks.h"
#include "csrc/custom_ops/bias_add_activation.h"
#include "csrc/custom_ops/custom_op.h"
#include "csrc/neuron_sim.h"
#include "ops/contract/operand_checks.h"
#include "ops/reference/reference.h"

namespace neuron_sim {
namespace {

using at::Tensor;

constexpr const char* kOp = "vector_add";

bool is_addable(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
    case at::kHalf:
    case at::kBFloat16:
    case at::kInt:
    case at::kShort:
    case at::kChar:
    case at::kByte: return true;
    default: return false;
  }
}

/// Size of dimension `i` from the right; 1 beyond its rank.
c10::SymInt size_from_right(const Tensor& tensor, int64_t i) {
  const int64_t dimension = tensor.dim() - 1 - i;
  return dimension < 0 ? c10::SymInt(1) : tensor.sym_sizes()[static_cast<size_t>(dimension)];
}

/// Sizes of a and b broadcast as torch.add does.
Sizes broadcast_sizes(const Tensor& a, const Tensor& b) {
  const int64_t rank = std::max(a.dim(), b.dim());
  Sizes sizes(static_cast<size_t>(rank), 1);
  for (int64_t i = 0; i < rank; ++i) {
    const c10::SymInt from_a = size_from_right(a, i), from_b = size_from_right(b, i);
    c10::SymInt& size = sizes[static_cast<size_t>(rank - 1 - i)];
    if (TORCH_GUARD_OR_FALSE(from_a.sym_eq(1))) {
      size = from_b;
      continue;
    }
    size = from_a;
    if (TORCH_GUARD_OR_FALSE(from_b.sym_eq(1))) continue;
    TORCH_CHECK_VALUE(from_a.sym_eq(from_b).expect_true(__FILE__, __LINE__), kOp, ": ",
                      describe({"a", a}), " and ", describe({"b", b}),
                      " cannot be broadcast: dimension ", rank - 1 - i, " of the result is ",
                      from_a, " in a and ", from_b, " in b.");
  }
  return sizes;
}

/// The gradient of an operand of `sizes` that was broadcast to the sizes of `gradient`.
Tensor broadcast_gradient(const Tensor& gradient, c10::SymIntArrayRef sizes) {
  const int64_t rank = gradient.dim(), missing = rank - static_cast<int64_t>(sizes.size());
  std::vector<int64_t> reduced, kept;
  for (int64_t i = 0; i < rank; ++i) {
    const bool broadcast =
        i < missing || (TORCH_GUARD_OR_FALSE(sizes[static_cast<size_t>(i - missing)].sym_eq(1)) &&
                        !TORCH_GUARD_OR_FALSE(gradient.sym_size(i).sym_eq(1)));
    (broadcast ? reduced : kept).push_back(i);
  }
  if (reduced.empty()) return gradient;
  c10::SymInt features = 1;
  for (const int64_t i : kept) features = features * gradient.sym_size(i);
  std::vector<int64_t> order = reduced;
  order.insert(order.end(), kept.begin(), kept.end());
  Sizes rows;
  for (const int64_t i : reduced) rows.push_back(gradient.sym_size(i));
  rows.push_back(features);
  // The gradient of a bias is the sum over rows; without a function the bias itself is not read.
  const Tensor matrix = gradient.permute(order).reshape_symint(rows);
  const Tensor bias = gradient.new_empty_symint({features});
  const auto gradients = bias_add_activation_gradients(matrix, matrix, bias, "identity");
  return std::get<1>(gradients).view_symint(sizes);
}

struct VectorAdd {
  static constexpr const char* kSchema =
      "vector_add(Tensor a, Tensor b, *, str variant='stream', int row_chunk=128, int free_dim=0,"
      " int num_free_tiles=4, int[] base_addresses=[]) -> Tensor";
  static constexpr auto& kKernel = kVectorAdd;
  static constexpr bool kBroadcasts = true;
  using Call = Invocation<VectorAddOptions>;

  static Call prepare(const Tensor& a, const Tensor& b, std::string_view variant, int64_t row_chunk,
                      int64_t free_dim, int64_t num_free_tiles, at::IntArrayRef base_addresses) {
    check_at_least(kOp, "row_chunk", row_chunk, 1);
    check_at_least(kOp, "free_dim", free_dim, 0);
    check_at_least(kOp, "num_free_tiles", num_free_tiles, 1);
    check_same_device(kOp, {{"a", a}, {"b", b}});
    check_same_dtype(kOp, {{"a", a}, {"b", b}});
    TORCH_CHECK_TYPE(is_addable(a.scalar_type()), kOp, ": ", describe({"a", a}),
                     " has a dtype other than float32, float16, bfloat16, int32, int16, int8 and "
                     "uint8.");
    return {{a, b},
            {parse_vector_add_variant(variant), row_chunk, free_dim, num_free_tiles,
             base_addresses.vec()},
            broadcast_sizes(a, b),
            a.scalar_type()};
  }

  static void reference(const Call& call, const Tensor& out) {
    reference::vector_add(call.operands[0].const_data_ptr(), call.operands[1].const_data_ptr(),
                          out.mutable_data_ptr(), out.numel(), dtype_of(call.dtype));
  }

  static variable_list gradients(const Gradient& gradient, std::string_view, int64_t, int64_t,
                                 int64_t, at::IntArrayRef) {
    const auto of = [&](size_t operand) {
      return gradient.where_wanted(
          operand, [&] { return broadcast_gradient(gradient.of_result, gradient.sizes[operand]); });
    };
    return {of(0), of(1)};
  }
};
const CustomOp<VectorAdd> kVectorAddOp;

}  // namespace

Tensor vector_add(const Tensor& a, const Tensor& b, std::string_view variant, int64_t row_chunk,
                  int64_t free_dim, int64_t num_free_tiles, at::IntArrayRef base_addresses) {
  return kVectorAddOp.call(a, b, variant, row_chunk, free_dim, num_free_tiles, base_addresses);
}

}  // namespace neuron_sim
