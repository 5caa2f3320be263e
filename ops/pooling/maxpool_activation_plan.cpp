#include "ops/pooling/maxpool_activation_plan.h"

#include <algorithm>

#include "device/base/errors.h"
#include "ops/blocks/activation_gradient.h"
#include "ops/blocks/tiles.h"

namespace neuron_sim {
namespace {

constexpr int64_t kElements = 4096;  // sums per partition and tile
constexpr int64_t kWindows = 1024;   // windows per partition whose maxima and masks fit PSUM

PoolBand make_band(const MaxpoolPlan& plan, int64_t row, int64_t rows) {
  PoolBand band{row, rows};
  const int64_t kernel = plan.pool.kernel[0], stride = plan.pool.stride[0];
  band.window = row < kernel ? 0 : ceiling(row - kernel + 1, stride);
  const int64_t last = std::min(plan.outputs[0] - 1, (row + rows - 1) / stride);
  band.windows = std::max<int64_t>(0, last - band.window + 1);
  band.first = row;
  int64_t end = row + rows;
  if (band.windows > 0) {
    band.first = std::min(row, band.window * stride);
    end = std::max(end, last * stride + kernel);
  }
  band.count = end - band.first;
  return band;
}

void cut_rows(MaxpoolPlan& plan, int64_t rows) {
  plan.bands.clear();
  for (int64_t row = 0; row < plan.inputs[0]; row += rows) {
    plan.bands.push_back(make_band(plan, row, std::min(rows, plan.inputs[0] - row)));
  }
}

int64_t count(const WindowArgmax::Shape& shape) { return shape[0] * shape[1] * shape[2]; }

int64_t bytes(const Limits& limits, const MaxpoolPlan& plan) {
  const int64_t wide = itemsize(Dtype::kFloat32), element = itemsize(plan.dtype);
  const int64_t per_sum = itemsize(plan.sums_dtype) + (plan.widens() ? wide : 0) +
                          (plan.derives_sums() && plan.pools() ? wide : 0) +
                          (plan.pools() ? itemsize(plan.target_dtype()) : 0);
  int64_t per_result = plan.rounds() ? element : 0;
  int64_t per_window = element;
  if (plan.derives_sums()) {
    per_result += ActivationGradient::scratch_bytes(plan.activation, plan.target_dtype());
  }
  if (plan.derives_windows()) {
    per_window += ActivationGradient::scratch_bytes(plan.activation, plan.dtype) +
                  (plan.window_dtype() != plan.dtype ? wide : 0);
  }
  const int64_t each = count(plan.sums_shape()) * per_sum +
                       count(plan.result_shape()) * per_result +
                       count(plan.window_shape()) * per_window;
  const int64_t argmax =
      plan.pools() ? WindowArgmax::bytes(limits, plan.pool, plan.window_shape(), plan.sums_shape(),
                                         plan.window_dtype(), plan.ring)
                   : 0;
  return plan.ring * each + argmax + 1024;
}

/// Bands of whole strides, then shorter ones, until they fit; false when not even a row does.
bool fit_rows(const Limits& limits, MaxpoolPlan& plan) {
  const int64_t step = plan.pool.stride[0];
  int64_t rows = std::max<int64_t>(1, kElements / (plan.group * plan.inputs[1]) / step) * step;
  rows = std::min(rows, plan.inputs[0]);
  for (;;) {
    cut_rows(plan, rows);
    if (bytes(limits, plan) <= limits.sbuf_usable.count) return true;
    if (rows == 1) return false;
    rows = rows > step ? ceiling(rows / step, 2) * step : ceiling(rows, 2);
  }
}

}  // namespace

bool MaxpoolPlan::monotone() const {
  switch (activation) {
    case Activation::kIdentity:
    case Activation::kRelu:
    case Activation::kExp:
    case Activation::kSigmoid:
    case Activation::kTanh: return true;
    default: return false;
  }
}

Dtype MaxpoolPlan::window_dtype() const {
  return derives_windows() && pool.overlap() ? Dtype::kFloat32 : dtype;
}

Dtype MaxpoolPlan::target_dtype() const {
  return pools() && pool.overlap() ? Dtype::kFloat32 : dtype;
}

WindowArgmax::Shape MaxpoolPlan::window_shape() const {
  int64_t rows = 1;
  for (const PoolBand& band : bands) rows = std::max(rows, band.windows);
  return {group, rows, outputs[1]};
}

WindowArgmax::Shape MaxpoolPlan::sums_shape() const {
  int64_t rows = 1;
  for (const PoolBand& band : bands) rows = std::max(rows, band.count);
  return {group, rows, inputs[1]};
}

WindowArgmax::Shape MaxpoolPlan::result_shape() const {
  int64_t rows = 1;
  for (const PoolBand& band : bands) rows = std::max(rows, band.rows);
  return {group, rows, inputs[1]};
}

void cut_bands(const Architecture& architecture, int64_t planes, MaxpoolPlan& plan) {
  const Limits& limits = architecture.limits;
  const int64_t sums = plan.inputs[0] * plan.inputs[1];
  const int64_t windows = plan.outputs[0] * plan.outputs[1];
  plan.group = std::clamp<int64_t>(std::min(kElements / sums, kWindows / windows), 1,
                                   ceiling(planes, limits.partitions));
  for (; plan.group > 1; plan.group = ceiling(plan.group, 2)) {
    cut_rows(plan, plan.inputs[0]);
    if (bytes(limits, plan) <= limits.sbuf_usable.count) return;
  }
  for (plan.ring = 2; plan.ring > 0; --plan.ring) {
    if (fit_rows(limits, plan)) return;
  }
  plan.ring = 1;
  fail(text("maxpool_activation_backward: a row of ", plan.inputs[1], " sums with windows of ",
            plan.pool.kernel[0], " rows needs ", bytes(limits, plan),
            " bytes per partition, sbuf has ", limits.sbuf_usable.count, " on ", architecture.name,
            "."),
       ErrorKind::kOutOfMemory);
}

}  // namespace neuron_sim
