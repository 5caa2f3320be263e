#include "ops/conv2d/group_weights.h"

#include <algorithm>
#include <vector>

#include "device/isa/elementwise/tensor_tensor.h"
#include "ops/blocks/tiles.h"

namespace neuron_sim {

View load_group_mask(Builder& builder, int64_t groups, int64_t group_filters, Dtype dtype,
                     EngineKind queue) {
  const int64_t filters = groups * group_filters, size = itemsize(dtype);
  std::vector<std::byte> bytes(static_cast<size_t>(filters * groups * size));
  for (int64_t filter = 0; filter < filters; ++filter) {
    const int64_t group = filter / group_filters;
    std::fill_n(bytes.begin() + (filter * groups + group) * size, size, std::byte{0xFF});
  }
  const Dtype bits = size == 4 ? Dtype::kInt32 : Dtype::kInt16;
  View mask = builder.sbuf("group_mask", {filters, groups}, bits);
  load(builder, mask, builder.constant("group_mask", {filters, groups}, bits, std::move(bytes)),
       queue);
  return mask;
}

void spread_groups(Builder& builder, const View& target, const View& dense, const View& mask) {
  const int64_t groups = mask.size(1), elements = dense.free_elements();
  const Dtype bits = mask.dtype();
  builder.emit(
      TensorTensor{.dst = target.flatten().split(1, groups, elements).reinterpret(bits),
                   .data1 = dense.flatten().expand(1).broadcast(1, groups).reinterpret(bits),
                   .data2 = mask.expand(2).broadcast(2, elements),
                   .op = AluOp::kBitwiseAnd});
}

}  // namespace neuron_sim
