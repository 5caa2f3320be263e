#include "ops/attention/mask.h"

#include <limits>

#include "device/isa/elementwise/affine_select.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy_predicated.h"

namespace neuron_sim {

CausalMask::CausalMask(Builder& builder, bool causal) : builder_(builder), causal_(causal) {
  if (!causal) return;
  const int64_t partitions = builder.limits().partitions;
  above_ = builder.sbuf("above_diagonal", {partitions, partitions}, Dtype::kUint8);
  builder.emit(Memset{.dst = above_, .value = 1});
  builder.emit(AffineSelect{.dst = above_,
                            .pattern = {{1, partitions}},
                            .channel_multiplier = -1,
                            .on_true_tile = above_,
                            .cmp_op = AluOp::kGreater});
}

void CausalMask::apply(const View& scores, int64_t row, int64_t key) const {
  const int64_t first = row - key;  // column of the diagonal
  if (!causal_ || scores.size(1) <= first) return;
  const int64_t rows = scores.size(0), columns = scores.size(1) - first;
  builder_.emit(TensorCopyPredicated{.dst = scores.slice(1, first, columns),
                                     .predicate = above_.slice(0, 0, rows).slice(1, 0, columns),
                                     .constant = -std::numeric_limits<double>::infinity()});
}

}  // namespace neuron_sim
