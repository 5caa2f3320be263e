#include "device/instruction/rows.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "device/base/errors.h"
#include "device/instruction/short_runs.h"

namespace neuron_sim {
namespace {

/// Merges adjacent dimensions whose strides allow it, so that runs are as long as possible.
RowPattern merged_pattern(const Access& access) {
  RowPattern pattern;
  std::array<Dimension, kMaximumFreeDimensions> merged{};
  int count = 0;
  for (int i = access.rank - 1; i >= 0; --i) {  // innermost first
    const Dimension& next = access.free[static_cast<size_t>(i)];
    if (next.size == 0) pattern.empty = true;
    if (next.size == 1) continue;
    if (count > 0) {
      Dimension& last = merged[static_cast<size_t>(count - 1)];
      if (next.stride == last.stride * last.size) {
        last.size *= next.size;
        continue;
      }
    }
    merged[static_cast<size_t>(count++)] = next;
  }
  if (count > 0) {
    pattern.length = merged[0].size;
    pattern.stride = merged[0].stride;
  } else {
    pattern.stride = itemsize(access.dtype);
  }
  for (int i = 1; i < count; ++i) {
    pattern.outer[pattern.outer.size() - static_cast<size_t>(i)] = merged[static_cast<size_t>(i)];
  }
  pattern.single = count <= 1;
  return pattern;
}

RowPattern find_runs(const Access& access) {
  RowPattern pattern;
  int outer = 0;
  while (outer + 1 < access.rank && access.free[static_cast<size_t>(outer)].size == 1) ++outer;
  if (outer + 1 == access.rank) {  // the common case, without the search
    const Dimension& inner = access.free[static_cast<size_t>(outer)];
    pattern.length = inner.size;
    pattern.stride = inner.stride;
    pattern.empty = pattern.length == 0;
    pattern.single = true;
  } else {
    pattern = merged_pattern(access);
  }
  const bool gapless = pattern.length == 1 || pattern.stride == int64_t{sizeof(float)};
  pattern.plain = access.dtype == Dtype::kFloat32 && pattern.single && gapless;
  return pattern;
}

/// Calls visit(byte offset, first element index) for each run, in row-major order.
template <typename Visit>
void for_each_run(const RowPattern& runs, Visit visit) {
  if (runs.empty) return;
  const auto& [a, b, c] = runs.outer;
  int64_t element = 0;
  for (int64_t i = 0; i < a.size; ++i) {
    for (int64_t j = 0; j < b.size; ++j) {
      for (int64_t k = 0; k < c.size; ++k) {
        visit(i * a.stride + j * b.stride + k * c.stride, element);
        element += runs.length;
      }
    }
  }
}

/// for_each_run() of gapless runs of a few words of fp32: visit(byte offset, element, bytes), where
/// the compiler knows the bytes. False, and nothing, for other runs.
template <typename Visit>
bool for_each_short_run(const RowPattern& runs, Dtype dtype, Visit visit) {
  if (dtype != Dtype::kFloat32 || runs.stride != int64_t{sizeof(float)}) return false;
  const auto visit_all = [&]<size_t kBytes>(std::integral_constant<size_t, kBytes> bytes) {
    for_each_run(runs, [&](int64_t offset, int64_t element) { visit(offset, element, bytes); });
    return true;
  };
  switch (runs.length) {
    case 2: return visit_all(std::integral_constant<size_t, 8>());
    case 4: return visit_all(std::integral_constant<size_t, 16>());
    case 8: return visit_all(std::integral_constant<size_t, 32>());
    case 16: return visit_all(std::integral_constant<size_t, 64>());
    default: return false;
  }
}

void load_runs(const std::byte* data, Dtype dtype, const RowPattern& runs, float* values) {
  const auto copy = [&](int64_t offset, int64_t element, auto bytes) {
    std::memcpy(values + element, data + offset, bytes);
  };
  if (for_each_short_run(runs, dtype, copy)) return;
  for_each_run(runs, [&](int64_t offset, int64_t element) {
    load_floats(data + offset, dtype, runs.stride, values + element, runs.length);
  });
}

void store_runs(const float* values, std::byte* data, Dtype dtype, const RowPattern& runs) {
  const auto copy = [&](int64_t offset, int64_t element, auto bytes) {
    std::memcpy(data + offset, values + element, bytes);
  };
  if (for_each_short_run(runs, dtype, copy)) return;
  for_each_run(runs, [&](int64_t offset, int64_t element) {
    store_floats(values + element, data + offset, dtype, runs.stride, runs.length);
  });
}

/// True when the free pattern is one gapless run of fp32, usable as a float array.
bool is_plain_fp32(const Access& access) {
  if (access.dtype != Dtype::kFloat32) return false;
  int64_t expected = static_cast<int64_t>(sizeof(float));
  for (int i = access.rank - 1; i >= 0; --i) {
    const Dimension& dimension = access.free[static_cast<size_t>(i)];
    if (dimension.size == 1) continue;
    if (dimension.stride != expected) return false;
    expected *= dimension.size;
  }
  return true;
}

template <typename Value>
Value* grow(std::vector<Value>& buffer, int64_t count) {
  if (static_cast<int64_t>(buffer.size()) < count) buffer.resize(static_cast<size_t>(count));
  return buffer.data();
}

template <size_t kBytes>
void copy_elements(const std::byte* source, int64_t source_stride, std::byte* target,
                   int64_t target_stride, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(target + i * target_stride, source + i * source_stride, kBytes);
  }
}

void copy_run(const std::byte* source, int64_t source_stride, std::byte* target,
              int64_t target_stride, int64_t size, int64_t count) {
  if (source_stride == size && target_stride == size) {
    std::memmove(target, source, static_cast<size_t>(size * count));
    return;
  }
  switch (size) {
    case 1: return copy_elements<1>(source, source_stride, target, target_stride, count);
    case 2: return copy_elements<2>(source, source_stride, target, target_stride, count);
    default: return copy_elements<4>(source, source_stride, target, target_stride, count);
  }
}

}  // namespace

