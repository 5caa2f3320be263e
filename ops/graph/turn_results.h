#pragma once
// Results of products are computed in the layout in which the kernels after them multiply.

#include "ops/graph/kernels/graph_kernel.h"

namespace neuron_sim {

/// Lets every product [M, N] whose result is only contracted over its columns afterwards
/// (OperandTraits::contracted) write it by columns, in the same bytes:
/// it is then computed as its transpose, with the weights stationary (matrix_product.h). Its
/// columns lie on the partitions where its readers want them, none of which transposes it again,
/// and a bias per column is one number per partition. The values are the same. Results of fewer
/// rows than partitions stay: kernels for few rows read them as they lie (attention/few_rows.h).
///
/// Known: the vendor's NKI performance guide, "Mitigating overhead from tensor transposes", has
/// weights stationary and results [columns, tokens] as the normal mapping of a linear layer, and
/// the other one before a layer norm; nki-library (d2ad3a57) takes queries and keys of attention
/// (`tp_q`, `tp_k` of attention_cte) and what a down projection multiplies
/// (mlp_cte_projection.py) in this layout. That the compiler chooses likewise is assumed.
void turn_results(Graph& graph);

}  // namespace neuron_sim
