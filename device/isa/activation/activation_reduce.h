#pragma once

#include "device/instruction/instruction_type.h"
#include "device/numerics/operators.h"

namespace neuron_sim {

/// dst = op(data * scale + bias), reduce_res = the sum of each partition's results: activation
/// (device/isa/activation/activation.h, which says everything else) with reduce_cmd 'reset_reduce'
/// and a reduce_res. The Scalar engine's reduction registers hold the sums afterwards. reduce_op
/// must be kAdd. reduce_res is [P, 1] in SBUF or PSUM, of any dtype (isa.json activation_reduce).
struct ActivationReduce {
  View dst, data;
  Activation op = Activation::kIdentity;
  AluOp reduce_op = AluOp::kAdd;
  View reduce_res;
  View bias_tile{}, scale_tile{};  ///< [P, 1]; absent: bias, scale
  double scale = 1;
  double bias = 0;
  EngineKind engine = EngineKind::kAuto;  ///< Scalar
  Draft draft() const;
};
extern const InstructionType kActivationReduce;

}  // namespace neuron_sim
