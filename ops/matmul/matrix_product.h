#pragma once
// matrix_product: out = activation(scale * a @ b + addend_scale * addend), one program for a batch.
//
// Algorithm: as matmul (matmul.h) for one product after the other, its rings rotating on from
// product to product, so that the operands of the next one load and are transposed while this one
// is multiplied. A result whose columns are contiguous is computed as its transpose, b.T @ a.T, so
// that stores stay long; columns of b that are contiguous, too, load a bank's width at a time, and
// an addend per column of the result is one number per partition (matmul_result.h). Scale, addend,
// function and the expression `after` are applied in fp32 while a tile leaves PSUM; `after` reads
// tiles of the other operands.
//
// Roofline: as matmul, plus the bytes of the addend (a bias per column: once per panel).

#include <array>
#include <span>

#include "device/numerics/activation_functions.h"
#include "ops/contract/kernel_definition.h"
#include "ops/matmul/matmul.h"
#include "ops/pointwise/expression.h"

namespace neuron_sim {

struct MatrixProductOptions {
  double scale = 1;         ///< of the product
  double addend_scale = 1;  ///< of the addend
  Activation activation = Activation::kIdentity;
  MatmulOptions matmul{};  ///< variant auto
  int64_t others = 0;      ///< operands after the addend, read by `after`
  /// With a result: out = after(activation(...), others[0], others[1], ...), in the float domain.
  Expression after{};
  static constexpr std::array kFields{"scale", "addend_scale", "activation", "matmul", "", ""};
};

/// Operands: a [..., M, K], b [..., K, N], if there is one, addend [..., M, N], and as many others
/// [..., M, N] of any floating dtypes as the options say; result: out
/// [..., M, N]. Equal leading dimensions, none of them empty, K > 0; any strides (0 repeats an
/// operand), fp32, fp16 or bf16 alike, out also fp32; one of a and b may be int8, whose elements
/// are cast on chip, so that they cross HBM as bytes. Accumulates in fp32, rounds once. `addend`
/// may be `out` itself. KernelError for sizes that do not match and other dtypes.
void emit_matrix_product(Builder& builder, HbmTensors operands, HbmTensors results,
                         const MatrixProductOptions& options);

extern const KernelDefinition<MatrixProductOptions> kMatrixProduct;

/// Two products of one left operand, of which the second one takes what the first one, the gate,
/// computes, as in down(silu(gate(x)) * up(x)).
struct GatedProductOptions {
  MatrixProductOptions product{};  ///< `after` has one input more: the gate
  MatrixProductOptions gate{};
  int64_t gate_operands = 1;  ///< the last ones: its b, if there is one, addend, and others
  Dtype gate_dtype{};         ///< to which it is rounded
};

/// As emit_matrix_product, with the operands of both products, whose b have equal layouts. Each
/// block of columns of the gate is computed just before the block that takes it and stays in SBUF.
/// Every number is summed in the same order as in two kernels. Not for a result by columns.
void emit_gated_product(Builder& builder, HbmTensors operands, HbmTensors results,
                        const GatedProductOptions& options);

/// Whether the columns of a result are contiguous, so that it is computed as its transpose.
bool is_by_columns(std::span<const int64_t> shape, std::span<const int64_t> strides);

/// Whether all of K and the tiles of the other operands have room in SBUF.
bool product_is_resident(Builder& builder, HbmTensors operands, HbmTensors results,
                         const MatrixProductOptions& options);

}  // namespace neuron_sim
