#pragma once
// How the results of a row program are computed when its rows are in SBUF.

#include <optional>
#include <vector>

#include "ops/rows/normalised_row.h"
#include "ops/rows/row_program.h"

namespace neuron_sim {

enum class RowResultKind : uint8_t {
  kSingle,      ///< one number per row
  kPrepared,    ///< a prepared value, stored from its tile
  kNormalised,  ///< the normalised row
  kOther
};

struct RowResults {
  std::vector<RowResultKind> kinds;           ///< per result
  std::optional<NormalisedRow> normalised{};  ///< the same one for all of that kind
  Expression others{};                        ///< all results of kind kOther
};

/// For a program of `operands` operands; per result, whether it has one number per row, and its
/// dtype. Normalised rows are told apart when each has a partition (`row_per_partition`).
RowResults classify_results(const RowProgram& program, size_t operands,
                            const std::vector<bool>& single, const std::vector<Dtype>& dtypes,
                            bool row_per_partition);

/// The input that an expression is.
size_t input_of(const Expression& operand);

}  // namespace neuron_sim