const float* read_row(const Access& access, int64_t partition, std::vector<float>& buffer) {
  const std::byte* data = access.partition(partition);
  if (is_plain_fp32(access)) return reinterpret_cast<const float*>(data);
  float* values = grow(buffer, access.elements());
  load_runs(data, access.dtype, find_runs(access), values);
  return values;
}

void write_row(const Access& access, int64_t partition, const float* values) {
  std::byte* data = access.partition(partition);
  if (reinterpret_cast<const std::byte*>(values) == data && is_plain_fp32(access)) return;
  store_runs(values, data, access.dtype, find_runs(access));
}

float* row_target(const Access& access, int64_t partition, std::vector<float>& buffer) {
  if (is_plain_fp32(access)) return reinterpret_cast<float*>(access.partition(partition));
  return grow(buffer, access.elements());
}

RowReader::RowReader(const Access& access, std::vector<float>& buffer)
    : access_(access), pattern_(find_runs(access)), count_(access.elements()) {
  if (!pattern_.plain) buffer_ = grow(buffer, count_);
}

const float* RowReader::load(const std::byte* data) const {
  if (repeats()) {
    load_floats(data, access_.dtype, 0, buffer_, 1);
    std::fill(buffer_ + 1, buffer_ + count_, buffer_[0]);
    return buffer_;
  }
  load_runs(data, access_.dtype, pattern_, buffer_);
  return buffer_;
}

RowWriter::RowWriter(const Access& access, std::vector<float>& buffer)
    : access_(access), pattern_(find_runs(access)) {
  if (!pattern_.plain) buffer_ = grow(buffer, access.elements());
}

void RowWriter::store(std::byte* data, const float* values) const {
  store_runs(values, data, access_.dtype, pattern_);
}

const int64_t* read_integer_row(const Access& access, int64_t partition,
                                std::vector<int64_t>& buffer) {
  const std::byte* data = access.partition(partition);
  int64_t* values = grow(buffer, access.elements());
  const RowPattern runs = find_runs(access);
  for_each_run(runs, [&](int64_t offset, int64_t element) {
    load_integers(data + offset, access.dtype, runs.stride, values + element, runs.length);
  });
  return values;
}

void write_integer_row(const Access& access, int64_t partition, const int64_t* values) {
  std::byte* data = access.partition(partition);
  const RowPattern runs = find_runs(access);
  for_each_run(runs, [&](int64_t offset, int64_t element) {
    store_integers(values + element, data + offset, access.dtype, runs.stride, runs.length);
  });
}

