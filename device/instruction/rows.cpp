#include "device/instruction/rows.h"

#include <cstring>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

/// A free pattern as up to three outer dimensions around one innermost run of strided elements.
struct Runs {
  std::array<Dimension, kMaximumFreeDimensions - 1> outer{};
  int64_t length = 1;
  int64_t stride = 0;
  bool empty = false;
};

/// Merges adjacent dimensions whose strides allow it, so that runs are as long as possible.
Runs find_runs(const Access& access) {
  Runs runs;
  if (access.rank == 1) {  // the common case, without the search
    runs.length = access.free[0].size;
    runs.stride = access.free[0].stride;
    runs.empty = runs.length == 0;
    return runs;
  }
  std::array<Dimension, kMaximumFreeDimensions> merged{};
  int count = 0;
  for (int i = access.rank - 1; i >= 0; --i) {  // innermost first
    const Dimension& next = access.free[static_cast<size_t>(i)];
    if (next.size == 0) runs.empty = true;
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
    runs.length = merged[0].size;
    runs.stride = merged[0].stride;
  } else {
    runs.stride = itemsize(access.dtype);
  }
  for (int i = 1; i < count; ++i) {
    runs.outer[runs.outer.size() - static_cast<size_t>(i)] = merged[static_cast<size_t>(i)];
  }
  return runs;
}

/// Calls visit(byte offset, first element index) for each run, in row-major order.
template <typename Visit>
void for_each_run(const Runs& runs, Visit visit) {
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
  const Runs runs = find_runs(access);
  for_each_run(runs, [&](int64_t offset, int64_t element) {
    load_floats(data + offset, access.dtype, runs.stride, values + element, runs.length);
  });
  return values;
}

void write_row(const Access& access, int64_t partition, const float* values) {
  std::byte* data = access.partition(partition);
  if (reinterpret_cast<const std::byte*>(values) == data && is_plain_fp32(access)) return;
  const Runs runs = find_runs(access);
  for_each_run(runs, [&](int64_t offset, int64_t element) {
    store_floats(values + element, data + offset, access.dtype, runs.stride, runs.length);
  });
}

float* row_target(const Access& access, int64_t partition, std::vector<float>& buffer) {
  if (is_plain_fp32(access)) return reinterpret_cast<float*>(access.partition(partition));
  return grow(buffer, access.elements());
}

const int64_t* read_integer_row(const Access& access, int64_t partition,
                                std::vector<int64_t>& buffer) {
  const std::byte* data = access.partition(partition);
  int64_t* values = grow(buffer, access.elements());
  const Runs runs = find_runs(access);
  for_each_run(runs, [&](int64_t offset, int64_t element) {
    load_integers(data + offset, access.dtype, runs.stride, values + element, runs.length);
  });
  return values;
}

void write_integer_row(const Access& access, int64_t partition, const int64_t* values) {
  std::byte* data = access.partition(partition);
  const Runs runs = find_runs(access);
  for_each_run(runs, [&](int64_t offset, int64_t element) {
    store_integers(values + element, data + offset, access.dtype, runs.stride, runs.length);
  });
}

void copy_row(const Access& source, int64_t source_partition, const Access& target,
              int64_t target_partition) {
  const int64_t size = itemsize(source.dtype);
  require(size == itemsize(target.dtype), "copy_row needs equal element sizes");
  require(source.elements() == target.elements(), "copy_row needs equal element counts");
  const std::byte* from = source.partition(source_partition);
  std::byte* to = target.partition(target_partition);
  const Runs reads = find_runs(source);
  const Runs writes = find_runs(target);
  if (reads.length == source.elements()) {
    for_each_run(writes, [&](int64_t offset, int64_t element) {
      copy_run(from + element * reads.stride, reads.stride, to + offset, writes.stride, size,
               writes.length);
    });
  } else if (writes.length == target.elements()) {
    for_each_run(reads, [&](int64_t offset, int64_t element) {
      copy_run(from + offset, reads.stride, to + element * writes.stride, writes.stride, size,
               reads.length);
    });
  } else {  // two patterns of several runs: through a dense row
    std::vector<std::byte>& row = row_scratch().bytes;
    std::byte* dense = grow(row, source.elements() * size);
    for_each_run(reads, [&](int64_t offset, int64_t element) {
      copy_run(from + offset, reads.stride, dense + element * size, size, size, reads.length);
    });
    for_each_run(writes, [&](int64_t offset, int64_t element) {
      copy_run(dense + element * size, size, to + offset, writes.stride, size, writes.length);
    });
  }
}

void cast_row(const Access& source, int64_t source_partition, const Access& target,
              int64_t target_partition, bool exact) {
  if (exact && source.dtype == target.dtype) {
    return copy_row(source, source_partition, target, target_partition);
  }
  write_row(target, target_partition, read_row(source, source_partition, row_scratch().first));
}

float read_scalar(const Access& access, int64_t partition) {
  float value = 0;
  load_floats(access.partition(partition), access.dtype, 0, &value, 1);
  return value;
}

RowScratch& row_scratch() {
  thread_local RowScratch scratch;
  return scratch;
}

}  // namespace neuron_sim
