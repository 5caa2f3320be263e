#pragma once
// attention: softmax(scale * q @ k.T + bias) @ v, without the matrix of scores in HBM.
//
// Algorithm. A step takes 128 rows of q and up to 1024 keys: TensorE multiplies q with k.T into
// PSUM, Vector finds the largest score of every row, Scalar takes exponentials straight from PSUM
// and adds them up; the exponentials are transposed on chip and multiplied with v. Earlier sums are
// scaled down when a larger score comes along, so all sums stay in range; they are divided once at
// the end. Steps above the diagonal of a causal mask are left out. The stages of a step are emitted
// between those of its neighbours (units.h): the scores of the next rows, the transposes
// of these and the products with v of the previous ones keep all engines busy at the same time.
// Logarithms need a different table of the Scalar engine than exponentials: they come last.
//
// A few rows per key head over many keys (a decode step) take another way: few_rows.h.
//
// Tile plan: q, k and v of a unit of heads are loaded once, in few transfers, and stay in SBUF
// while the next unit loads. PSUM: four banks for scores, two for transposes,
// two for products with v.
//
// Roofline: fp32, TensorE, 4 cycles per column of scores and values and 2 per transposed one;
// 16-bit dtypes, Scalar and Vector together: a maximum, an exponential and a copy per score.

#include <array>

#include "ops/contract/kernel_definition.h"

namespace neuron_sim {

struct AttentionOptions {
  double scale = 1;     ///< greater than 0
  bool causal = false;  ///< key j counts for row i when j <= i
  /// Whether q, k and the exponentials keep every bit when they are transposed on chip where the
  /// Tensor engine's transpose is a product (see Transposer). Not for gradients, which always do.
  bool exact_transposes = true;
  static constexpr std::array kFields{"scale", "causal", ""};
};

/// Sizes that decide how much SBUF a unit takes.
struct AttentionSizes {
  int64_t members, queries, keys, depth, width;
  Dtype dtype;
};
/// Whether a unit of heads of these sizes fits: members of a key head, rows, keys.
bool attention_fits(const Limits& limits, const AttentionSizes& sizes);

/// Operands: q [B, Hk, G, Sq, D], k [B, Hk, 1, Sk, D], v [B, Hk, 1, Sk, Dv] and, if there is one,
/// bias [B, Hk, G, Sq, Sk]: the G query heads of a group share a key head. One dtype (fp32, fp16,
/// bf16). Results: out [B, Hk, G, Sq, Dv] of that dtype or fp32; log_sums [B, Hk, G, Sq] fp32,
/// dense, which may be left out: the logarithm of the sum of exponentials. Any other strides (0
/// repeats), none empty, Dv at most 512; attention_fits() must hold. A row without any key gives 0.
/// Computed in fp32; exponentials are rounded to the dtype before they multiply v. KernelError for
/// other operands.
void emit_attention(Builder& builder, HbmTensors operands, HbmTensors results,
                    const AttentionOptions& options);
extern const KernelDefinition<AttentionOptions> kAttention;

}  // namespace neuron_sim
