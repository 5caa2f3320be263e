#pragma once
// Reading and writing one partition of an operand as contiguous values.

#include <cstdint>
#include <vector>

#include "device/instruction/instruction_type.h"

namespace neuron_sim {

/// fp32 values of one partition of a source operand: a pointer into storage when it is contiguous
/// fp32, else a widened copy in `buffer` (grown as needed). `elements()` values.
const float* read_row(const Access& access, int64_t partition, std::vector<float>& buffer);
/// Rounds `elements()` fp32 values into one partition of a destination.
void write_row(const Access& access, int64_t partition, const float* values);
/// Where results may be computed in place: storage if contiguous fp32, else `buffer`; commit with
/// write_row when it returned the buffer (write_row is a no-op on its own storage).
float* row_target(const Access& access, int64_t partition, std::vector<float>& buffer);
/// Integer values of one partition (integer dtypes only), exact.
const int64_t* read_integer_row(const Access& access, int64_t partition,
                                std::vector<int64_t>& buffer);
void write_integer_row(const Access& access, int64_t partition, const int64_t* values);
/// Bit-exact copy of one partition between operands of equal itemsize and element count.
void copy_row(const Access& source, int64_t source_partition, const Access& target,
              int64_t target_partition);
/// One partition copied bit by bit when the dtypes are equal and `exact`, else through fp32 with
/// one rounding. Uses row_scratch().first.
void cast_row(const Access& source, int64_t source_partition, const Access& target,
              int64_t target_partition, bool exact);
/// fp32 value of the single element of a [P, 1] operand.
float read_scalar(const Access& access, int64_t partition);

/// Scratch rows of the calling thread, so that instructions allocate nothing per call.
struct RowScratch {
  std::vector<float> first, second, third, result;
  std::vector<int64_t> first_integers, second_integers, result_integers;
  std::vector<std::byte> bytes;
};
RowScratch& row_scratch();

}  // namespace neuron_sim
