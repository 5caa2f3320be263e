#include "csrc/aten/indexing/index_bounds.h"

#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <utility>

#include "csrc/aten/dispatch/fallback.h"
#include "csrc/aten/dispatch/host_step.h"
#include "csrc/launch/tensor_access.h"
#include "device/memory/write_watch.h"
#include "device/runtime/timing_only.h"

namespace neuron_sim {
namespace {

using at::IntArrayRef;
using at::Tensor;

[[noreturn]] void refuse(int64_t index, const IndexBounds& bounds) {
  switch (bounds.error) {
    case OutOfBounds::kRowOfSelf: TORCH_CHECK_INDEX(false, "index out of range in self");
    case OutOfBounds::kDimension:
      TORCH_CHECK_INDEX(bounds.size > 0, "index is out of bounds for dimension with size 0");
      TORCH_CHECK_INDEX(false, "index ", index, " is out of bounds for dimension ",
                        bounds.dimension, " with size ", bounds.size);
    case OutOfBounds::kCopiedRow:
      TORCH_CHECK_INDEX(false, "index_copy_(): index ", index, " is out of bounds for dimension ",
                        bounds.dimension, " with size ", bounds.size);
    case OutOfBounds::kTaken:
      TORCH_CHECK_INDEX(false, "out of range: tried to access index ", index, " on a tensor of ",
                        bounds.size, " elements.");
    case OutOfBounds::kTarget: TORCH_CHECK_INDEX(false, "Target ", index, " is out of bounds.");
    case OutOfBounds::kElement:
      TORCH_CHECK(false, "index ", index, " is out of bounds for dimension ", bounds.dimension,
                  " with size ", bounds.size);
    case OutOfBounds::kSelectedSlice:
      TORCH_CHECK(false, "INDICES element is out of DATA bounds, id=", index,
                  " axis_dim=", bounds.size);
  }
  TORCH_CHECK(false, "index ", index, " is out of bounds");
}

/// Calls `visit` with the offset of every place of a tensor with these strides, in row-major order.
template <typename Visit>
void for_each_offset(IntArrayRef sizes, IntArrayRef strides, Visit visit) {
  if (c10::multiply_integers(sizes) == 0) return;
  const auto dimensions = static_cast<int64_t>(sizes.size());
  const int64_t length = sizes.empty() ? 1 : sizes.back(),
                step = sizes.empty() ? 0 : strides.back();
  at::DimVector place(sizes.size(), 0);
  for (int64_t offset = 0, dimension = 0; dimension >= 0;) {
    for (int64_t i = 0; i < length; ++i) visit(offset + i * step);
    for (dimension = dimensions - 2; dimension >= 0; --dimension) {
      const auto at = static_cast<size_t>(dimension);
      offset += strides[at];
      if (++place[at] < sizes[at]) break;
      offset -= strides[at] * sizes[at];
      place[at] = 0;
    }
  }
}

/// Calls `visit` with every index, those from the end made positive. Errors as check_bounds().
template <typename Visit>
void for_each_index(const Tensor& indices, const IndexBounds& bounds, Visit visit) {
  const auto checked = [&](int64_t index) {
    const bool within = index < bounds.size && index >= (bounds.from_end ? -bounds.size : 0);
    if (!within) refuse(index, bounds);
    visit(index < 0 ? index + bounds.size : index);
  };
  const std::byte* const memory = backing(indices);
  if (indices.scalar_type() == at::kLong) {
    const auto* const values = reinterpret_cast<const int64_t*>(memory);
    for_each_offset(indices.sizes(), indices.strides(), [&](int64_t at) { checked(values[at]); });
  } else {
    const auto* const values = reinterpret_cast<const int32_t*>(memory);
    for_each_offset(indices.sizes(), indices.strides(), [&](int64_t at) { checked(values[at]); });
  }
}

int64_t* elements(const Tensor& tensor) { return reinterpret_cast<int64_t*>(backing(tensor)); }

/// `tensor`, whose memory the host has written.
Tensor written(const Tensor& tensor) {
  const std::byte* const begin = backing(tensor);
  note_write({begin, begin + tensor_bytes(tensor).count});
  return tensor;
}

Tensor add_rows(const std::vector<IndexedDimension>& dimensions, IntArrayRef steps) {
  const Tensor& first = dimensions.front().indices;
  Tensor rows = at::empty(first.sizes(), first.options().dtype(at::kLong));
  if (timing_only()) return rows;
  int64_t* next = elements(rows);
  for_each_offset(rows.sizes(), steps, [&](int64_t offset) { *next++ = offset; });
  for (const IndexedDimension& dimension : dimensions) {
    next = elements(rows);
    for_each_index(dimension.indices, dimension.bounds,
                   [&](int64_t index) { *next++ += index * dimension.stride; });
  }
  return written(rows);
}

/// A compiled graph replays operators, whose arguments are tensors and numbers.
using BoundsAsNumbers = std::vector<int64_t>;

void add_numbers(const IndexBounds& bounds, BoundsAsNumbers& numbers) {
  numbers.insert(numbers.end(), {bounds.size, static_cast<int64_t>(bounds.error), bounds.dimension,
                                 static_cast<int64_t>(bounds.from_end)});
}
IndexBounds bounds_of(IntArrayRef numbers) {
  return {numbers[0], static_cast<OutOfBounds>(numbers[1]), numbers[2], numbers[3] != 0};
}

void check_bounds_step(const Tensor& indices, IntArrayRef bounds) {
  for_each_index(indices, bounds_of(bounds), [](int64_t) {});
}

Tensor row_numbers_step(at::TensorList indices, IntArrayRef numbers, IntArrayRef steps) {
  constexpr size_t kNumbers = 5;  // of a dimension
  std::vector<IndexedDimension> dimensions;
  for (const Tensor& tensor : indices) {
    const IntArrayRef own = numbers.slice(dimensions.size() * kNumbers, kNumbers);
    dimensions.push_back({tensor, bounds_of(own), own.back()});
  }
  return add_rows(dimensions, steps);
}

Tensor last_of_equal_step(const Tensor& rows) {
  Tensor last = at::empty(rows.sizes(), rows.options());
  if (timing_only()) return last;
  const Tensor dense = rows.contiguous();
  const int64_t* const values = elements(dense);
  std::unordered_map<int64_t, int64_t> places;
  for (int64_t i = rows.numel() - 1; i >= 0; --i) {
    elements(last)[i] = places.try_emplace(values[i], i).first->second;
  }
  return last;
}

/// The sources, then the targets: [2, N].
Tensor segment_order_step(const Tensor& sources, const Tensor& targets) {
  const int64_t count = targets.numel();
  Tensor ordered = at::empty({2, count}, targets.options());
  if (timing_only()) return ordered;
  const int64_t *const source = elements(sources), *const target = elements(targets);
  std::vector<std::pair<int64_t, int64_t>> pairs;  // target, source
  pairs.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) pairs.emplace_back(target[i], source[i]);
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  int64_t* next = elements(ordered);
  for (const auto& pair : pairs) *next++ = pair.second;
  for (const auto& pair : pairs) *next++ = pair.first;
  return written(ordered);
}

Tensor equal_before_step(const Tensor& targets, int64_t distances) {
  const int64_t count = targets.numel();
  Tensor same = at::empty({distances, count}, targets.options().dtype(at::kBool));
  if (timing_only()) return same;
  const int64_t* const values = elements(targets);
  auto* next = reinterpret_cast<bool*>(backing(same));
  for (int64_t distance = 1; distances-- > 0; distance *= 2) {
    for (int64_t i = 0; i < count; ++i) {
      *next++ = i >= distance && values[i] == values[i - distance];
    }
  }
  return written(same);
}

Tensor counts_step(const Tensor& targets, int64_t size) {
  Tensor counts = at::empty({size}, targets.options());
  if (timing_only()) return counts;
  int64_t* const numbers = elements(counts);
  std::fill_n(numbers, size, 0);
  const int64_t* const named = elements(targets);
  for (int64_t i = 0; i < targets.numel(); ++i) ++numbers[named[i]];
  return written(counts);
}

/// The most equal elements of a sorted tensor beside each other; where values are not known, all.
int64_t longest_run(const Tensor& sorted) {
  const int64_t count = sorted.numel();
  if (!runs_at_once() || timing_only()) return count;
  const int64_t* const values = elements(sorted);
  int64_t longest = 1, run = 1;
  for (int64_t i = 1; i < count; ++i) {
    run = values[i] == values[i - 1] ? run + 1 : 1;
    longest = std::max(longest, run);
  }
  return longest;
}

}  // namespace

