#pragma once
// Rows of short runs at equal distances, as the halves of a merge network have them: loops over
// storage, without a copy of the row.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "device/instruction/instruction_type.h"

namespace neuron_sim {
namespace short_runs {

/// Rows of words of four bytes: `count` gapless runs of `length`, `stride` bytes apart.
struct Runs {
  std::byte* data = nullptr;
  int64_t partition_stride = 0;
  int64_t count = 1, length = 1, stride = 0;
  int64_t bytes() const { return length * int64_t{sizeof(float)}; }
  int64_t extent() const { return (count - 1) * stride + bytes(); }
  bool dense() const { return count == 1; }
  /// Dense rows as runs of another length.
  void split(int64_t runs) {
    length /= runs;
    count = runs;
    stride = bytes();
  }
};

/// Whether a row is visibly one run: the common case, without the search.
inline bool is_one_run(const Access& access) {
  int outer = 0;
  while (outer + 1 < access.rank && access.free[static_cast<size_t>(outer)].size == 1) ++outer;
  return outer + 1 >= access.rank;
}

inline std::optional<Runs> runs_of(const Access& access) {
  if (itemsize(access.dtype) != 4 || access.rows != nullptr) return std::nullopt;
  Runs runs{access.data, access.partition_stride};
  for (int i = access.rank - 1; i >= 0; --i) {  // innermost first
    const Dimension& next = access.free[static_cast<size_t>(i)];
    if (next.size == 1) continue;
    if (runs.count > 1 ? next.stride == runs.count * runs.stride : next.stride == runs.bytes()) {
      (runs.count > 1 ? runs.count : runs.length) *= next.size;
    } else if (runs.count == 1 && next.size > 1 && next.stride > runs.bytes()) {
      runs.count = next.size;
      runs.stride = next.stride;
    } else {
      return std::nullopt;
    }
  }
  return runs;
}

/// Whether a run of `source` may be read after other runs of `target` have been written.
inline bool apart(const Runs& target, const Runs& source) {
  const int64_t ahead =
      reinterpret_cast<intptr_t>(source.data) - reinterpret_cast<intptr_t>(target.data);
  if (source.partition_stride != target.partition_stride ||
      std::abs(ahead) >= target.partition_stride) {
    return false;
  }
  if (ahead == 0) return source.stride == target.stride;
  if (ahead >= target.extent() || -ahead >= source.extent()) return true;
  if (source.stride != target.stride) return false;
  const int64_t within = (ahead % target.stride + target.stride) % target.stride;
  return within >= target.bytes() && within + target.bytes() <= target.stride;
}

/// Partitions of runs of kLength elements, or of a multiple of them. By value: writes could change
/// what is referred to, as far as the compiler knows.
template <int64_t kLength, size_t kSources, typename Function>
__attribute__((noinline)) void map(const Runs target, const std::array<Runs, kSources> sources,
                                   int64_t partitions, Function function) {
  const auto map_block = [&]<size_t... kSource>(float* to, const auto& from,
                                                std::index_sequence<kSource...>) {
    float block[kLength];
    for (int64_t l = 0; l < kLength; ++l) block[l] = function(from[kSource][l]...);
    std::memcpy(to, block, sizeof block);
  };
  for (int64_t p = 0; p < partitions; ++p) {
    std::byte* to = target.data + p * target.partition_stride;
    std::array<const std::byte*, kSources> from;
    for (size_t i = 0; i < kSources; ++i)
      from[i] = sources[i].data + p * sources[i].partition_stride;
    for (int64_t run = 0; run < target.count; ++run) {
      for (int64_t start = 0; start < target.length; start += kLength) {
        std::array<const float*, kSources> read;
        for (size_t i = 0; i < kSources; ++i) {
          read[i] = reinterpret_cast<const float*>(from[i]) + start;
        }
        map_block(reinterpret_cast<float*>(to) + start, read, std::make_index_sequence<kSources>());
      }
      to += target.stride;
      for (size_t i = 0; i < kSources; ++i) from[i] += sources[i].stride;
    }
  }
}

}  // namespace short_runs

/// dst = function(sources...), element by element, of operands of 32 bits as floats, where their
/// rows are runs of one length, or dense. False, and nothing is done, where they are not, or where
/// all are dense.
template <size_t kSources, typename Function>
bool map_short_runs(const Access& dst, const std::array<const Access*, kSources>& sources,
                    Function function) {
  if (short_runs::is_one_run(dst) &&
      std::all_of(sources.begin(), sources.end(),
                  [](const Access* source) { return short_runs::is_one_run(*source); })) {
    return false;
  }
  auto target = short_runs::runs_of(dst);
  if (!target) return false;
  std::array<short_runs::Runs, kSources> read;
  const short_runs::Runs* shape = target->dense() ? nullptr : &*target;
  for (size_t i = 0; i < kSources; ++i) {
    const auto runs = short_runs::runs_of(*sources[i]);
    if (!runs) return false;
    read[i] = *runs;
    if (!runs->dense()) shape = &read[i];
  }
  if (shape == nullptr) return false;
  const int64_t count = shape->count, length = shape->length;
  const auto fits = [&](short_runs::Runs& runs) {
    if (runs.dense() && runs.length == count * length) runs.split(count);
    return runs.count == count && runs.length == length;
  };
  if (!fits(*target)) return false;
  for (short_runs::Runs& runs : read) {
    if (!fits(runs) || !short_runs::apart(*target, runs)) return false;
  }
  const auto run = [&]<int64_t kLength>(std::integral_constant<int64_t, kLength>) {
    short_runs::map<kLength>(*target, read, dst.partitions, function);
    return true;
  };
  switch (length) {
    case 1: return run(std::integral_constant<int64_t, 1>());
    case 2: return run(std::integral_constant<int64_t, 2>());
    case 4: return run(std::integral_constant<int64_t, 4>());
    case 8: return run(std::integral_constant<int64_t, 8>());
    default: return length % 16 == 0 && run(std::integral_constant<int64_t, 16>());
  }
}

}  // namespace neuron_sim
