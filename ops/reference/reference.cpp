#include "ops/reference/reference.h"

#include <algorithm>
#include <cmath>

#include "device/base/errors.h"
#include "ops/reference/primitives.h"

namespace neuron_sim::reference {
namespace {

void check_float(const char* op, Dtype dtype) {
  if (dtype == Dtype::kFloat32 || dtype == Dtype::kFloat16 || dtype == Dtype::kBfloat16) return;
  fail(text(op, ": dtype ", name(dtype), " is not float32, float16 or bfloat16."),
       ErrorKind::kType);
}

/// An array as fp32: itself, or a widened copy.
class Widened {
 public:
  Widened(const void* data, int64_t elements, Dtype dtype) {
    if (dtype == Dtype::kFloat32) {
      values_ = static_cast<const float*>(data);
      return;
    }
    copy_.resize(static_cast<size_t>(elements));
    load_floats(static_cast<const std::byte*>(data), dtype, itemsize(dtype), copy_.data(),
                elements);
    values_ = copy_.data();
  }
  const float* data() const { return values_; }

 private:
  std::vector<float> copy_;
  const float* values_ = nullptr;
};

/// Where results are computed in fp32; `commit` rounds them to the dtype.
class Result {
 public:
  Result(void* out, int64_t elements, Dtype dtype)
      : out_(static_cast<std::byte*>(out)), elements_(elements), dtype_(dtype) {
    if (dtype != Dtype::kFloat32) copy_.resize(static_cast<size_t>(elements));
  }
  float* data() { return copy_.empty() ? reinterpret_cast<float*>(out_) : copy_.data(); }
  void commit() const {
    if (!copy_.empty()) store_floats(copy_.data(), out_, dtype_, itemsize(dtype_), elements_);
  }

