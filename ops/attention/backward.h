#pragma once
// The gradient of attention (attention.h), without a matrix of scores in HBM.
//
// Algorithm. With P the probabilities, recomputed from q, k and the logarithms of the sums of
// exponentials: dV = P' dO, dS = P * (dO V' - sum(dO * O)), dQ = scale * dS K, dK = scale * dS' Q.
// A step takes 128 rows and up to 512 keys: two products of TensorE in PSUM, an exponential of
// Scalar, one instruction of Vector for dS. P and dS serve unchanged as stationary operands for dV
// and dK, which add up in PSUM over all rows (and members) of a tile of keys; dS is transposed for
// dQ, which adds up in SBUF over the tiles of keys. Steps above the diagonal are left out, and
// stages of neighbouring steps overlap (units.h).
//
// Tile plan: all operands of a unit of heads stay in SBUF, with rows on partitions and transposed.
// PSUM: two banks for scores and for transposes, one each for dO V', dQ, dK and dV.
//
// Roofline: TensorE, in fp32 4 cycles per column of five products; 16-bit dtypes, Vector and
// Scalar.

#include <optional>

#include "ops/attention/attention.h"

namespace neuron_sim {

/// Tensors as emit_attention takes them: [B, Hk, G, Sq, D] of query heads, G = 1 for key heads.
struct AttentionGradientOperands {
  HbmTensor gradient, q, k, v, out;  ///< of one dtype
  HbmTensor log_sums;                ///< [B, Hk, G, Sq] fp32, dense
  std::optional<HbmTensor> bias;     ///< [B, Hk, G, Sq, Sk]
};
/// Gradients of q, k and v, of the dtype of the operands or fp32.
struct AttentionGradientResults {
  HbmTensor q, k, v;
  std::optional<HbmTensor> bias;  ///< [B, Hk, G, Sq, Sk] of the dtype of the operands
};

/// Whether a unit of heads of these sizes fits.
bool attention_backward_fits(const Limits& limits, const AttentionSizes& sizes);

/// The tensors of AttentionGradientOperands and AttentionGradientResults in their order, a bias
/// only if there is one. Sizes and strides as for emit_attention, D and Dv at most 512, none empty;
/// attention_backward_fits() must hold. P and dS are rounded to the dtype before products. A bias
/// gets a gradient only without a causal mask. KernelError for unsupported operands.
void emit_attention_backward(Builder& builder, HbmTensors operands, HbmTensors results,
                             const AttentionOptions& options);
inline constexpr KernelDefinition<AttentionOptions> kAttentionBackward{
    .name = "attention_backward", .emit = emit_attention_backward};

}  // namespace neuron_sim
