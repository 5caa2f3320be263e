#include "device/tracing/view_shapes.h"

#include <algorithm>

#include "device/base/errors.h"
#include "device/tracing/access_pattern.h"

namespace neuron_sim::tracing {

int64_t element_count(std::span<const int64_t> sizes) {
  int64_t count = 1;
  for (const int64_t size : sizes) {
    if (size == 0) return 0;
    count = saturated_product(count, size);
  }
  return count;
}

namespace {

[[noreturn]] void refuse(const TensorView& view, const char* what, const std::string& why,
                         ErrorKind kind = ErrorKind::kValue) {
  fail(text(what, " of '", kTensorName, text_of(view.shape), "': ", why), kind);
}

[[noreturn]] void refuse_shape(const TensorView& view, const Sizes& sizes, const std::string& why) {
  fail(text("cannot reshape tensor '", kTensorName, text_of(view.shape), "' to ", text_of(sizes),
            ": ", why));
}

/// The first of the free dimensions, which in HBM all of them are.
size_t first_free(const TensorView& view) {
  return view.axis < 0 ? 0 : static_cast<size_t>(view.axis) + 1;
}

/// Appends the steps of dimensions first .. last - 1 of `sizes` over the elements of some
/// dimensions; false when those are not adjacent as the sizes need them.
bool append_steps(std::vector<Dimension> from, std::span<const int64_t> sizes, Sizes& steps) {
  merge(from, 0);
  const size_t begin = steps.size();
  steps.resize(begin + sizes.size(), 1);
  int64_t step = from.back().stride, left = from.back().size;
  for (size_t i = sizes.size(); i-- > 0;) {
    while (sizes[i] != 1 && left == 1 && from.size() > 1) {
      from.pop_back();
      step = from.back().stride;
      left = from.back().size;
    }
    if (left % sizes[i] != 0) return false;
    steps[begin + i] = step;
    step = saturated_product(step, sizes[i]);
    left /= sizes[i];
  }
  return true;
}

/// Fills in a size of -1.
void infer_size(Sizes& sizes, int64_t count) {
  if (std::count(sizes.begin(), sizes.end(), -1) != 1) return;
  int64_t& size = *std::find(sizes.begin(), sizes.end(), -1);
  size = 1;
  const int64_t known = element_count(sizes);
  size = known > 0 ? count / known : 0;
}

/// Where the partition dimension is in a new shape: after the same number of blocks.
size_t place_of_partitions(const TensorView& view, const Sizes& sizes) {
  const auto axis = static_cast<size_t>(view.axis);
  const int64_t blocks = element_count(std::span<const int64_t>(view.shape).first(axis));
  for (size_t d = 0; d < sizes.size(); ++d) {
    const bool is_there = sizes[d] == view.shape[axis];
    if (is_there && element_count(std::span<const int64_t>(sizes).first(d)) == blocks) return d;
  }
  refuse_shape(
      view, sizes,
      text("the partition dimension of size ", view.shape[axis], " cannot be split or merged."));
}

}  // namespace

TensorView reshaped(const TensorView& view, Sizes sizes) {
  const int64_t count = element_count(view.shape);
  infer_size(sizes, count);
  const bool is_shape = std::all_of(sizes.begin(), sizes.end(), [](int64_t n) { return n >= 0; });
  if (!is_shape || element_count(sizes) != count) {
    refuse_shape(view, sizes, "the number of elements differs.");
  }
  TensorView result = view;
  result.shape = sizes;
  if (view.axis >= 0) result.axis = static_cast<int>(place_of_partitions(view, sizes));
  if (count == 0) {  // of which any steps are right
    result.steps = TensorView::dense(sizes, result.axis).steps;
    return result;
  }
  const auto dimensions = [&view](size_t first, size_t last) {
    std::vector<Dimension> made;
    for (size_t d = first; d < last; ++d) made.push_back({view.shape[d], view.steps[d]});
    return made;
  };
  const auto before = static_cast<size_t>(std::max(view.axis, 0));
  const auto own = static_cast<size_t>(std::max(result.axis, 0));
  const std::span<const int64_t> wanted(sizes);
  result.steps = {};
  bool has_steps = append_steps(dimensions(0, before), wanted.first(own), result.steps);
  if (view.axis >= 0) result.steps.push_back(view.steps[before]);
  const size_t partitions = view.axis >= 0 ? 1 : 0;
  has_steps = has_steps && append_steps(dimensions(before + partitions, view.shape.size()),
                                        wanted.subspan(own + partitions), result.steps);
  if (!has_steps) refuse_shape(view, sizes, "its elements are not adjacent in memory.");
  return result;
}

TensorView broadcast_to(const TensorView& view, const Sizes& sizes) {
  const size_t rank = view.shape.size();
  const size_t lead = first_free(view);
  const size_t missing = sizes.size() - std::min(rank, sizes.size());
  TensorView result = view;
  result.shape = sizes;
  result.steps = Sizes(sizes.size(), 0);
  bool fits = sizes.size() >= rank;
  for (size_t d = 0; fits && d < rank; ++d) {
    const size_t to = d < lead ? d : d + missing;
    if (sizes[to] == view.shape[d]) {
      result.steps[to] = view.steps[d];
    } else {
      fits = d >= lead && view.shape[d] == 1;
    }
  }
  fits = fits && std::all_of(sizes.begin(), sizes.end(), [](int64_t size) { return size >= 0; });
  if (fits) return result;
  fail(text("cannot broadcast tensor '", kTensorName, text_of(view.shape), "' to shape ",
            text_of(sizes), "."));
}

TensorView with_new_axes(const TensorView& view, std::span<const int64_t> axes) {
  TensorView result = view;
  for (const int64_t axis : axes) {
    const auto rank = static_cast<int64_t>(result.shape.size());
    const int64_t place = axis < 0 ? axis + rank + 1 : axis;
    if (place <= view.axis || place < 0 || place > rank) {
      refuse(view, "expand_dims", text("no dimension can be added at ", axis, "."));
    }
    result.append(1, 0);
    std::rotate(result.shape.begin() + place, result.shape.end() - 1, result.shape.end());
    std::rotate(result.steps.begin() + place, result.steps.end() - 1, result.steps.end());
  }
  return result;
}

TensorView without_axis(const TensorView& view, size_t d) {
  TensorView result = view;
  result.shape.erase(result.shape.begin() + d);
  result.steps.erase(result.steps.begin() + d);
  if (static_cast<int>(d) < view.axis) --result.axis;
  return result;
}

TensorView permuted(const TensorView& view, std::span<const int64_t> order, int fixed) {
  const size_t rank = view.shape.size();
  Sizes count(rank, 0);
  for (const int64_t d : order) {
    if (d >= 0 && d < static_cast<int64_t>(rank)) ++count[static_cast<size_t>(d)];
  }
  if (order.size() != rank || count != Sizes(rank, 1)) {
    std::string names;
    for (const int64_t d : order) names += text(names.empty() ? "" : ", ", d);
    refuse(view, "permute", text("[", names, "] does not name each of its dimensions once."));
  }
  if (fixed >= 0 && order[static_cast<size_t>(fixed)] != fixed) {
    refuse(view, "permute",
           text("dimension ", fixed, " is the partition dimension, which stays as it is."));
  }
  TensorView result = view;
  for (size_t i = 0; i < rank; ++i) {
    result.shape[i] = view.shape[static_cast<size_t>(order[i])];
    result.steps[i] = view.steps[static_cast<size_t>(order[i])];
  }
  return result;
}

TensorView reinterpreted(const TensorView& view, int64_t old_bytes, int64_t new_bytes) {
  if (old_bytes == new_bytes) return view;
  TensorView result = view;
  const size_t rank = view.shape.size(), last = rank - 1;
  if (rank == 0 || view.axis == static_cast<int>(last) ||
      view.shape[last] * old_bytes % new_bytes != 0 ||
      (view.shape[last] > 1 && view.steps[last] != 1)) {
    fail(text("view of '", kTensorName, text_of(view.shape), "' with elements of ", new_bytes,
              " bytes: the bytes of the last dimension must be contiguous and a whole number of "
              "elements."));
  }
  result.shape[last] = view.shape[last] * old_bytes / new_bytes;
  result.steps[last] = 1;
  for (size_t d = 0; d < last; ++d) {
    if (static_cast<int>(d) == view.axis) continue;
    int64_t bytes = 0;
    add_product(bytes, view.steps[d], old_bytes);
    if (bytes % new_bytes != 0) {
      refuse(view, "view",
             text("stride ", view.steps[d], " of dimension ", d,
                  " is not a whole number of elements of ", new_bytes, " bytes."));
    }
    result.steps[d] = bytes / new_bytes;
  }
  const IndexExpression first = scaled({view.start, {}, {}}, old_bytes);
  const Division start = divide(first, new_bytes);
  if (!start.remainder.is_number()) {
    LoopsNeeded needed;
    for (const Term& term : start.remainder.position.terms) needed.loops.push_back(term.loop);
    throw needed;
  }
  if (start.remainder.position.constant != 0) {
    refuse(view, "view",
           text("its start is not a whole number of elements of ", new_bytes, " bytes."));
  }
  result.start = start.quotient.position;
  return result;
}

bool is_contiguous(const TensorView& view) {
  int64_t step = 1;
  for (size_t d = view.shape.size(); d-- > first_free(view);) {
    if (view.shape[d] != 1 && view.steps[d] != step) return false;
    step = saturated_product(step, view.shape[d]);
  }
  return true;
}

}  // namespace neuron_sim::tracing