 private:
  std::byte* out_;
  int64_t elements_;
  Dtype dtype_;
  std::vector<float> copy_;
};

void add_integers(const void* a, const void* b, void* out, int64_t elements, Dtype dtype) {
  const int size = itemsize(dtype);
  std::vector<int64_t> left(static_cast<size_t>(elements)), right(left.size());
  load_integers(static_cast<const std::byte*>(a), dtype, size, left.data(), elements);
  load_integers(static_cast<const std::byte*>(b), dtype, size, right.data(), elements);
  for (size_t i = 0; i < left.size(); ++i) left[i] += right[i];
  store_integers(left.data(), static_cast<std::byte*>(out), dtype, size, elements);
}

/// Square by square, so that cache lines of both sides are used whole. Not a oneDNN reorder: those
/// may pass elements through floating point.
template <typename Bits>
void move_transposed(const void* x, void* out, int64_t rows, int64_t columns) {
  constexpr int64_t kEdge = 64 / sizeof(Bits);
  const Bits* from = static_cast<const Bits*>(x);
  Bits* to = static_cast<Bits*>(out);
  for (int64_t top = 0; top < rows; top += kEdge) {
    const int64_t bottom = std::min(top + kEdge, rows);
    for (int64_t left = 0; left < columns; left += kEdge) {
      const int64_t right = std::min(left + kEdge, columns);
      for (int64_t column = left; column < right; ++column) {
        for (int64_t row = top; row < bottom; ++row) {
          to[column * rows + row] = from[row * columns + column];
        }
      }
    }
  }
}

}  // namespace

void vector_add(const void* a, const void* b, void* out, int64_t elements, Dtype dtype) {
  if (elements == 0) return;
  if (is_integer(dtype) && dtype != Dtype::kBool) {
    return add_integers(a, b, out, elements, dtype);
  }
  check_float("vector_add", dtype);
  Result result(out, elements, dtype);
  add(Widened(a, elements, dtype).data(), Widened(b, elements, dtype).data(), result.data(),
      elements);
  result.commit();
}

void matmul(const void* a, const void* b, void* out, const MatmulSize& size, Dtype dtype) {
  check_float("matmul", dtype);
  const int64_t elements = size.rows * size.columns;
  if (elements == 0) return;
  Result result(out, elements, dtype);
  if (size.depth == 0) {
    std::fill_n(result.data(), elements, 0.0F);
  } else {
    product(Widened(a, size.rows * size.depth, dtype).data(),
            Widened(b, size.depth * size.columns, dtype).data(), result.data(), size);
  }
  result.commit();
}

void transpose(const void* x, void* out, int64_t rows, int64_t columns, Dtype dtype) {
  switch (itemsize(dtype)) {
    case 1: return move_transposed<uint8_t>(x, out, rows, columns);
    case 2: return move_transposed<uint16_t>(x, out, rows, columns);
    case 4: return move_transposed<uint32_t>(x, out, rows, columns);
  }
  require(false, "elements have 1, 2 or 4 bytes");
}

void bias_add_activation(const void* x, const void* bias, void* out, int64_t rows, int64_t features,
                         const std::string& activation, Dtype dtype) {
  check_float("bias_add_activation", dtype);
  if (rows * features == 0) return;
  Result result(out, rows * features, dtype);
  add_bias(Widened(x, rows * features, dtype).data(), Widened(bias, features, dtype).data(),
           result.data(), rows, features, activation);
  result.commit();
}

void conv2d_maxpool(const void* input, const void* weight, const void* bias, void* out,
                    const ConvolutionSize& size, const std::string& activation, Dtype dtype) {
  check_float("conv2d_maxpool", dtype);
  const ConvolutionAxis &rows = size.rows, &columns = size.columns;
  const int64_t elements = size.images * size.filters * rows.outputs() * columns.outputs();
  const int64_t taps = size.channels / size.groups * rows.kernel * columns.kernel;
  if (elements == 0) return;
  Result result(out, elements, dtype);
  convolve(Widened(input, size.images * size.channels * rows.extent * columns.extent, dtype).data(),
           Widened(weight, size.filters * taps, dtype).data(),
           Widened(bias, size.filters, dtype).data(), result.data(), size, activation);
  result.commit();
}

void ffnn_forward(const void* x, void* out, const Network& network, Dtype dtype) {
  check_float("ffnn_forward", dtype);
  const size_t layers = network.weights.size();
  require(layers > 0 && network.widths.size() == layers + 1 && network.biases.size() == layers,
          "a network has one weight and one bias per layer");
  if (network.batch * network.widths.back() == 0) return;
  std::vector<std::byte> input, output;
  const void* values = x;
  for (size_t i = 0; i < layers; ++i) {
    const int64_t depth = network.widths[i], width = network.widths[i + 1];
    const int64_t elements = network.batch * width;
    const bool last = i + 1 == layers;
    std::vector<float> sums(static_cast<size_t>(elements));
    product(Widened(values, network.batch * depth, dtype).data(),
            Widened(network.weights[i], depth * width, dtype).data(), sums.data(),
            {network.batch, depth, width});
    if (!last) output.resize(static_cast<size_t>(elements * itemsize(dtype)));
    Result result(last ? out : output.data(), elements, dtype);
    add_bias(sums.data(), Widened(network.biases[i], width, dtype).data(), result.data(),
             network.batch, width, last ? network.output_activation : network.hidden_activation);
    result.commit();
    input.swap(output);
    values = input.data();
  }
}

void ffnn_predict(const void* x, int32_t* out, const Network& network, Dtype dtype) {
  const int64_t classes = network.widths.back();
  std::vector<std::byte> outputs(static_cast<size_t>(network.batch * classes * itemsize(dtype)));
  ffnn_forward(x, outputs.data(), network, dtype);
  const Widened values(outputs.data(), network.batch * classes, dtype);
  for (int64_t row = 0; row < network.batch; ++row) {
    const float* first = values.data() + row * classes;
    int32_t best = 0;
    for (int64_t i = 1; i < classes && !std::isnan(first[best]); ++i) {
      if (first[i] > first[best] || std::isnan(first[i])) best = static_cast<int32_t>(i);
    }
    out[row] = best;
  }
}

}  // namespace neuron_sim::reference