void check_bounds(const Tensor& indices, const IndexBounds& bounds) {
  if (timing_only()) return;
  BoundsAsNumbers numbers;
  add_numbers(bounds, numbers);
  run_host_step("neuron_sim_host::check_bounds", check_bounds_step, indices, numbers);
}

Tensor row_numbers(const std::vector<IndexedDimension>& dimensions, IntArrayRef steps) {
  std::vector<Tensor> indices;
  BoundsAsNumbers numbers;
  for (const IndexedDimension& dimension : dimensions) {
    indices.push_back(dimension.indices);
    add_numbers(dimension.bounds, numbers);
    numbers.push_back(dimension.stride);
  }
  return run_host_step("neuron_sim_host::row_numbers", row_numbers_step, indices, numbers,
                       steps.vec());
}

SegmentOrder segment_order(const Tensor& sources, const Tensor& targets) {
  const Tensor ordered =
      run_host_step("neuron_sim_host::segment_order", segment_order_step, sources, targets);
  SegmentOrder order{ordered.select(0, 0), ordered.select(0, 1), {}, 0};
  order.longest = longest_run(order.targets);
  const auto distances =
      static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(order.longest - 1)));
  order.same =
      run_host_step("neuron_sim_host::equal_before", equal_before_step, order.targets, distances);
  return order;
}

Tensor counts_of(const Tensor& targets, int64_t size) {
  return run_host_step("neuron_sim_host::counts", counts_step, targets, size);
}

Tensor last_of_equal(const Tensor& rows) {
  return run_host_step("neuron_sim_host::last_of_equal", last_of_equal_step, rows);
}

TORCH_LIBRARY_FRAGMENT(neuron_sim_host, m) {
  m.def("check_bounds(Tensor indices, int[] bounds) -> ()");
  m.def("row_numbers(Tensor[] indices, int[] bounds, int[] steps) -> Tensor");
  m.def("segment_order(Tensor sources, Tensor targets) -> Tensor");
  m.def("equal_before(Tensor targets, int distances) -> Tensor");
  m.def("counts(Tensor targets, int size) -> Tensor");
  m.def("last_of_equal(Tensor rows) -> Tensor");
}

TORCH_LIBRARY_IMPL(neuron_sim_host, PrivateUse1, m) {
  m.impl("check_bounds", check_bounds_step);
  m.impl("row_numbers", row_numbers_step);
  m.impl("segment_order", segment_order_step);
  m.impl("equal_before", equal_before_step);
  m.impl("counts", counts_step);
  m.impl("last_of_equal", last_of_equal_step);
}

}  // namespace neuron_sim
