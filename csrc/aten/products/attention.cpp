// scaled_dot_product_attention: one kernel, or several when the heads do not fit SBUF. torch
// composes the rest (dropout, other ranks) of device operators.

#include <ATen/SDPBackend.h>
#include <ATen/TensorOperators.h>
#include <ATen/native/DispatchStub.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_permuted.h>
#include <ATen/ops/logaddexp.h>
#include <ATen/ops/matmul.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/products/attention_parts.h"
#include "csrc/launch/auto_cast.h"
#include "csrc/launch/execution.h"
#include "csrc/launch/kernel_call.h"
#include "csrc/runtime/runtime.h"
#include "device/runtime/devices.h"
#include "ops/attention/attention.h"

namespace neuron_sim {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

constexpr int64_t kWidest = 512;  // elements of a row: a PSUM bank of fp32

bool is_plain(const Tensor& tensor, const Tensor& query) {
  return tensor.layout() == at::kStrided && tensor.dim() == 4 &&
         !tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides() &&
         tensor.scalar_type() == query.scalar_type() && tensor.device() == query.device() &&
         !tensor.is_neg() && tensor.numel() > 0;
}

/// Whether the kernel takes them.
bool is_taken(const Tensor& query, const Tensor& key, const Tensor& value,
              const OptionalTensor& mask, double dropout, bool causal, double scale,
              bool shares_heads) {
  const at::ScalarType type = query.scalar_type();
  if (type != at::kFloat && type != at::kHalf && type != at::kBFloat16) return false;
  if (!is_plain(query, query) || !is_plain(key, query) || !is_plain(value, query)) return false;
  if (dropout != 0 || query.size(3) > kWidest || value.size(3) > kWidest) return false;
  if (!(scale > 0 && std::isfinite(scale)) || (causal && is_given(mask))) return false;
  const bool heads =
      key.size(1) == value.size(1) &&
      (query.size(1) == key.size(1) || (shares_heads && query.size(1) % key.size(1) == 0));
  const bool sizes = query.size(0) == key.size(0) && key.size(0) == value.size(0) &&
                     query.size(3) == key.size(3) && key.size(2) == value.size(2);
  const bool masks =
      !is_given(mask) || (mask->device() == query.device() && mask->dim() <= 4 &&
                          (mask->scalar_type() == type || mask->scalar_type() == at::kBool));
  return heads && sizes && masks;
}

int64_t choose(const Tensor& query, const Tensor& key, const Tensor& value,
               const OptionalTensor& mask, double dropout, bool causal, std::optional<double> scale,
               bool enable_gqa) {
  const bool taken =
      is_taken(query, key, value, mask, dropout, causal, attention_scale(query, scale), enable_gqa);
  return static_cast<int64_t>(taken ? at::SDPBackend::overrideable : at::SDPBackend::math);
}

/// [B, H, Sq, width] with the dimensions in the order of the query's memory, as the meta
/// kernel predicts.
Tensor empty_like_query(const Tensor& query, int64_t width) {
  at::DimVector order{0, 1, 2, 3};
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return query.stride(a) > query.stride(b); });
  return at::empty_permuted({query.size(0), query.size(1), query.size(2), width}, order,
                            query.options());
}

/// `log_sums` must be dense.
void launch_attention(const AttentionOperands& operands, const Tensor& output,
                      const Tensor& log_sums, const AttentionOptions& options) {
  KernelCall call(kAttention.name, output.device());
  for (const Tensor& operand : {operands.query, operands.key, operands.value}) {
    call.operand(AutoCast::rounded(operand));
  }
  if (operands.bias.defined()) {
    call.operand(operands.bias, operands.bias.sizes(), operands.bias.strides());
  }
  call.result(output).result(log_sums).launch(kAttention, options);
}

