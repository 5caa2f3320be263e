#include "device/tracing/tensor_view.h"

#include "device/base/errors.h"

namespace neuron_sim::tracing {

void out_of_bound(std::string_view name, int64_t dimension, const Bounds& index, int64_t size) {
  fail(text("Out-of-bound access for tensor `", name, "` on dimension ", dimension,
            ": index range [", index.low, ", ", index.high, "] exceed dimension size of ", size),
       ErrorKind::kIndex);
}

Bounds IndexCheck::bounds(const Sizes& shape) const {
  Bounds result = start.bounds();
  for (size_t d = 0; d < std::min(steps.size(), shape.size()); ++d) {
    const int64_t last = shape[d] - 1;
    const bool falls = steps[d] != 0 && last != 0 && (steps[d] < 0) != (last < 0);
    add_saturated(falls ? result.low : result.high, steps[d], last);
  }
  return result;
}

bool IndexCheck::holds(const Sizes& shape) const {
  const Bounds index = bounds(shape);
  return index.low >= 0 && index.high < size;
}

TensorView TensorView::dense(const Sizes& shape, int axis) {
  TensorView result;  // whose capacity that is not used stays as it is
  result.axis = axis;
  result.shape = shape;
  result.steps.resize(shape.size(), 1);
  for (int64_t step = 1, d = static_cast<int64_t>(shape.size()) - 1; d > axis; --d) {
    result.steps[static_cast<size_t>(d)] = step;  // saturates: no memory has so many elements
    if (__builtin_mul_overflow(step, shape[static_cast<size_t>(d)], &step)) step = INT64_MAX;
  }
  return result;
}

void TensorView::append(int64_t size, int64_t step) {
  if (shape.is_full()) fail(text("a tensor has more than ", kMaximumDimensions, " dimensions."));
  shape.push_back(size);
  steps.push_back(step);
}

void TensorView::move(const TensorView& of, size_t dimension, const Position& by) {
  Position& moved = static_cast<int>(dimension) == of.axis ? partition : start;
  moved.add(by, of.steps[dimension]);
}

namespace {

[[noreturn]] void refuse_stride(int64_t stride) {
  fail(text("tensor `", kTensorName, "`: partition stride ", stride, " is not supported."),
       ErrorKind::kIndex);
}

[[noreturn]] void too_many_indices(size_t rank, size_t count) {
  fail(text("too many indices for tensor `", kTensorName, "`: it has ", rank, " dimensions, ",
            count, " were indexed."),
       ErrorKind::kIndex);
}

}  // namespace

void TensorView::check_bounds() const {
  for (const IndexCheck& check : checks) {
    if (check.holds(shape)) continue;
    out_of_bound(kTensorName, check.dimension, check.bounds(shape), check.size);
  }
}

TensorView TensorView::narrowed(const Box& box) const {
  TensorView result = *this;
  Sizes moved(shape.size(), 0);
  for (size_t d = 0; d < std::min(shape.size(), box.first.size()); ++d) {
    if (shape[d] == 1) continue;
    moved[d] = box.first[d];
    result.shape[d] = box.last[d] - box.first[d];
    result.move(*this, d, moved[d]);
  }
  result.checks.clear();
  for (IndexCheck check : checks) {
    for (size_t d = 0; d < std::min(check.steps.size(), moved.size()); ++d) {
      add_product(check.start.constant, check.steps[d], moved[d]);
    }
    if (!check.holds(result.shape)) result.checks.push_back(check);
  }
  return result;
}

Range slice_range(const SliceBound* start, const SliceBound* stop, int64_t step, int64_t size) {
  if (step < 1) {
    fail(text("tensor `", kTensorName, "`: the step ", step, " of a slice is not positive."),
         ErrorKind::kIndex);
  }
  const auto position = [size](const SliceBound* bound, int64_t otherwise) {
    if (bound == nullptr) return Position(otherwise);
    Position result = bound->position;
    if (bound->is_number && result.constant < 0) result.constant += size;
    return result;
  };
  Range result{.start = position(start, 0), .step = step, .stays = true};
  Position extent = position(stop, size);
  extent.add(result.start, -1);
  if (!extent.terms.empty()) {
    LoopsNeeded needed;
    for (const Term& term : extent.terms) needed.loops.push_back(term.loop);
    throw needed;
  }
  result.count = extent.constant > 0 ? (extent.constant - 1) / step + 1 : 0;
  return result;
}

Subscript::Subscript(const TensorView& of) : old_(of) {
  made_.start = of.start;
  made_.partition = of.partition;
}

void Subscript::expect(size_t named, size_t added) {
  if (named > old_.shape.size()) too_many_indices(old_.shape.size(), named + added);
  named_ = named;
}

void Subscript::note(const Position& start, int64_t step) {
  if (old_.checks.empty()) return;
  Sizes steps(std::min(made_.shape.size() + 1, kMaximumDimensions), 0);
  steps[steps.size() - 1] = step;
  indexed_.push_back({start, steps});
}

/// Bounds that are known hold, or a mask may narrow them; others are checked later.
void Subscript::check(const Range& range, bool stays) {
  const int64_t size = next_size(), dimension = static_cast<int64_t>(next_);
  Bounds index = range.start.bounds();
  const bool is_known = range.start.terms.empty();
  const int64_t steps = is_known && range.count == 0 ? 0 : range.count - 1;
  if (stays) add_saturated(is_known || steps > 0 ? index.high : index.low, range.step, steps);
  if (index.low >= 0 && index.high < size) return;
  if (is_known && (index.low < 0 || !range.may_be_masked))
    out_of_bound(kTensorName, dimension, index, size);
  IndexCheck check{dimension, range.start, {}, size};
  if (stays) {
    check.steps.resize(std::min(made_.shape.size(), kMaximumDimensions - 1), 0);
    check.steps.push_back(range.step);
  }
  made_.checks.push_back(check);
}

void Subscript::take(const Range& range) {
  const size_t d = next_;
  const bool is_axis = static_cast<int>(d) == old_.axis, stays = is_axis || range.stays;
  check(range, stays);
  note(range.start, stays ? range.step : 0);
  if (is_axis) {
    if (range.step != 1 && range.count > 1) refuse_stride(range.step);
    made_.axis = static_cast<int>(made_.shape.size());
  }
  made_.move(old_, d, range.start);
  int64_t step = 0;
  add_product(step, old_.steps[d], is_axis ? 1 : range.step);
  if (stays) made_.append(range.count, step);
  ++next_;
}

void Subscript::keep(size_t count) {
  for (; count > 0; --count, ++next_) {
    if (static_cast<int>(next_) == old_.axis) made_.axis = static_cast<int>(made_.shape.size());
    note({}, 1);
    made_.append(old_.shape[next_], old_.steps[next_]);
  }
}

void Subscript::skip() { keep(old_.shape.size() - named_); }

void Subscript::add_axis() {
  if (static_cast<int>(next_) <= old_.axis) {
    fail(text("tensor `", kTensorName, "`: no dimension can be added before the partitions."),
         ErrorKind::kIndex);
  }
  made_.append(1, 0);
}

/// The step of the partition index: only along the first dimension of the tile, one by one.
void Subscript::index_partitions(size_t d, const IndexExpression& index) {
  const size_t missing = made_.shape.size() - index.shape.size();
  made_.steps[0] = 0;
  for (size_t j = 0; j < index.shape.size(); ++j) {
    const size_t along = missing + j;
    const int64_t step = index.step_in(j, made_.shape[along]);
    if (step == 0) continue;
    if (along != 0 && made_.shape[along] != 1) {
      fail(text("Failed to infer tile from tensor '", kTensorName,
                "': its partition dimension is indexed by dimension ", along,
                " of the tile; the first dimension of a tile is the partition dimension."),
           ErrorKind::kIndex);
    }
    if (along == 0 && step != 1 && made_.shape[0] > 1) refuse_stride(step);
    made_.steps[0] = old_.steps[d];
  }
}

/// steps[j] = sum over tensor dimensions d of step_d * coefficient of index d in j.
void Subscript::apply(size_t d, const IndexExpression& index, const Position& start) {
  const size_t missing = made_.shape.size() - index.shape.size();
  const bool is_axis = static_cast<int>(d) == old_.axis;
  Sizes steps(made_.shape.size(), 0);
  Bounds bounds = start.bounds();
  for (size_t j = 0; j < index.shape.size(); ++j) {
    const size_t along = missing + j;
    steps[along] = index.step_in(j, made_.shape[along]);
    bounds.add(steps[along], made_.shape[along] - 1);
    if (!is_axis) add_product(made_.steps[along], steps[along], old_.steps[d]);
  }
  if (bounds.low < 0 || bounds.high >= old_.shape[d]) {
    made_.checks.push_back({static_cast<int64_t>(d), start, steps, old_.shape[d]});
  }
  if (!old_.checks.empty()) indexed_.push_back({start, steps});
  if (is_axis) index_partitions(d, index);
}

void Subscript::gather(std::span<const GatherIndex> indices) {
  if (indices.size() > old_.shape.size()) too_many_indices(old_.shape.size(), indices.size());
  for (const GatherIndex& index : indices) {
    if (index.expression != nullptr) broadcast(made_.shape, index.expression->shape);
  }
  made_.steps.resize(made_.shape.size(), 0);
  if (made_.shape.size() < 2) {
    fail(text("indexing tensor `", kTensorName, "` with 1d arange is not supported"),
         ErrorKind::kIndex);
  }
  static const IndexExpression scalar{};
  for (size_t d = 0; d < indices.size(); ++d) {
    const auto& [expression, number] = indices[d];
    const Position start = expression != nullptr
                               ? expression->position
                               : Position(number < 0 ? number + old_.shape[d] : number);
    apply(d, expression != nullptr ? *expression : scalar, start);
    made_.move(old_, d, start);
  }
  const int count = static_cast<int>(indices.size()), rank = static_cast<int>(made_.shape.size());
  if (old_.axis >= 0) made_.axis = old_.axis < count ? 0 : rank + old_.axis - count;
  if (made_.axis == 0 && made_.steps[0] == 0 && made_.shape[0] == 1) made_.steps[0] = 1;
  next_ = indices.size();
  for (; next_ < old_.shape.size(); ++next_) {
    note({}, 1);
    made_.append(old_.shape[next_], old_.steps[next_]);
  }
}

/// The check of the tensor as one of what is selected, unless it holds there.
void Subscript::inherit(IndexCheck check) {
  const Sizes steps = check.steps;
  check.steps = Sizes(made_.shape.size(), 0);
  for (size_t d = 0; d < std::min(steps.size(), old_.shape.size()); ++d) {
    if (steps[d] == 0) continue;
    check.start.add(indexed_[d].start, steps[d]);
    for (size_t j = 0; j < std::min(indexed_[d].steps.size(), check.steps.size()); ++j) {
      check.steps[j] += steps[d] * indexed_[d].steps[j];
    }
  }
  if (!check.holds(made_.shape)) made_.checks.push_back(check);
}

TensorView Subscript::result() {
  keep(old_.shape.size() - next_);
  if (made_.axis >= 0 && made_.shape.size() < 2) made_.append(1, 1);
  for (const IndexCheck& check : old_.checks) inherit(check);
  return std::move(made_);
}

namespace {

/// Whether the elements that a view has of a partition follow each other in row-major order, and
/// how many they are.
bool is_dense(const TensorView& view, int64_t& row) {
  row = 1;
  for (size_t i = view.shape.size(); i-- > 1;) {
    if (view.shape[i] != 1 && view.steps[i] != row) return false;
    row *= view.shape[i];
  }
  return view.axis == 0;
}

}  // namespace

TensorView placed_pattern(const TensorView& of, TensorView pattern, const IndexExpression& offset,
                          int64_t row) {
  const bool in_storage = pattern.steps[0] == row || pattern.shape[0] == 1;
  int64_t own = row;
  if (!in_storage && (!is_dense(of, own) || pattern.steps[0] != own)) {
    fail(text("ap of '", kTensorName, text_of(of.shape), "': the step ", pattern.steps[0],
              " of the partition dimension must be the ", row, " elements of a partition."));
  }
  const Division place = divide(offset, own);
  pattern.partition = place.quotient.position;
  pattern.start = place.remainder.position;
  if (!in_storage) {
    pattern.partition.add(of.partition);
    pattern.start.add(of.start);
  }
  pattern.axis = 0;
  pattern.steps[0] = 1;
  if (pattern.shape.size() == 1) pattern.append(1, 1);
  return pattern;
}

}  // namespace neuron_sim::tracing
