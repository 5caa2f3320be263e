#include "device/operand/view.h"

#include <algorithm>

#include "device/base/errors.h"

namespace neuron_sim {

const char* name(MemoryKind memory) {
  switch (memory) {
    case MemoryKind::kHbm: return "hbm";
    case MemoryKind::kSbuf: return "sbuf";
    case MemoryKind::kPsum: return "psum";
    case MemoryKind::kAccumulator: return "accumulator";
    case MemoryKind::kRandomState: return "random state";
    case MemoryKind::kNone: break;
  }
  return "none";
}

View::View() = default;
View::View(const View&) = default;
View::View(View&&) noexcept = default;
View& View::operator=(const View&) = default;
View& View::operator=(View&&) noexcept = default;
View::~View() = default;

View::View(MemoryKind memory, TileId tile, Dtype dtype, std::vector<int64_t> shape,
           std::vector<int64_t> strides, std::string label)
    : memory_(memory),
      dtype_(dtype),
      tile_(tile),
      rank_(static_cast<int>(shape.size())),
      label_(std::move(label)) {
  if (rank_ < 1 || rank_ > kMaximumRank) {
    fail(text("tensor '", label_, "' has ", rank_, " dimensions; an access pattern has 1 to ",
              kMaximumRank, "."));
  }
  require(strides.size() == shape.size(), "one stride per dimension");
  storage_bytes_ = itemsize(dtype);
  for (size_t i = 0; i < shape.size(); ++i) {
    dimensions_[i] = {shape[i], strides[i]};
    if (shape[i] == 0) storage_bytes_ = 0;
    if (i == 0 && is_on_chip()) continue;
    if (storage_bytes_ > 0) storage_bytes_ += (shape[i] - 1) * strides[i];
  }
  if (is_on_chip()) storage_partitions_ = shape[0];
}

std::vector<int64_t> View::shape() const {
  std::vector<int64_t> result;
  result.reserve(static_cast<size_t>(rank_));
  for (int i = 0; i < rank_; ++i) result.push_back(size(i));
  return result;
}

int64_t View::free_elements() const {
  int64_t elements = 1;
  for (int i = 1; i < rank_; ++i) elements *= size(i);
  return elements;
}

std::string View::describe() const {
  std::string result = label_ + "[";
  for (int i = 0; i < rank_; ++i) result += text(i == 0 ? "" : ", ", size(i));
  return result + "]";
}

void View::check_dimension(int dimension, const char* what) const {
  if (dimension < 0 || dimension >= rank_) {
    fail(text(what, " of tensor '", describe(), "': dimension ", dimension,
              " does not exist; it has ", rank_, "."),
         ErrorKind::kIndex);
  }
}

namespace {

void check_range(const View& view, int dimension, int64_t first, int64_t last) {
  if (first >= 0 && last < view.size(dimension)) return;
  fail(text("Out-of-bound access for tensor `", view.label(), "` on dimension ", dimension,
            ": index range [", first, ", ", last, "] exceed dimension size of ",
            view.size(dimension)),
       ErrorKind::kIndex);
}

}  // namespace

View View::slice(int dimension, const Affine& start, int64_t size, int64_t step) const {
  check_dimension(dimension, "slice");
  const Dimension& old = this->dimension(dimension);
  if (size < 0 || step < 1) {
    fail(text("slice of tensor '", describe(), "': size ", size, " or step ", step,
              " is not positive."),
         ErrorKind::kIndex);
  }
  const int64_t extent = size == 0 ? 0 : (size - 1) * step;
  if (start.is_constant()) {
    if (size > 0) check_range(*this, dimension, start.constant(), start.constant() + extent);
  } else if (extent >= old.size) {
    check_range(*this, dimension, 0, extent);
  }
  View result = *this;
  result.dimensions_[static_cast<size_t>(dimension)] = {size, old.stride * step};
  if (dimension == 0 && memory_ != MemoryKind::kHbm) {
    if (step != 1)
      fail(text("slice of tensor '", describe(), "': partition stride ", step,
                " is not supported; partitions are contiguous."));
    result.partition_ += start * old.stride;
    result.dimensions_[0].stride = old.stride;
  } else {
    result.offset_ += start * old.stride;
  }
  return result;
}

View View::select(int dimension, const Affine& index) const {
  check_dimension(dimension, "select");
  if (dimension == 0 && memory_ != MemoryKind::kHbm) {
    fail(text("select of tensor '", describe(), "': the partition dimension stays on chip."));
  }
  View result = slice(dimension, index, 1);
  for (int i = dimension; i + 1 < rank_; ++i) {
    result.dimensions_[static_cast<size_t>(i)] = result.dimensions_[static_cast<size_t>(i) + 1];
  }
  result.rank_ -= 1;
  if (result.rank_ == 0) {
    result.rank_ = 1;
    result.dimensions_[0] = {1, 0};
  }
  return result;
}

View View::broadcast(int dimension, int64_t size) const {
  check_dimension(dimension, "broadcast");
  if (this->size(dimension) != 1) {
    fail(text("broadcast of tensor '", describe(), "': dimension ", dimension, " has size ",
              this->size(dimension), ", not 1."));
  }
  View result = *this;
  result.dimensions_[static_cast<size_t>(dimension)] = {size, 0};
  return result;
}

View View::split(int dimension, int64_t outer, int64_t inner) const {
  check_dimension(dimension, "split");
  if (outer < 0 || inner < 0 || outer * inner != size(dimension)) {
    fail(text("split of tensor '", describe(), "': ", outer, " x ", inner,
              " is not the size of dimension ", dimension, "."));
  }
  if (dimension == 0 && memory_ != MemoryKind::kHbm) {
    fail(text("split of tensor '", describe(), "': the partition dimension cannot be split."));
  }
  View result = expand(dimension);
  const int64_t stride = this->dimension(dimension).stride;
  result.dimensions_[static_cast<size_t>(dimension)] = {outer, stride * inner};
  result.dimensions_[static_cast<size_t>(dimension) + 1] = {inner, stride};
  return result;
}

View View::merge(int first) const {
  check_dimension(first, "merge");
  check_dimension(first + 1, "merge");
  const Dimension outer = dimension(first);
  const Dimension inner = dimension(first + 1);
  const bool dense =
      outer.size == 1 || inner.size == 1 || outer.stride == inner.stride * inner.size;
  if ((first == 0 && memory_ != MemoryKind::kHbm) || !dense) {
    fail(text("merge of tensor '", describe(), "': dimensions ", first, " and ", first + 1,
              " are not adjacent in memory."));
  }
  View result = *this;
  const int64_t stride = inner.size == 1 ? outer.stride : inner.stride;
  result.dimensions_[static_cast<size_t>(first)] = {outer.size * inner.size, stride};
  for (int i = first + 1; i + 1 < rank_; ++i) {
    result.dimensions_[static_cast<size_t>(i)] = dimensions_[static_cast<size_t>(i) + 1];
  }
  result.rank_ -= 1;
  return result;
}

View View::expand(int dimension) const {
  if (dimension < 0 || dimension > rank_) {
    fail(text("expand of tensor '", describe(), "': no dimension can be added before dimension ",
              dimension, "; it has ", rank_, "."),
         ErrorKind::kIndex);
  }
  if (dimension == 0 && memory_ != MemoryKind::kHbm) {
    fail(text("expand of tensor '", describe(), "': the partition dimension stays first."));
  }
  if (rank_ == kMaximumRank) {
    fail(text("expand of tensor '", describe(), "': an access pattern has at most ", kMaximumRank,
              " dimensions."));
  }
  View result = *this;
  for (int i = rank_; i > dimension; --i) {
    result.dimensions_[static_cast<size_t>(i)] = dimensions_[static_cast<size_t>(i) - 1];
  }
  result.dimensions_[static_cast<size_t>(dimension)] = {1, 0};
  result.rank_ += 1;
  return result;
}

View View::permute(const std::vector<int>& order) const {
  std::array<bool, kMaximumRank> named{};
  for (const int i : order) {
    check_dimension(i, "permute");
    named[static_cast<size_t>(i)] = true;
  }
  if (static_cast<int>(order.size()) != rank_ ||
      std::count(named.begin(), named.end(), true) != rank_) {
    fail(text("permute of tensor '", describe(), "': the order must name each of its ", rank_,
              " dimensions once."));
  }
  if (memory_ != MemoryKind::kHbm && order[0] != 0) {
    fail(text("permute of tensor '", describe(), "': the partition dimension stays first."));
  }
  View result = *this;
  for (size_t i = 0; i < order.size(); ++i) result.dimensions_[i] = dimension(order[i]);
  return result;
}

View View::flatten() const {
  View result = *this;
  int i = 1;
  while (i + 1 < result.rank_) {
    const Dimension outer = result.dimension(i);
    const Dimension inner = result.dimension(i + 1);
    const bool dense =
        outer.size == 1 || inner.size == 1 || outer.stride == inner.stride * inner.size;
    if (dense) {
      result = result.merge(i);
    } else {
      ++i;
    }
  }
  return result;
}

View View::moved_by(int64_t partitions, int64_t bytes) const {
  View result = *this;
  result.partition_ += partitions;
  result.offset_ += bytes;
  return result;
}

View View::in_ring(const Affine& index, int count) const {
  require(count >= 1, "a ring has at least one tile");
  View result = *this;
  result.ring_ = count;
  result.ring_index_ = index;
  return result;
}

View View::at_register(int register_index, int64_t scale) const {
  View result = *this;
  result.register_ = register_index;
  result.register_scale_ = scale;
  return result;
}

View View::indirect(int64_t rows) const { return indirect(rows, size(0)); }

View View::indirect(int64_t rows, int64_t partitions) const {
  if (memory_ != MemoryKind::kHbm) {
    fail(text("indirect access of tensor '", describe(), "': only HBM tensors can be indexed."));
  }
  View result = *this;
  result.index_rows_ = rows;
  result.dimensions_[0].size = partitions;
  return result;
}

}  // namespace neuron_sim
