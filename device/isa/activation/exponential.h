#pragma once

#include "device/instruction/fields.h"
#include "device/instruction/reduce_command.h"

namespace neuron_sim {

/// dst = exp(src - max_value) on the Vector engine, with an optional running sum. The difference
/// rounds to fp32, exp is within 0.51 units in the last place, the result rounds once more to dst.
/// [P, F] tiles in SBUF or PSUM with up to three free dimensions, equal partitions and elements per
/// partition. src: any dtype but bool and tfloat32; dst: any but bool and uint32. max_value and
/// reduce_init are constants or [P, 1] fp32 tiles.
/// reduce_command works on the Vector engine's accumulator registers, which draft() adds as an
/// operand (device/instruction/vector_accumulator.h): kResetReduce starts from 0, kLoadReduce from
/// reduce_init (0 for other commands), kReduce from what they hold; each adds the sum of the fp32
/// results before they are rounded to dst. reduce_res, [P, 1], gets the registers afterwards.
/// Needs NeuronCore-v4 (docs/hardware_facts.md#exponential).
struct Exponential {
  View dst, src;
  View max_value_tile{};  ///< absent: max_value
  double max_value = 0;
  View reduce_res{};
  ReduceCommand reduce_command = ReduceCommand::kIdle;
  View reduce_init_tile{};  ///< absent: reduce_init
  double reduce_init = 0;
  EngineKind engine = EngineKind::kAuto;  ///< Vector

  enum OperandIndex { kDst, kSrc, kMaximum, kReduceInit, kAccumulator, kReduceRes };
  enum AttributeIndex { kMaximumConstant, kReduceCommand, kInitConstant };
  static constexpr auto fields() {
    using T = Exponential;
    return std::tuple{
        operand<kDst>("dst", Direction::kWrite, &T::dst),
        operand<kSrc>("src", Direction::kRead, &T::src).undefined_elements(UndefinedUse::kPassedOn),
        tile_or_number<kMaximum, kMaximumConstant>("max_value", &T::max_value_tile, "max_value",
                                                   &T::max_value)
            .number_by_default()
            .undefined_elements(UndefinedUse::kPassedOn),
        optional_operand<kReduceRes>("reduce_res", Direction::kWrite, &T::reduce_res),
        attribute<kReduceCommand>("reduce_cmd", &T::reduce_command),
        tile_or_number<kReduceInit, kInitConstant>("reduce_init", &T::reduce_init_tile,
                                                   "reduce_init", &T::reduce_init)
            .number_by_default(),
        engine_of(&T::engine),
        hidden_operand<kAccumulator>("accumulator", Direction::kReadWrite, true)};
  }
  Draft draft() const;
};
extern const InstructionType kExponential;

}  // namespace neuron_sim
