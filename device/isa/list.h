#pragma once
// The one list of instructions: tables, documentation and the methods of Python's Builder follow
// it.

#include <tuple>

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
#include "device/isa/sequencing/core_barrier.h"
#include "device/isa/sequencing/register_alloc.h"
#include "device/isa/sequencing/register_load.h"
#include "device/isa/sequencing/register_move.h"
#include "device/isa/sequencing/register_store.h"
#include "device/isa/tensor/nc_matmul.h"
#include "device/isa/tensor/nc_matmul_mx.h"
#include "device/isa/tensor/nc_transpose.h"
#include "device/isa/tensor/quantize_mx.h"

namespace neuron_sim {

/// The struct of an instruction with its table entry.
template <typename T>
struct ListedInstruction {
  using Struct = T;
  const InstructionType* type;
};

/// In alphabetical order. Collectives and rank_id are made by their own functions, see
/// device/isa/dma/collective.h and device/isa/sequencing/rank_id.h.
// clang-format off
inline constexpr std::tuple kInstructions = {
    ListedInstruction<Activate2>{&kActivate2},
    ListedInstruction<Activate>{&kActivation},
    ListedInstruction<ActivationReduce>{&kActivationReduce},
    ListedInstruction<AffineSelect>{&kAffineSelect},
    ListedInstruction<BnAggr>{&kBnAggr},
    ListedInstruction<BnStats>{&kBnStats},
    ListedInstruction<BuiltinCustomOp>{&kBuiltinCustomOp},
    ListedInstruction<CoreBarrier>{&kCoreBarrier},
    ListedInstruction<DmaCompute>{&kDmaCompute},
    ListedInstruction<DmaCopy>{&kDmaCopy},
    ListedInstruction<DmaTranspose>{&kDmaTranspose},
    ListedInstruction<Dropout>{&kDropout},
    ListedInstruction<Exponential>{&kExponential},
    ListedInstruction<Iota>{&kIota},
    ListedInstruction<LocalGather>{&kLocalGather},
    ListedInstruction<Max8>{&kMax8},
    ListedInstruction<Memset>{&kMemset},
    ListedInstruction<NcFindIndex8>{&kNcFindIndex8},
    ListedInstruction<NcMatchReplace8>{&kNcMatchReplace8},
    ListedInstruction<NcMatmul>{&kNcMatmul},
    ListedInstruction<NcMatmulMx>{&kNcMatmulMx},
    ListedInstruction<NcNGather>{&kNcNGather},
    ListedInstruction<NcStreamShuffle>{&kNcStreamShuffle},
    ListedInstruction<NcTranspose>{&kNcTranspose},
    ListedInstruction<NonzeroWithCount>{&kNonzeroWithCount},
    ListedInstruction<QuantizeMx>{&kQuantizeMx},
    ListedInstruction<Rand2>{&kRand2},
    ListedInstruction<RandGetState>{&kRandGetState},
    ListedInstruction<RandSetState>{&kRandSetState},
    ListedInstruction<RangeSelect>{&kRangeSelect},
    ListedInstruction<Reciprocal>{&kReciprocal},
    ListedInstruction<RegisterAlloc>{&kRegisterAlloc},
    ListedInstruction<RegisterLoad>{&kRegisterLoad},
    ListedInstruction<RegisterMove>{&kRegisterMove},
    ListedInstruction<RegisterStore>{&kRegisterStore},
    ListedInstruction<Rng>{&kRng},
    ListedInstruction<ScalarTensorTensor>{&kScalarTensorTensor},
    ListedInstruction<SelectReduce>{&kSelectReduce},
    ListedInstruction<SendRecv>{&kSendRecv},
    ListedInstruction<SequenceBounds>{&kSequenceBounds},
    ListedInstruction<SetRngSeed>{&kSetRngSeed},
    ListedInstruction<TensorCopy>{&kTensorCopy},
    ListedInstruction<TensorCopyDynamicDst>{&kTensorCopyDynamicDst},
    ListedInstruction<TensorCopyDynamicSrc>{&kTensorCopyDynamicSrc},
    ListedInstruction<TensorCopyPredicated>{&kTensorCopyPredicated},
    ListedInstruction<TensorPartitionReduce>{&kTensorPartitionReduce},
    ListedInstruction<TensorReduce>{&kTensorReduce},
    ListedInstruction<TensorScalar>{&kTensorScalar},
    ListedInstruction<TensorScalarCumulative>{&kTensorScalarCumulative},
    ListedInstruction<TensorScalarReduce>{&kTensorScalarReduce},
    ListedInstruction<TensorTensor>{&kTensorTensor},
    ListedInstruction<TensorTensorScan>{&kTensorTensorScan},
    ListedInstruction<Topk>{&kTopk},
};
// clang-format on

}  // namespace neuron_sim
