#include "device/execute/variable_exchange.h"

#include <cstring>

#include "device/base/errors.h"
#include "device/isa/dma/collective.h"
#include "device/isa/dma/dma_transfer.h"

namespace neuron_sim {
namespace {

using collective_operand::kDst;
using collective_operand::kMetadata;
using collective_operand::kSrc;
enum Row : size_t { kSendCounts, kSendOffsets, kReceivedCounts, kReceivedOffsets };

Dimension dense(int64_t elements, int64_t size) { return {elements, size}; }

/// The buffers of one rank, dense, and its metadata as numbers.
class Side {
 public:
  Side(const CollectiveMember& member, size_t ranks)
      : src(dense_bytes(member.operands[kSrc])),
        dst(dense_bytes(member.operands[kDst])),
        member_(member),
        ranks_(ranks) {
    const DenseBuffer bytes = dense_bytes(member.operands[kMetadata]);
    counts_.resize(bytes.size() / sizeof(uint32_t));
    std::memcpy(counts_.data(), bytes.data(), bytes.size());
  }

  int64_t rank() const { return member_.rank; }
  uint32_t& at(Row row, size_t rank) { return counts_[row * ranks_ + rank]; }
  /// First element in dst of what comes from the rank at that place.
  int64_t offset_from(size_t rank, int64_t size) {
    if (counts_.size() > kReceivedOffsets * ranks_) return at(kReceivedOffsets, rank);
    return static_cast<int64_t>(dst.size()) / size / static_cast<int64_t>(ranks_) *
           static_cast<int64_t>(rank);
  }
  void write(bool counts) const {
    store_dense(dst, member_.operands[kDst]);
    if (!counts) return;
    DenseBuffer bytes(counts_.size() * sizeof(uint32_t));
    std::memcpy(bytes.data(), counts_.data(), bytes.size());
    store_dense(bytes, member_.operands[kMetadata]);
  }

  DenseBuffer src, dst;

 private:
  const CollectiveMember& member_;
  size_t ranks_;
  std::vector<uint32_t> counts_;
};

void check_inside(const InstructionType& type, const Side& side, std::string_view operand,
                  int64_t first, int64_t count, const DenseBuffer& buffer, int64_t size) {
  const int64_t elements = static_cast<int64_t>(buffer.size()) / size;
  if (first + count <= elements) return;
  fail(text("'", type.name, "' of rank ", side.rank(), ": elements ", first, " to ",
            first + count - 1, " of the metadata are out of bounds of ", operand, ", which has ",
            elements, " elements."),
       ErrorKind::kIndex);
}

/// What `from` sends to `to`; their places in the group.
void send(const InstructionType& type, Side& from, size_t source, Side& to, size_t target,
          int64_t size) {
  const size_t column = kind_of(type) == CollectiveKind::kAllGatherV ? 0 : target;
  const int64_t count = from.at(kSendCounts, column);
  if (count > 0) {
    const int64_t first = from.at(kSendOffsets, column);
    const int64_t offset = to.offset_from(source, size);
    check_inside(type, from, "src", first, count, from.src, size);
    check_inside(type, to, "dst", offset, count, to.dst, size);
    std::memcpy(to.dst.data() + offset * size, from.src.data() + first * size,
                static_cast<size_t>(count * size));
  }
  to.at(kReceivedCounts, source) = static_cast<uint32_t>(count);
}

}  // namespace

DenseBuffer dense_bytes(const Access& access) {
  const int size = itemsize(access.dtype);
  const TransferSide side(access);
  const int64_t count = access.partitions * access.elements();
  DenseBuffer bytes(static_cast<size_t>(count * size));
  const Dimension target = dense(count, size);
  copy_elements({access.data, side.all()}, {bytes.data(), {&target, 1}}, size);
  return bytes;
}

void store_dense(const DenseBuffer& bytes, const Access& access) {
  const int size = itemsize(access.dtype);
  const TransferSide side(access);
  const Dimension source = dense(static_cast<int64_t>(bytes.size()) / size, size);
  copy_elements({bytes.data(), {&source, 1}}, {access.data, side.all()}, size);
}

void exchange_variable(const InstructionType& type, std::span<const Attribute> attributes,
                       std::span<const CollectiveMember> members) {
  std::vector<Side> sides;
  for (const CollectiveMember& member : members) sides.emplace_back(member, members.size());
  const int64_t size = itemsize(members[0].operands[kSrc].dtype);
  for (size_t source = 0; source < sides.size(); ++source) {
    for (size_t target = 0; target < sides.size(); ++target) {
      send(type, sides[source], source, sides[target], target, size);
    }
  }
  const bool counts = attributes[collective_attribute::kWritesCounts].flag();
  for (const Side& side : sides) side.write(counts);
}

}  // namespace neuron_sim
