#pragma once
// Which bytes of HBM a transfer puts beside bytes of SBUF.

#include <array>
#include <cstdint>
#include <optional>

#include "device/instruction/element_copy.h"
#include "device/program/program.h"

namespace neuron_sim {

/// Stands for the distance of two partitions of SBUF: farther than any bytes of one.
inline constexpr int64_t kPartitionDistance = int64_t{1} << 40;

/// The loops of a transfer between an operand of HBM, as their source, and one of SBUF, as their
/// target, whichever way the bytes go: outermost first, without loops of one element. Empty when a
/// loop of SBUF does not step over all of the next one.
std::optional<CopyNest> transfer_nest(const Operand& hbm, const Operand& sbuf);

/// Bytes from the first element of one operand of SBUF to that of another.
inline int64_t distance_between(const Location& from, const Location& to) {
  return (to.partition - from.partition) * kPartitionDistance + to.offset - from.offset;
}

/// Whether the elements of a partition follow each other in runs without gaps, or there is one.
bool has_gapless_rows(const Operand& operand);

/// An operand of SBUF inside that of a transfer, as one of its HBM.
class OperandInHbm {
 public:
  /// `distance`: from the first element of the operand of the transfer.
  OperandInHbm(const CopyNest& nest, const Operand& operand, int64_t distance);

  bool found() const { return found_; }
  /// Bytes from the first element of the HBM of the transfer.
  int64_t offset() const { return offset_; }
  const Operand& operand() const { return operand_; }

 private:
  bool enter(int64_t distance);
  std::optional<int64_t> stride_in_hbm(int64_t size, int64_t stride);
  bool replace_dimensions();

  const CopyNest& nest_;
  Operand operand_;
  std::array<int64_t, size_t{2} * kMaximumCopyRank> last_{};  // index reached, per loop
  int64_t offset_ = 0;
  bool found_ = false;
};

}  // namespace neuron_sim
