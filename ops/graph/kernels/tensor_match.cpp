#include "ops/graph/kernels/tensor_match.h"

#include <algorithm>

namespace neuron_sim {
namespace {

bool is_floating(const GraphTensor& tensor) {
  return tensor.dtype == Dtype::kFloat32 || tensor.dtype == Dtype::kBfloat16 ||
         tensor.dtype == Dtype::kFloat16;
}

}  // namespace

bool same_elements(const GraphTensor& a, const GraphTensor& b) {
  if (a.memory != b.memory || a.byte_offset != b.byte_offset || a.dtype != b.dtype) return false;
  for (size_t i = 0; i < a.shape.size(); ++i) {
    if (a.shape[i] > 1 && a.strides[i] != b.strides[i]) return false;
  }
  return true;
}

std::optional<std::vector<int64_t>> strides_under(const GraphTensor& tensor,
                                                  const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  size_t left = shape.size();  // dimensions of `shape` without a stride
  for (size_t end = tensor.shape.size(); end > 0;) {
    // Dimensions [begin, end) of the tensor follow each other in memory.
    const int64_t step = tensor.strides[end - 1];
    size_t begin = end - 1;
    int64_t elements = tensor.shape[begin];
    while (begin > 0 &&
           (tensor.shape[begin - 1] == 1 || tensor.strides[begin - 1] == elements * step)) {
      elements *= tensor.shape[--begin];
    }
    int64_t taken = 1;
    while (left > 0 && (taken < elements || shape[left - 1] == 1)) {
      strides[--left] = taken * step;
      taken *= shape[left];
    }
    if (taken != elements) return std::nullopt;
    end = begin;
  }
  return left == 0 ? std::optional(std::move(strides)) : std::nullopt;
}

std::vector<SharedDimension> shared_dimensions(const GraphTensor& first,
                                               const GraphTensor& second) {
  std::vector<SharedDimension> dimensions = collapse(first.shape, {first.strides, second.strides});
  std::stable_sort(dimensions.begin(), dimensions.end(), [](const auto& a, const auto& b) {
    return a.strides.front() > b.strides.front();
  });
  return dimensions;
}

std::optional<GraphTensor> relocated(GraphTensor tensor, const GraphTensor& from,
                                     const GraphTensor& to) {
  const int64_t element = itemsize(from.dtype);
  int64_t start = tensor.byte_offset - from.byte_offset;
  if (itemsize(tensor.dtype) != element || start < 0 || start % element != 0) return {};
  start /= element;
  const std::vector<SharedDimension> dimensions = shared_dimensions(from, to);
  tensor.memory = to.memory;
  tensor.byte_offset = to.byte_offset;
  std::vector<int64_t> last;  // index along each dimension
  for (const SharedDimension& dimension : dimensions) {
    last.push_back(start / dimension.strides[0]);
    start %= dimension.strides[0];
    tensor.byte_offset += last.back() * dimension.strides[1] * element;
  }
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    int64_t& stride = tensor.strides[d];
    if (tensor.shape[d] == 1 || stride == 0) continue;
    size_t along = 0;
    while (dimensions[along].strides[0] > stride) ++along;
    if (stride % dimensions[along].strides[0] != 0) return {};
    stride /= dimensions[along].strides[0];
    last[along] += (tensor.shape[d] - 1) * stride;
    stride *= dimensions[along].strides[1];
  }
  for (size_t i = 0; i < last.size(); ++i) {
    if (last[i] >= dimensions[i].size) return {};
  }
  return tensor;
}

std::optional<GraphKernel> under_shape(GraphKernel kernel, const std::vector<int64_t>& shape) {
  for (auto* const tensors : {&kernel.operands, &kernel.results}) {
    for (GraphTensor& tensor : *tensors) {
      const auto strides = strides_under(tensor, shape);
      if (!strides || !is_floating(tensor)) return std::nullopt;
      tensor.shape = shape;
      tensor.strides = *strides;
    }
  }
  return kernel;
}

size_t place_of(std::vector<GraphTensor>& tensors, const GraphTensor& tensor) {
  const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const GraphTensor& known) {
    return same_elements(known, tensor);
  });
  if (found != tensors.end()) return static_cast<size_t>(found - tensors.begin());
  tensors.push_back(tensor);
  return tensors.size() - 1;
}

bool is_dense(const GraphTensor& tensor) {
  int64_t elements = 1;
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    if (tensor.shape[i] > 1 && tensor.strides[i] == 0) return false;
    elements *= tensor.shape[i];
  }
  return elements == extent_of(tensor.shape, tensor.strides);
}

bool same_order(const GraphTensor& a, const GraphTensor& b) {
  for (size_t i = 0; i < a.shape.size(); ++i) {
    if (a.shape[i] > 1 && a.strides[i] != b.strides[i]) return false;
  }
  return true;
}

}  // namespace neuron_sim
