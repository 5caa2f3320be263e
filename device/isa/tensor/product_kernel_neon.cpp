// Blocks of a product on arm64.

#include "device/vector/floats_neon.h"
// After it:
#include "device/isa/tensor/product_block.h"

namespace neuron_sim {
namespace {

bool runs_here() { return true; }

void pack(const RowCopy& rows) { pack_chains(rows, copy_whole_rows); }

// 6 rows x 4 vectors are 24 sums of the 32 registers, beside four vectors of `right` and a factor.
template <Order kOrder>
constexpr auto kBlocks = blocks_of<4, kOrder>(std::make_integer_sequence<int, 6>());

constexpr Bf16Product kBf16{{4 * kLanes, kBlocks<Order::kBf16>}, {}, pack, pack};

}  // namespace

const ProductKernel kNeonProduct = {
    "neon",
    runs_here,
    {4 * kLanes, kBlocks<Order::kChain>, kBlocks<Order::kPackingChain>},
    {4 * kLanes, kBlocks<Order::kChain>},
    copy_whole_rows,
    transpose_rows,
    {},
    &kBf16};

}  // namespace neuron_sim
