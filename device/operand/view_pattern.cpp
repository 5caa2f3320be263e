// Views defined by steps and sizes on their storage, or by another dtype.

#include "device/base/errors.h"
#include "device/operand/view.h"

namespace neuron_sim {
namespace {

bool is_multiple(const Affine& affine, int64_t of) {
  for (int level = 0; level < affine.levels(); ++level) {
    if (affine.coefficient(level) % of != 0) return false;
  }
  return affine.constant() % of == 0;
}

}  // namespace

void View::check_pattern(const std::vector<Dimension>& dimensions, const Affine& offset,
                         const Affine& partition) const {
  const auto refuse = [&](const std::string& why, ErrorKind kind = ErrorKind::kValue) {
    fail(text("access pattern of tensor '", label_, "': ", why, "."), kind);
  };
  if (dimensions.empty() || dimensions.size() > static_cast<size_t>(kMaximumRank)) {
    refuse(text(dimensions.size(), " dimensions; an access pattern has 1 to ", kMaximumRank));
  }
  int64_t last = offset.is_constant() ? offset.constant() : 0;
  for (size_t i = 0; i < dimensions.size(); ++i) {
    const Dimension& d = dimensions[i];
    if (d.size < 1) refuse(text("dimension ", i, " has size ", d.size, "; it must be positive"));
    if (d.stride < 0) refuse(text("dimension ", i, " has step ", d.stride, "; it is negative"));
    if (i > 0 || !is_on_chip()) last += (d.size - 1) * d.stride;
  }
  if (last >= storage_elements() || (offset.is_constant() && offset.constant() < 0)) {
    fail(text("Out-of-bound access for tensor `", label_, "`: the access pattern reaches element ",
              last >= storage_elements() ? last : offset.constant(), ", the tensor has ",
              storage_elements(), is_on_chip() ? " per partition." : "."),
         ErrorKind::kIndex);
  }
  if (!is_on_chip()) {
    if (!(partition == Affine(0))) refuse("it has a first partition; HBM has no partitions");
    return;
  }
  const Dimension& partitions = dimensions[0];
  if (partitions.stride > 1 && partitions.size > 1) {
    refuse(text("partition step ", partitions.stride, "; partitions are contiguous"));
  }
  const int64_t extent = partitions.stride == 0 ? 0 : partitions.size - 1;
  const int64_t first = partition.is_constant() ? partition.constant() : 0;
  if (first < 0 || first + extent >= storage_partitions_) {
    fail(text("Out-of-bound access for tensor `", label_, "` on dimension 0: index range [", first,
              ", ", first + extent, "] exceed dimension size of ", storage_partitions_),
         ErrorKind::kIndex);
  }
}

View View::pattern(const std::vector<Dimension>& dimensions, const Affine& offset,
                   const Affine& partition) const {
  check_pattern(dimensions, offset, partition);
  const int64_t element = itemsize(dtype_);
  View result = *this;
  result.rank_ = static_cast<int>(dimensions.size());
  for (size_t i = 0; i < dimensions.size(); ++i) {
    result.dimensions_[i] = {dimensions[i].size, dimensions[i].stride * element};
  }
  if (is_on_chip()) {
    const bool repeats = dimensions[0].stride == 0 && dimensions[0].size > 1;
    result.dimensions_[0].stride = repeats ? 0 : 1;
  }
  result.offset_ = offset * element;
  result.partition_ = partition;
  return result;
}

std::vector<int64_t> View::element_strides() const {
  const int64_t element = itemsize(dtype_);
  std::vector<int64_t> result(static_cast<size_t>(rank_));
  for (int i = 0; i < rank_; ++i) {
    const bool counts_partitions = i == 0 && is_on_chip();
    result[static_cast<size_t>(i)] = dimension(i).stride / (counts_partitions ? 1 : element);
  }
  return result;
}

Affine View::element_offset() const {
  const int64_t element = itemsize(dtype_);
  Affine result = offset_.constant() / element;
  for (int level = 0; level < offset_.levels(); ++level) {
    if (offset_.coefficient(level) == 0) continue;
    result += Affine::variable(level) * (offset_.coefficient(level) / element);
  }
  return result;
}

int64_t View::storage_elements() const { return storage_bytes_ / itemsize(dtype_); }

bool View::scales_to(int64_t bytes) const {
  const int64_t old_bytes = itemsize(dtype_);
  const int last = rank_ - 1;
  if (last == 0 && is_on_chip()) return false;
  if (dimension(last).size != 1 && dimension(last).stride != old_bytes) return false;
  if (dimension(last).size * old_bytes % bytes != 0) return false;
  for (int i = is_on_chip() ? 1 : 0; i < last; ++i) {
    if (dimension(i).size > 1 && dimension(i).stride % bytes != 0) return false;
  }
  return is_multiple(offset_, bytes) && register_scale_ % bytes == 0;
}

View View::reinterpret(Dtype dtype) const {
  View result = *this;
  result.dtype_ = dtype;
  const int64_t bytes = itemsize(dtype);
  if (bytes == itemsize(dtype_)) return result;
  if (!scales_to(bytes)) {
    fail(text("reinterpretation of tensor '", describe(), "' from ", neuron_sim::name(dtype_),
              " to ", neuron_sim::name(dtype), ": the bytes of its last dimension are not ",
              "contiguous whole elements of ", bytes, " bytes."),
         ErrorKind::kType);
  }
  Dimension& last = result.dimensions_[static_cast<size_t>(rank_) - 1];
  last = {last.size * itemsize(dtype_) / bytes, bytes};
  return result;
}

}  // namespace neuron_sim