/// Results for the same queries and several parts of the keys, relative to all keys so far.
class KeyParts {
 public:
  void add(const Tensor& output, const Tensor& log_sums) {
    if (!log_sums_.defined()) {
      output_ = output;
      log_sums_ = log_sums;
      return;
    }
    const Tensor all = at::logaddexp(log_sums_, log_sums);
    const auto share = [&](const Tensor& part) { return (part - all).exp_().unsqueeze(-1); };
    output_ = output_ * share(log_sums_) + output * share(log_sums);
    log_sums_ = all;
  }
  void copy_to(const Tensor& output, const Tensor& log_sums) const {
    output.copy_(output_);
    log_sums.copy_(log_sums_);
  }

 private:
  Tensor output_, log_sums_;
};

void run_parts(const AttentionOperands& operands, const AttentionSizes& sizes,
               const AttentionPart& first, const Tensor& output, const Tensor& log_sums,
               const AttentionOptions& options) {
  KeyParts keys;
  for_parts(sizes, first, options.causal, [&](const AttentionPart& part) {
    if (part.key == 0) keys = {};
    const Tensor target = queries_of(output, part);
    const Tensor part_output = at::empty(target.sizes(), target.options().dtype(at::kFloat));
    const Tensor part_sums =
        at::empty(target.sizes().slice(0, 4), target.options().dtype(at::kFloat));
    launch_attention(operands_of(operands, part), part_output, part_sums,
                     {options.scale, part.causal, options.exact_transposes});
    keys.add(part_output, part_sums);
    const bool is_last = part.key + part.keys == sizes.keys ||
                         (options.causal && part.key + part.keys >= part.query + part.queries);
    if (is_last) keys.copy_to(target, queries_of(log_sums, part));
  });
}

using Forward =
    std::tuple<Tensor, Tensor, Tensor, Tensor, c10::SymInt, c10::SymInt, Tensor, Tensor, Tensor>;

Forward attention(const Tensor& query, const Tensor& key, const Tensor& value,
                  const OptionalTensor& bias, double dropout, bool causal, bool /*debug_mask*/,
                  std::optional<double> given_scale) {
  const double scale = attention_scale(query, given_scale);
  TORCH_CHECK(is_taken(query, key, value, bias, dropout, causal, scale, true),
              "neuron_sim: attention needs query, key and value [N, heads, length, width] of one "
              "dtype (float32, float16, bfloat16), widths up to ",
              kWidest, ", a scale above 0, no dropout, and not both a mask and is_causal");
  const c10::DeviceGuard guard(query.device());
  const Tensor output = empty_like_query(query, value.size(3));
  const Tensor log_sums =
      at::empty({query.size(0), query.size(1), query.size(2)}, query.options().dtype(at::kFloat));
  const AttentionOperands operands = attention_operands(query, key, value, bias);
  const Tensor grouped = by_key_heads(output, key.size(1));
  const Tensor grouped_sums = by_key_heads(log_sums, key.size(1));
  const AttentionSizes sizes = attention_sizes(query, key, value);
  const AttentionOptions options{scale, causal, exact_transposes()};
  translate_errors([&] {
    const Limits& limits = device_architecture(query.device().index()).limits;
    const AttentionPart part =
        first_part(sizes, [&](const AttentionSizes& some) { return attention_fits(limits, some); });
    const bool is_whole =
        part.members == sizes.members && part.queries == sizes.queries && part.keys == sizes.keys;
    if (is_whole) {
      launch_attention(operands, grouped, grouped_sums, options);
    } else {
      run_parts(operands, sizes, part, grouped, grouped_sums, options);
    }
  });
  const Tensor state = at::empty({}, query.options().dtype(at::kLong));
  return {output, log_sums, Tensor(), Tensor(), query.size(2), key.size(2), state, state, Tensor()};
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_scaled_dot_product_fused_attention_overrideable", attention);
  m.impl("_fused_sdp_choice", choose);
}

}  // namespace neuron_sim

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &neuron_sim::choose)
}  // namespace at::native
