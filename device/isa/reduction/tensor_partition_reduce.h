#pragma once
// tensor_partition_reduce: one row out of all partitions.

#include "device/instruction/fields.h"

namespace neuron_sim {

/// Operators of tensor_partition_reduce.
enum class PartitionReduction : uint8_t { kAdd, kAverage, kMaximum, kBitwiseOr, kBitwiseAnd };
/// "add", "average", "maximum", "bitwise_or", "bitwise_and".
std::string_view name(PartitionReduction op);

/// dst[0, f] = op over the partitions p of data[p, f]. data: [P, F...]; dst: one partition with as
/// many elements. add and average (the sum divided by P) accumulate in fp32 in the order of the
/// partitions and round once to dst; maximum gives NaN when any element is NaN. add and maximum of
/// 32-bit integers to a 32-bit integer are exact, modulo 2^32. Bitwise operators take integers of
/// one size. GpSimd; SBUF.
struct TensorPartitionReduce {
  View dst;
  PartitionReduction op = PartitionReduction::kAdd;
  View data;

  enum OperandIndex { kDst, kData };
  enum AttributeIndex { kOp };
  static constexpr auto fields() {
    using T = TensorPartitionReduce;
    return std::tuple{operand<kDst>("dst", Direction::kWrite, &T::dst),
                      attribute<kOp>("op", &T::op).required(),
                      operand<kData>("data", Direction::kRead, &T::data)};
  }
  Draft draft() const;
};

extern const InstructionType kTensorPartitionReduce;

}  // namespace neuron_sim
