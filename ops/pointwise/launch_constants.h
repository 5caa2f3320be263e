#pragma once
// Pointwise kernels that are compiled once for all constants: each launch supplies its own, which
// are immediates of the instructions. Neither instructions nor times depend on their values.

#include <functional>
#include <memory>

#include "device/runtime/kernel.h"
#include "ops/pointwise/expression.h"

namespace neuron_sim {

/// The kernel of an expression; number i of a launch is constant i of ExpressionForm. `build` makes
/// the program of an expression (emit_pointwise for some tensors).
std::shared_ptr<const Kernel> compile_expression(
    const Expression& expression,
    const std::function<std::shared_ptr<const Program>(const Expression&)>& build);

}  // namespace neuron_sim
