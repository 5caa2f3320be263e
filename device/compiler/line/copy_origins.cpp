#include "device/compiler/line/copy_origins.h"

#include <algorithm>

#include "device/compiler/line/access_pattern.h"

namespace neuron_sim {

CopyOrigins::CopyOrigins(const StraightLine& line, const CopiedTile& copied)
    : first_(line.operands_of(line.instructions[copied.copies.front()])[0]),
      itemsize_(itemsize(first_.dtype)),
      base_(line.tile_of(first_).address) {
  const Operand& source = line.operands_of(line.instructions[copied.copies.front()])[1];
  shift_ = source.start_partition - first_.start_partition;
  elements_.resize(static_cast<size_t>(line.tile_of(first_).bytes / itemsize_));
  valid_ = std::all_of(copied.copies.begin(), copied.copies.end(),
                       [&](uint32_t copy) { return add(line, copy); }) &&
           std::all_of(copied.other_writes.begin(), copied.other_writes.end(),
                       [&](const TileUse& use) { return is_beside(operand_at(line, use)); });
}

const CopyOrigins::Element* CopyOrigins::at(int64_t byte) const {
  if (byte < base_) return nullptr;
  const size_t index = index_of(byte);
  if (index >= elements_.size()) return nullptr;
  return elements_[index].tile == kNoTile ? nullptr : &elements_[index];
}

bool CopyOrigins::holds(const Operand& reader) const {
  const int64_t read = reader.partition_stride == 0 ? 1 : reader.partitions;
  return itemsize(reader.dtype) == itemsize_ && (reader.offset - base_) % itemsize_ == 0 &&
         reader.start_partition >= first_.start_partition &&
         reader.start_partition + read <= first_.start_partition + first_.partitions;
}

bool CopyOrigins::add(const StraightLine& line, uint32_t copy) {
  const Operand& dst = line.operands_of(line.instructions[copy])[0];
  const Operand& src = line.operands_of(line.instructions[copy])[1];
  if (dst.dtype != first_.dtype || dst.start_partition != first_.start_partition ||
      dst.partitions != first_.partitions || src.start_partition - dst.start_partition != shift_ ||
      (dst.offset - base_) % itemsize_ != 0) {
    return false;
  }
  std::vector<int64_t> sources;
  each_element(src, [&](int64_t byte) { sources.push_back(byte); });
  size_t next = 0;
  bool once = true;
  each_element(dst, [&](int64_t byte) {
    Element& element = elements_[index_of(byte)];
    once = once && element.tile == kNoTile;
    element = {copy, src.tile, sources[next++]};
  });
  return once;
}

/// Whether a write touches no element that a copy writes.
bool CopyOrigins::is_beside(const Operand& write) const {
  bool beside = true;
  each_element(write, [&](int64_t byte) {
    beside = beside && at(byte) == nullptr && at(byte + itemsize(write.dtype) - 1) == nullptr;
  });
  return beside;
}

}  // namespace neuron_sim
