#pragma once
// Reading and writing one partition of an operand as contiguous values.

#include <array>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <type_traits>
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
/// The free pattern of an operand: up to three outer dimensions around one innermost run of strided
/// elements.
struct RowPattern {
  std::array<Dimension, kMaximumFreeDimensions - 1> outer{};
  int64_t length = 1;  ///< of a run
  int64_t stride = 0;
  bool empty = false;
  bool single = false;  ///< one run
  bool plain = false;   ///< one gapless run of fp32, usable as an array
};

/// Rows of fp32 in storage, `step` bytes apart. Value is float or const float.
template <typename Value>
struct FloatRows {
  Value* first = nullptr;
  int64_t step = 0;
  Value* operator[](int64_t row) const {
    using Byte = std::conditional_t<std::is_const_v<Value>, const std::byte, std::byte>;
    return reinterpret_cast<Value*>(reinterpret_cast<Byte*>(first) + row * step);
  }
};

/// read_row() for all partitions of an operand, whose pattern it finds once. Neither the operand
/// nor the buffer may be used otherwise while it lives.
class RowReader {
 public:
  RowReader(const Access& access, std::vector<float>& buffer);
  const float* operator()(int64_t partition) const {
    const std::byte* data = access_.partition(partition);
    return pattern_.plain ? reinterpret_cast<const float*>(data) : load(data);
  }
  /// Whether each row is one element, repeated: read_scalar() has its value.
  bool repeats() const {
    return !pattern_.plain && pattern_.single && pattern_.stride == 0 && count_ > 0;
  }
  /// Whether rows() has every row: they are contiguous fp32, or one element of it, repeated.
  bool in_place() const {
    return access_.rows == nullptr &&
           (pattern_.plain || (repeats() && access_.dtype == Dtype::kFloat32));
  }
  /// The rows of an operand that is in place, of a repeated element that one.
  FloatRows<const float> rows() const {
    return {reinterpret_cast<const float*>(access_.data), access_.partition_stride};
  }

 private:
  const float* load(const std::byte* data) const;

  const Access& access_;
  RowPattern pattern_;
  float* buffer_ = nullptr;
  int64_t count_;
};

/// row_target() and write_row() for all partitions of an operand, in the same way.
class RowWriter {
 public:
  RowWriter(const Access& access, std::vector<float>& buffer);
  float* target(int64_t partition) const {
    return pattern_.plain ? reinterpret_cast<float*>(access_.partition(partition)) : buffer_;
  }
  void write(int64_t partition, const float* values) const {
    std::byte* const data = access_.partition(partition);
    if (!pattern_.plain) return store(data, values);
    if (reinterpret_cast<const std::byte*>(values) == data) return;
    std::memmove(data, values, static_cast<size_t>(pattern_.length) * sizeof(float));
  }
  /// write() of `count` partitions from `first` on; `values` are no storage of the operand.
  void write(int64_t first, int64_t count, const float* values, int64_t elements) const {
    for (int64_t i = 0; i < count; ++i) {
      std::byte* const data = access_.partition(first + i);
      const float* const row = values + i * elements;
      pattern_.plain ? copy(row, data, elements) : store(data, row);
    }
  }
  /// Whether rows() has every row: they are contiguous fp32.
  bool in_place() const { return access_.rows == nullptr && pattern_.plain; }
  FloatRows<float> rows() const {
    return {reinterpret_cast<float*>(access_.data), access_.partition_stride};
  }

 private:
  void store(std::byte* data, const float* values) const;
  /// In blocks of a cache line, which short rows have few of.
  static void copy(const float* values, std::byte* data, int64_t elements) {
    constexpr int64_t kLine = 64;
    const auto bytes = elements * static_cast<int64_t>(sizeof(float));
    const auto* const source = reinterpret_cast<const std::byte*>(values);
    int64_t at = 0;
    for (; at + kLine <= bytes; at += kLine) std::memcpy(data + at, source + at, kLine);
    for (; at < bytes; at += sizeof(float)) std::memcpy(data + at, source + at, sizeof(float));
  }

  const Access& access_;
  RowPattern pattern_;
  float* buffer_ = nullptr;
};

/// Whether an integer operator may run on the bits of float rows (alu::on_words): of int32, a
/// bitwise one also of other elements of four bytes.
bool are_words(bool bitwise, std::initializer_list<const Access*> operands);
/// An operand of four bytes per element, whose bits pass as those of fp32 do.
Access as_words(const Access& access);

/// Bit-exact copy of one partition between operands of equal itemsize and element count.
void copy_row(const Access& source, int64_t source_partition, const Access& target,
              int64_t target_partition);
/// One partition copied bit by bit when the dtypes are equal and `exact`, else through fp32 with
/// one rounding. Uses row_scratch().first.
void cast_row(const Access& source, int64_t source_partition, const Access& target,
              int64_t target_partition, bool exact);
/// Casts all partitions of `target` as cast_row(), from the same ones of `source`.
void cast_rows(const Access& source, const Access& target, bool exact);
/// fp32 value of the single element of a [P, 1] operand.
float read_scalar(const Access& access, int64_t partition);

/// Whether the first `partitions` of `read` may be read before any of `written` is written: no
/// write of one reaches the bytes of a later one. False if that is not certain.
bool reads_may_precede_writes(const Access& read, const Access& written, int64_t partitions);

/// Scratch rows of the calling thread, so that instructions allocate nothing per call.
struct RowScratch {
  std::vector<float> first, second, third, result;
  std::vector<int64_t> first_integers, second_integers, result_integers;
  std::vector<std::byte> bytes;
};
RowScratch& row_scratch();

}  // namespace neuron_sim
