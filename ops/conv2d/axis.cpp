#include "ops/conv2d/axis.h"

namespace neuron_sim {

bool Conv2dAxis::is_inside(int64_t start, int64_t count) const {
  const int64_t first = start * pool_stride * stride - padding;
  return first >= 0 && first + inputs(convolved(count)) <= extent;
}

Conv2dAxis make_axis(Conv2dAxis axis, int64_t room) {
  axis.outputs = (room / axis.stride + 1 - axis.pool) / axis.pool_stride + 1;
  if (axis.outputs == 1) axis.pool_stride = axis.pool;
  if (axis.pool == 1) {
    axis.stride *= axis.pool_stride;
    axis.pool_stride = 1;
  }
  if (axis.convolved() == 1) axis.stride = 1;
  if (axis.kernel == 1) axis.dilation = 1;
  return axis;
}

std::vector<IntervalRun> cut(int64_t total, int64_t size, const Conv2dAxis& axis) {
  std::vector<IntervalRun> runs;
  int64_t next = total % size != 0 ? total % size : size;
  for (int64_t start = 0; start < total; start += next, next = size) {
    if (!runs.empty()) {
      IntervalRun& last = runs.back();
      if (last.size == next && axis.is_inside(last.start, last.size) &&
          axis.is_inside(start, next)) {
        ++last.count;
        continue;
      }
    }
    runs.push_back({start, next, 1});
  }
  return runs;
}

std::vector<IntervalRun> cut(int64_t total, int64_t size) {
  std::vector<IntervalRun> runs;
  if (total / size > 0) runs.push_back({0, size, total / size});
  if (total % size > 0) runs.push_back({total - total % size, total % size, 1});
  return runs;
}

}  // namespace neuron_sim
