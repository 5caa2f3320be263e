// The one list of instructions; it alone sees them all.

#include <array>

#include "device/isa/activate2.h"
#include "device/isa/activation.h"
#include "device/isa/activation_reduce.h"
#include "device/isa/affine_select.h"
#include "device/isa/bn_aggr.h"
#include "device/isa/bn_stats.h"
#include "device/isa/builtin_custom_op.h"
#include "device/isa/compile_time_query.h"
#include "device/isa/core_barrier.h"
#include "device/isa/dma_compute.h"
#include "device/isa/dma_copy.h"
#include "device/isa/dma_transpose.h"
#include "device/isa/dropout.h"
#include "device/isa/exponential.h"
#include "device/isa/get_nc_sub_version.h"
#include "device/isa/get_nc_version.h"
#include "device/isa/instruction_type.h"
#include "device/isa/iota.h"
#include "device/isa/local_gather.h"
#include "device/isa/max8.h"
#include "device/isa/memset.h"
#include "device/isa/nc_find_index8.h"
#include "device/isa/nc_match_replace8.h"
#include "device/isa/nc_matmul.h"
#include "device/isa/nc_matmul_mx.h"
#include "device/isa/nc_n_gather.h"
#include "device/isa/nc_stream_shuffle.h"
#include "device/isa/nc_transpose.h"
#include "device/isa/nonzero_with_count.h"
#include "device/isa/quantize_mx.h"
#include "device/isa/rand2.h"
#include "device/isa/rand_get_state.h"
#include "device/isa/rand_set_state.h"
#include "device/isa/range_select.h"
#include "device/isa/reciprocal.h"
#include "device/isa/register_alloc.h"
#include "device/isa/register_load.h"
#include "device/isa/register_move.h"
#include "device/isa/register_store.h"
#include "device/isa/rng.h"
#include "device/isa/scalar_tensor_tensor.h"
#include "device/isa/select_reduce.h"
#include "device/isa/sendrecv.h"
#include "device/isa/sequence_bounds.h"
#include "device/isa/set_rng_seed.h"
#include "device/isa/tensor_copy.h"
#include "device/isa/tensor_copy_dynamic_dst.h"
#include "device/isa/tensor_copy_dynamic_src.h"
#include "device/isa/tensor_copy_predicated.h"
#include "device/isa/tensor_partition_reduce.h"
#include "device/isa/tensor_reduce.h"
#include "device/isa/tensor_scalar.h"
#include "device/isa/tensor_scalar_cumulative.h"
#include "device/isa/tensor_scalar_reduce.h"
#include "device/isa/tensor_tensor.h"
#include "device/isa/tensor_tensor_scan.h"
#include "device/isa/topk.h"

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
