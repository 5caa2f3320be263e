#pragma once
// What tests of fused neighbours share: products and row programs among pointwise kernels, compared
// with the same graph kernel by kernel.

#include "ops/graph/graph_program.h"
#include "ops/matmul/matrix_product.h"
#include "ops/pointwise/compose.h"
#include "ops/rows/row_program.h"
#include "tests/ops/graph/graph_kernels.h"

namespace neuron_sim {

/// out = a @ b (+ addend), which may be joined.
inline GraphKernel product_of(std::vector<GraphTensor> operands, GraphTensor result,
                              const MatrixProductOptions& options = {}) {
  return kernel_of(kMatrixProduct, options, std::move(operands), {std::move(result)});
}

inline GraphKernel rows_of(const RowProgram& program, std::vector<GraphTensor> operands,
                           std::vector<GraphTensor> results) {
  return kernel_of(kRowProgramKernel, program, std::move(operands), std::move(results));
}

/// result = x - mean of the row; and the mean, one per row.
inline RowProgram centred(int64_t columns) {
  RowProgram program{.reduced = {false, true}};
  RowStage mean{};
  mean.value.add_result(mean.value.input(0));
  mean.finish.add_result(mean.finish.input(0) * (1.0 / static_cast<double>(columns)));
  program.stages = {mean};
  Expression result, number;
  result.add_result(result.input(0) - result.input(1));
  number.add_result(number.input(1) + 0.0);
  program.results = {result, number};
  return program;
}

/// Kernels that are left after joining; the external memories get the same bytes as without, on
/// trn1 and trn2, compiled and not.
inline size_t joined_kernels(const std::vector<GraphKernel>& kernels, const External& external,
                             const HostMemories& before) {
  size_t left = 0;
  for (const char* const name : {"trn1", "trn2"}) {
    HostMemories expected = before;
    run_graph(built_graph(kernels, external, plain(), name), expected);
    for (const GraphProgramOptions& options :
         {GraphProgramOptions{.passes = {}}, GraphProgramOptions{}}) {
      const GraphProgram built = built_graph(kernels, external, options, name);
      HostMemories actual = before;
      run_graph(built, actual);
      for (const size_t memory : external) {
        EXPECT_EQ(actual[memory], expected[memory])
            << name << ", memory " << memory
            << (options.passes == PassSettings{} ? "" : ", compiled");
      }
      left = built.kernels;
    }
  }
  return left;
}

}  // namespace neuron_sim
