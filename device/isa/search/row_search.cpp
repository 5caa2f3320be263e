#include "device/isa/search/row_search.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "device/vector/instruction_sets.h"

namespace neuron_sim::row_search {
namespace {

uint32_t mask_of(const float* row, int64_t count, const FloatRange& range) {
  uint32_t mask = 0;
  for (int64_t i = 0; i < count; ++i) {
    const bool within = row[i] >= range.low && row[i] <= range.high;
    mask |= static_cast<uint32_t>(within) << i;
  }
  return mask;
}

#if defined(__x86_64__)

/// Whole blocks.
__attribute__((target("avx2"))) void find_avx2(const float* row, int64_t blocks,
                                               const FloatRange& range, uint32_t* masks) {
  constexpr int kLanes = 8;
  const __m256 low = _mm256_set1_ps(range.low), high = _mm256_set1_ps(range.high);
  for (int64_t block = 0; block < blocks; ++block) {
    uint32_t mask = 0;
    for (int lane = 0; lane < kBlock; lane += kLanes, row += kLanes) {
      const __m256 values = _mm256_loadu_ps(row);
      const __m256 within = _mm256_and_ps(_mm256_cmp_ps(values, low, _CMP_GE_OQ),
                                          _mm256_cmp_ps(values, high, _CMP_LE_OQ));
      mask |= static_cast<uint32_t>(_mm256_movemask_ps(within)) << lane;
    }
    masks[block] = mask;
  }
}

#else

void find_avx2(const float*, int64_t, const FloatRange&, uint32_t*) {}

#endif

}  // namespace

void find(const float* row, int64_t count, const FloatRange& range, uint32_t* masks) {
  int64_t block = 0;
  if (has_avx2()) {
    block = count / kBlock;
    find_avx2(row, block, range, masks);
  }
  for (; block * kBlock < count; ++block) {
    const int64_t start = block * kBlock;
    masks[block] = mask_of(row + start, std::min(kBlock, count - start), range);
  }
}

}  // namespace neuron_sim::row_search
