#include "device/numerics/reduction.h"

#include <functional>
#include <limits>
#include <numeric>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "device/base/errors.h"
#include "device/numerics/alu.h"
#include "device/vector/instruction_sets.h"

namespace neuron_sim {

float reduction_identity(AluOp op) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  switch (op) {
    case AluOp::kAdd:
    case AluOp::kSubtract: return 0;
    case AluOp::kMultiply: return 1;
    case AluOp::kMaximum: return -kInfinity;
    case AluOp::kMinimum: return kInfinity;
    default: require(false, "the operator has no value that a reduction starts from");
  }
  return 0;
}

float reduce(AluOp op, const float* values, int64_t count) {
  switch (op) {
    case AluOp::kAdd: return reduce_in_order(op, 0, values, count);
    case AluOp::kSubtract:
    case AluOp::kMultiply: return reduce_in_order(op, values[0], values + 1, count - 1);
    default: return reduce_in_partials(op, values, count);
  }
}

float reduce_in_order(AluOp op, float start, const float* values, int64_t count) {
  const float* const end = values + count;
  switch (op) {
    case AluOp::kAdd: return std::accumulate(values, end, start) + 0.0F;
    case AluOp::kSubtract: return std::accumulate(values, end, start, std::minus<>());
    case AluOp::kMultiply: return std::accumulate(values, end, start, std::multiplies<>());
    default: require(false, "the operator is reduced in no order");
  }
  return 0;
}

float reduce_in_partials(AluOp op, const float* values, int64_t count) {
  float result = 0;
  alu::with_float_operator(
      op, [&](auto function) { result = reduction::reduce(values, count, function); });
  return op == AluOp::kAdd ? result + 0.0F : result;
}

namespace {

/// Of kRows rows, those from element `first` on.
template <int kRows>
void add_each(const float* const* values, int64_t first, int64_t count, float* sums) {
  float sum[kRows];
  std::copy(sums, sums + kRows, sum);
  for (int64_t i = first; i < count; ++i) {
    for (int row = 0; row < kRows; ++row) sum[row] += values[row][i];
  }
  std::copy(sum, sum + kRows, sums);
}

#if defined(__x86_64__)

#define NEURON_SIM_AVX2 __attribute__((target("avx2")))

/// Elements i to i + 7 of eight rows, four columns at a time: a row has a lane.
NEURON_SIM_AVX2 inline __m256 add_eight(const float* const* values, int64_t i, __m256 sum) {
  for (const int64_t end = i + 8; i < end; i += 4) {
    __m256 row[4];  // row r in the lower half, row r + 4 in the upper
    for (int r = 0; r < 4; ++r) {
      const __m256 lower = _mm256_castps128_ps256(_mm_loadu_ps(values[r] + i));
      row[r] = _mm256_insertf128_ps(lower, _mm_loadu_ps(values[r + 4] + i), 1);
    }
    const __m256 lower01 = _mm256_unpacklo_ps(row[0], row[1]);
    const __m256 lower23 = _mm256_unpacklo_ps(row[2], row[3]);
    const __m256 upper01 = _mm256_unpackhi_ps(row[0], row[1]);
    const __m256 upper23 = _mm256_unpackhi_ps(row[2], row[3]);
    sum = _mm256_add_ps(sum, _mm256_shuffle_ps(lower01, lower23, 0x44));
    sum = _mm256_add_ps(sum, _mm256_shuffle_ps(lower01, lower23, 0xee));
    sum = _mm256_add_ps(sum, _mm256_shuffle_ps(upper01, upper23, 0x44));
    sum = _mm256_add_ps(sum, _mm256_shuffle_ps(upper01, upper23, 0xee));
  }
  return sum;
}

/// Both halves of the rows, of which either alone would wait for its additions. Each half takes a
/// cache line of a row at a time: rows lie so far apart that 16 lines do not stay in the cache.
NEURON_SIM_AVX2 void add_sixteen(const float* const* values, int64_t count, float* sums) {
  __m256 first = _mm256_loadu_ps(sums), second = _mm256_loadu_ps(sums + 8);
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    first = add_eight(values, i + 8, add_eight(values, i, first));
    second = add_eight(values + 8, i + 8, add_eight(values + 8, i, second));
  }
  _mm256_storeu_ps(sums, first);
  _mm256_storeu_ps(sums + 8, second);
  add_each<8>(values, i, count, sums);
  add_each<8>(values + 8, i, count, sums + 8);
}

#else

void add_sixteen(const float* const*, int64_t, float*) {}

#endif

}  // namespace

void add_in_order(const float* const* values, int64_t rows, int64_t count, float* sums) {
  int64_t row = 0;
  if (rows > 4 && count >= 16 && has_avx2()) {
    const float* sixteen[kRowsAtOnce];
    float results[kRowsAtOnce] = {};
    std::copy(sums, sums + rows, results);
    for (; row < kRowsAtOnce; ++row) sixteen[row] = values[std::min(row, rows - 1)];
    add_sixteen(sixteen, count, results);
    std::copy(results, results + rows, sums);
    return;
  }
  for (; row + 8 <= rows; row += 8) add_each<8>(values + row, 0, count, sums + row);
  if (row + 4 <= rows) {
    add_each<4>(values + row, 0, count, sums + row);
    row += 4;
  }
  for (; row < rows; ++row) add_each<1>(values + row, 0, count, sums + row);
}

}  // namespace neuron_sim
