#pragma once
// attention: softmax(scale * q @ k.T + bias) @ v, without the matrix of scores in HBM.
//
// Algorithm. For 128 rows of q at a time, tiles of 512 keys stream by: TensorE multiplies q with
// k.T, Vector finds the largest score of every row, Scalar takes exponentials and adds them up, the
// exponentials are transposed on chip and multiplied with v. What was summed before is scaled down
// when a larger score comes along, so all sums stay in range; they are divided once at the end.
// Tiles above the diagonal of a causal mask are left out. Query heads that share a key head (GQA)
// read the same keys.
//
// Roofline: TensorE, ceil(D / 128) * S columns for the scores and S / 128 * Dv for the values per
// 128 rows of q, plus the transposes; Scalar, S exponentials per row.

#include <optional>

#include "ops/hbm_tensor.h"

namespace neuron_sim {

struct AttentionOptions {
  double scale = 1;
  bool causal = false;  ///< key j counts for row i when j <= i
};

/// q [B, H, Sq, D], k [B, Hk, Sk, D], v [B, Hk, Sk, Dv] with H a multiple of Hk, of one dtype
/// (fp32, fp16, bf16); bias, if there is one, [B, H, Sq, Sk] of that dtype; out [B, H, Sq, Dv]
/// of that dtype; log_sums [B, H, Sq] fp32: the logarithm of the sum of exponentials. Any strides
/// (0 repeats), none empty, Dv at most 512. A row without any key gives 0. Computed in fp32;
/// exponentials are rounded to the dtype before they meet v. KernelError when Dv is larger.
void emit_attention(Builder& builder, const HbmTensor& q, const HbmTensor& k, const HbmTensor& v,
                    const std::optional<HbmTensor>& bias, const HbmTensor& out,
                    const HbmTensor& log_sums, const AttentionOptions& options);

}  // namespace neuron_sim
