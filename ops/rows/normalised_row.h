#pragma once
// The forms of norms that engines compute in fewer instructions than step by step, with a number
// per row as the operand of a partition.

#include <optional>
#include <vector>

#include "device/builder/builder.h"
#include "ops/pointwise/expression.h"

namespace neuron_sim {

/// The inputs of value * value, or of (value - number) * (value - number) or its negated
/// difference.
struct Square {
  size_t value;
  std::optional<size_t> number{};
};
/// Empty for other expressions.
std::optional<Square> square_of(const Expression& expression);

/// The inputs of (value - shift) * factor, * weight and + bias if there are such; without a shift
/// there is no bias.
struct NormalisedRow {
  size_t value = 0, factor = 0;
  std::optional<size_t> shift{}, weight{}, bias{};
  bool operator==(const NormalisedRow&) const = default;
};
/// Empty for other expressions.
std::optional<NormalisedRow> normalised_row(const Expression& expression);

/// Tiles [P, f...] of its inputs; shift and factor are [P, 1].
struct NormalisedTiles {
  View value, factor, shift{}, weight{}, bias{};
};
/// Every one of `results` [P, F] = the normalised row, rounded once to its dtype; a weight is
/// multiplied before the factor where there is a shift. Vector computes it once and Scalar rounds
/// it when one of them is fp32. `scratch` is fp32 [P, F].
void emit_normalised(Builder& builder, const NormalisedTiles& tiles, const View& scratch,
                     const std::vector<View>& results);

}  // namespace neuron_sim
