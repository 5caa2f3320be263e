// Blocks of a product on hosts with AVX-512F.

#include "device/isa/tensor/product_bf16.h"
#include "device/isa/tensor/product_block_avx512.h"
#include "device/vector/instruction_sets.h"

namespace neuron_sim {
namespace {

// 12 rows x 2 vectors are 24 sums of the 32 registers; the operations broadcast the factors.
template <int kVectors, Order kOrder>
constexpr auto kBlocks = blocks_of<kVectors, kOrder>(std::make_integer_sequence<int, 12>());
template <Order kOrder>
constexpr auto kFlatBlocks = blocks_of<4, kOrder>(std::make_integer_sequence<int, 6>());

NEURON_SIM_TARGET void transpose_16_rows(const RowCopy& rows) {
  for (int64_t i = 0; i < rows.length; i += kLanes) {
    Words words[kLanes];
    for (int64_t k = 0; k < kLanes; ++k) {
      words[k] = words_at(rows.from + k * rows.from_pitch, i, k < rows.depth ? rows.length : 0);
    }
    transpose(words);
    for (int64_t k = 0; k < std::min(kLanes, rows.length - i); ++k) {
      write_words(words[k], rows.to + (i + k) * rows.to_pitch, 0, rows.depth);
    }
  }
}

void pack(const RowCopy& rows) { pack_chains(rows, copy_rows); }

constexpr BlockShape kShape{2 * kLanes, kBlocks<2, Order::kChain>,
                            kBlocks<2, Order::kPackingChain>};
constexpr BlockShape kNarrowShape{kLanes, kBlocks<1, Order::kChain>,
                                  kBlocks<1, Order::kPackingChain>};
constexpr BlockShape kFlatShape{4 * kLanes, kFlatBlocks<Order::kChain>};
constexpr Bf16Product kBf16{
    {2 * kLanes, kBlocks<2, Order::kBf16>}, {4 * kLanes, kFlatBlocks<Order::kBf16>}, pack, pack};

}  // namespace

const ProductKernel kAvx512Product = {"avx512",  has_avx512,        kShape,       kFlatShape,
                                      copy_rows, transpose_16_rows, kNarrowShape, &kBf16};
const ProductKernel kAmxProduct = {"amx",     amx_runs_here,     kShape,       kFlatShape,
                                   copy_rows, transpose_16_rows, kNarrowShape, &kAmxBf16};

}  // namespace neuron_sim
