// The one list of instructions; it alone sees them all.

#include <array>

#include "device/instruction/instruction_type.h"
#include "device/isa/activation/activate2.h"
#include "device/isa/activation/activation.h"
#include "device/isa/activation/activation_reduce.h"
#include "device/isa/activation/exponential.h"
#include "device/isa/dma/dma_compute.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/dma/dma_transpose.h"
#include "device/isa/dma/sendrecv.h"
#include "device/isa/elementwise/affine_select.h"
#include "device/isa/elementwise/builtin_custom_op.h"
#include "device/isa/elementwise/reciprocal.h"
#include "device/isa/elementwise/scalar_tensor_tensor.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/iota.h"
#include "device/isa/movement/local_gather.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/nc_n_gather.h"
#include "device/isa/movement/nc_stream_shuffle.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/movement/tensor_copy_dynamic_dst.h"
#include "device/isa/movement/tensor_copy_dynamic_src.h"
#include "device/isa/movement/tensor_copy_predicated.h"
#include "device/isa/random/dropout.h"
#include "device/isa/random/rand2.h"
#include "device/isa/random/rand_get_state.h"
#include "device/isa/random/rand_set_state.h"
#include "device/isa/random/rng.h"
#include "device/isa/random/set_rng_seed.h"
#include "device/isa/reduction/bn_aggr.h"
#include "device/isa/reduction/bn_stats.h"
#include "device/isa/reduction/range_select.h"
#include "device/isa/reduction/select_reduce.h"
#include "device/isa/reduction/tensor_partition_reduce.h"
#include "device/isa/reduction/tensor_reduce.h"
#include "device/isa/reduction/tensor_scalar_cumulative.h"
#include "device/isa/reduction/tensor_scalar_reduce.h"
#include "device/isa/reduction/tensor_tensor_scan.h"
#include "device/isa/search/max8.h"
#include "device/isa/search/nc_find_index8.h"
#include "device/isa/search/nc_match_replace8.h"
#include "device/isa/search/nonzero_with_count.h"
#include "device/isa/search/sequence_bounds.h"
#include "device/isa/search/topk.h"
#include "device/isa/sequencing/compile_time_query.h"
#include "device/isa/sequencing/core_barrier.h"
#include "device/isa/sequencing/get_nc_sub_version.h"
#include "device/isa/sequencing/get_nc_version.h"
#include "device/isa/sequencing/register_alloc.h"
#include "device/isa/sequencing/register_load.h"
#include "device/isa/sequencing/register_move.h"
#include "device/isa/sequencing/register_store.h"
#include "device/isa/tensor/nc_matmul.h"
#include "device/isa/tensor/nc_matmul_mx.h"
#include "device/isa/tensor/nc_transpose.h"
#include "device/isa/tensor/quantize_mx.h"

namespace neuron_sim {
namespace {

/// In alphabetical order.
// clang-format off
constexpr std::array kList = {
    &kActivate2,
    &kActivation,
    &kActivationReduce,
    &kAffineSelect,
    &kBnAggr,
    &kBnStats,
    &kBuiltinCustomOp,
    &kCoreBarrier,
    &kDmaCompute,
    &kDmaCopy,
    &kDmaTranspose,
    &kDropout,
    &kExponential,
    &kIota,
    &kLocalGather,
    &kMax8,
    &kMemset,
    &kNcFindIndex8,
    &kNcMatchReplace8,
    &kNcMatmul,
    &kNcMatmulMx,
    &kNcNGather,
    &kNcStreamShuffle,
    &kNcTranspose,
    &kNonzeroWithCount,
    &kQuantizeMx,
    &kRand2,
    &kRandGetState,
    &kRandSetState,
    &kRangeSelect,
    &kReciprocal,
    &kRegisterAlloc,
    &kRegisterLoad,
    &kRegisterMove,
    &kRegisterStore,
    &kRng,
    &kScalarTensorTensor,
    &kSelectReduce,
    &kSendRecv,
    &kSequenceBounds,
    &kSetRngSeed,
    &kTensorCopy,
    &kTensorCopyDynamicDst,
    &kTensorCopyDynamicSrc,
    &kTensorCopyPredicated,
    &kTensorPartitionReduce,
    &kTensorReduce,
    &kTensorScalar,
    &kTensorScalarCumulative,
    &kTensorScalarReduce,
    &kTensorTensor,
    &kTensorTensorScan,
    &kTopk,
};
constexpr std::array kQueries = {
    CompileTimeQuery{"get_nc_sub_version", get_nc_sub_version},
    CompileTimeQuery{"get_nc_version", get_nc_version},
};
// clang-format on

}  // namespace

std::span<const InstructionType* const> instruction_list() { return kList; }
std::span<const CompileTimeQuery> compile_time_queries() { return kQueries; }

}  // namespace neuron_sim
