#pragma once

#include "device/isa/instruction_type.h"
#include "device/isa/operators.h"

namespace neuron_sim {

/// dst = op over the last `axes` free dimensions of data (times -1 with negate), on Vector. data is
/// [P, F...], dst has the elements of the remaining dimensions ([P, 1] when all are reduced), in
/// SBUF or PSUM (isa.json tensor_reduce). Operators: add, subtract, multiply, maximum, minimum,
/// logical and, or, xor; bitwise and, or, xor on integers of one size, without negate.
///
/// Arithmetic is in fp32, rounded once to dst. Order: element i of a reduced group goes to partial
/// result i mod 16, in order; then partial result l takes in l + 8, l + 4, l + 2, l + 1 (where
/// they exist). subtract is first - second - third ..., in order. maximum and minimum give NaN when
/// any element is NaN.
struct TensorReduce {
  View dst, data;
  AluOp op = AluOp::kAdd;
  int64_t axes = 1;  ///< number of trailing free dimensions reduced, 1 to 4
  bool negate = false;
  EngineKind engine = EngineKind::kAuto;  ///< Vector
  Draft draft() const;
};
extern const InstructionType kTensorReduce;

}  // namespace neuron_sim
