#include "device/compiler/tiles/copy_origins.h"

#include <algorithm>
#include <numeric>

#include "device/analysis/access_runs.h"

namespace neuron_sim {

CopyOrigins::CopyOrigins(const StraightLine& line, const CopiedTile& copied)
    : first_(line.whole_operands_of(line.instructions[copied.copies.front()])[0]),
      itemsize_(itemsize(first_.dtype)),
      base_(line.tile_of(first_).address) {
  valid_ = std::all_of(copied.copies.begin(), copied.copies.end(),
                       [&](uint32_t copy) { return add(line, copy); });
  std::sort(runs_.begin(), runs_.end(),
            [](const Run& a, const Run& b) { return a.begin < b.begin; });
  valid_ =
      valid_ && fills_once() &&
      std::none_of(copied.other_writes.begin(), copied.other_writes.end(),
                   [&](const TileUse& use) { return touch(line.whole(operand_at(line, use))); });
}

std::vector<CopyOrigins::Run>::const_iterator CopyOrigins::run_after(int64_t byte) const {
  return std::partition_point(runs_.begin(), runs_.end(),
                              [&](const Run& run) { return run.end <= byte; });
}

std::optional<CopyOrigins::Origin> CopyOrigins::at(int64_t byte) const {
  return of_contiguous(byte, 1);
}

std::optional<CopyOrigins::Origin> CopyOrigins::of_contiguous(int64_t byte, int64_t bytes) const {
  const auto run = run_after(byte);
  if (run == runs_.end() || byte < run->begin || byte + bytes > run->end) return std::nullopt;
  Origin origin = run->first;
  origin.byte += byte - run->begin;
  return origin;
}

bool CopyOrigins::touch(const Operand& operand) const {
  bool touched = false;
  each_free_run(operand, operand.offset, [&](int64_t byte, int64_t bytes) {
    const auto run = run_after(byte);
    touched = touched || (run != runs_.end() && run->begin < byte + bytes);
  });
  return touched;
}

bool CopyOrigins::holds(const Operand& reader) const {
  const int64_t read = reader.partition_stride == 0 ? 1 : reader.partitions;
  return itemsize(reader.dtype) == itemsize_ && (reader.offset - base_) % itemsize_ == 0 &&
         reader.start_partition >= first_.start_partition &&
         reader.start_partition + read <= first_.start_partition + first_.partitions;
}

bool CopyOrigins::add(const StraightLine& line, uint32_t copy) {
  const WholeOperands operands = line.whole_operands_of(line.instructions[copy]);
  const Operand &dst = operands[0], &src = operands[1];
  if (dst.dtype != first_.dtype || dst.start_partition != first_.start_partition ||
      dst.partitions != first_.partitions || src.start_partition != dst.start_partition ||
      (dst.offset - base_) % itemsize_ != 0) {
    return false;
  }
  const int64_t length = std::gcd(innermost_run(dst).bytes, innermost_run(src).bytes);
  std::vector<int64_t> sources;
  each_free_run(src, src.offset, [&](int64_t byte, int64_t bytes) {
    for (int64_t i = 0; i < bytes; i += length) sources.push_back(byte + i);
  });
  auto source = sources.begin();
  each_free_run(dst, dst.offset, [&](int64_t byte, int64_t bytes) {
    for (int64_t i = 0; i < bytes; i += length) {
      runs_.push_back({byte + i, byte + i + length, {copy, src.tile, *source++}});
    }
  });
  return true;
}

/// Whether no byte is in two runs, which are in order.
bool CopyOrigins::fills_once() const {
  return std::adjacent_find(runs_.begin(), runs_.end(), [](const Run& a, const Run& b) {
           return a.end > b.begin;
         }) == runs_.end();
}

}  // namespace neuron_sim