namespace {

/// Copies `elements` elements of `size` bytes of one row.
void copy_pattern(const std::byte* from, const RowPattern& reads, std::byte* to,
                  const RowPattern& writes, int64_t size, int64_t elements) {
  if (reads.single) {
    for_each_run(writes, [&](int64_t offset, int64_t element) {
      copy_run(from + element * reads.stride, reads.stride, to + offset, writes.stride, size,
               writes.length);
    });
  } else if (writes.single) {
    for_each_run(reads, [&](int64_t offset, int64_t element) {
      copy_run(from + offset, reads.stride, to + element * writes.stride, writes.stride, size,
               reads.length);
    });
  } else {  // two patterns of several runs: through a dense row
    std::byte* dense = grow(row_scratch().bytes, elements * size);
    for_each_run(reads, [&](int64_t offset, int64_t element) {
      copy_run(from + offset, reads.stride, dense + element * size, size, size, reads.length);
    });
    for_each_run(writes, [&](int64_t offset, int64_t element) {
      copy_run(dense + element * size, size, to + offset, writes.stride, size, writes.length);
    });
  }
}

void check_copy(const Access& source, const Access& target) {
  require(itemsize(source.dtype) == itemsize(target.dtype), "copy_row needs equal element sizes");
  require(source.elements() == target.elements(), "copy_row needs equal element counts");
}

}  // namespace

void copy_row(const Access& source, int64_t source_partition, const Access& target,
              int64_t target_partition) {
  check_copy(source, target);
  copy_pattern(source.partition(source_partition), find_runs(source),
               target.partition(target_partition), find_runs(target), itemsize(source.dtype),
               source.elements());
}

bool are_words(bool bitwise, std::initializer_list<const Access*> operands) {
  return std::all_of(operands.begin(), operands.end(), [bitwise](const Access* access) {
    return access->dtype == Dtype::kInt32 || (bitwise && itemsize(access->dtype) == 4);
  });
}

Access as_words(const Access& access) {
  Access words = access;
  words.dtype = Dtype::kFloat32;
  return words;
}

void cast_row(const Access& source, int64_t source_partition, const Access& target,
              int64_t target_partition, bool exact) {
  if (exact && source.dtype == target.dtype) {
    return copy_row(source, source_partition, target, target_partition);
  }
  write_row(target, target_partition, read_row(source, source_partition, row_scratch().first));
}

void cast_rows(const Access& source, const Access& target, bool exact) {
  if (exact && source.dtype == target.dtype) {
    check_copy(source, target);
    if (map_short_runs<1>(target, {&source}, [](float bits) { return bits; })) return;
    const RowPattern reads = find_runs(source), writes = find_runs(target);
    const int64_t size = itemsize(source.dtype), elements = source.elements();
    if (reads.single && writes.single && reads.stride == size && writes.stride == size) {
      for (int64_t p = 0; p < target.partitions; ++p) {
        std::memmove(target.partition(p), source.partition(p),
                     static_cast<size_t>(size * elements));
      }
      return;
    }
    for (int64_t p = 0; p < target.partitions; ++p) {
      copy_pattern(source.partition(p), reads, target.partition(p), writes, size, elements);
    }
    return;
  }
  const RowReader read(source, row_scratch().first);
  const RowWriter writer(target, row_scratch().result);
  for (int64_t p = 0; p < target.partitions; ++p) writer.write(p, read(p));
}

float read_scalar(const Access& access, int64_t partition) {
  float value = 0;
  if (access.dtype == Dtype::kFloat32) {
    std::memcpy(&value, access.partition(partition), sizeof value);
    return value;
  }
  load_floats(access.partition(partition), access.dtype, 0, &value, 1);
  return value;
}

namespace {

/// Bytes from the first of a partition to the one after its last.
int64_t row_extent(const Access& access) {
  int64_t extent = itemsize(access.dtype);
  for (int i = 0; i < access.rank; ++i) {
    const Dimension& dimension = access.free[static_cast<size_t>(i)];
    extent += (dimension.size - 1) * dimension.stride;
  }
  return extent;
}

}  // namespace

bool reads_may_precede_writes(const Access& read, const Access& written, int64_t partitions) {
  if (!read.present() || !written.present() || partitions <= 1) return true;
  const int64_t stride = written.partition_stride;
  if (read.partition_stride != stride) return false;
  const int64_t ahead =
      reinterpret_cast<intptr_t>(written.data) - reinterpret_cast<intptr_t>(read.data);
  return ahead + row_extent(written) <= stride ||
         ahead >= (partitions - 1) * stride + row_extent(read);
}

RowScratch& row_scratch() {
  thread_local RowScratch scratch;
  return scratch;
}

}  // namespace neuron_sim
