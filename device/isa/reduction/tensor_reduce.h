#pragma once

#include <span>

#include "device/instruction/fields.h"
#include "device/numerics/operators.h"

namespace neuron_sim {

/// dst = op over the last `axes` free dimensions of data (times -1 with negate), on Vector. data is
/// [P, F...], dst has the elements of the remaining dimensions ([P, 1] when all are reduced), in
/// SBUF or PSUM (docs/hardware_facts.md#tensor_reduce). Operators: add, subtract, multiply,
/// maximum, minimum,
/// logical and, or, xor; bitwise and, or, xor on integers of one size, without negate.
///
/// Arithmetic is in fp32, rounded once to dst, in the order of device/numerics/reduction.h. maximum
/// and minimum give NaN when any element is NaN. keepdims is a matter of dst's shape: [P, D], [P,
/// D, 1] and [P, D, 1, 1] are the same elements.
struct TensorReduce {
  View dst, data;
  AluOp op = AluOp::kAdd;
  int64_t axes = 1;  ///< number of trailing free dimensions reduced, 1 to 4
  bool negate = false;
  EngineKind engine = EngineKind::kAuto;  ///< Vector

  enum OperandIndex { kDst, kData };
  enum AttributeIndex { kOp, kAxes, kNegate };
  static constexpr auto fields() {
    using T = TensorReduce;
    return std::tuple{operand<kDst>("dst", Direction::kWrite, &T::dst),
                      operand<kData>("data", Direction::kRead, &T::data)
                          .undefined_elements(UndefinedUse::kReduced),
                      attribute<kOp>("op", &T::op).required(),
                      attribute<kAxes>("axes", &T::axes),
                      attribute<kNegate>("negate", &T::negate),
                      engine_of(&T::engine)};
  }
  Draft draft() const;
};
extern const InstructionType kTensorReduce;

/// The `axes` of a list of dimensions as the vendor's `axis` names them: any order, negative ones
/// count from the end. KernelError unless they are the last free dimensions of `rank` ones.
int64_t trailing_axes(std::span<const int64_t> axis, int rank);

}  // namespace neuron_sim
