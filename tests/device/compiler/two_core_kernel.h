#pragma once
// A kernel of two cores that share HBM and exchange tiles, in loops that the passes transform.

#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/tensor/nc_matmul.h"
#include "tests/device/program/two_cores.h"

namespace neuron_sim {

/// Sizes of the kernel; rounds may be 0.
struct TwoCoreSizes {
  int64_t rounds = 3, blocks = 4, columns = 96;
  Dtype dtype = Dtype::kFloat32;
  DmaEngine dma_engine = DmaEngine::kDma;
};

/// Each core sums products of its half of `in` [blocks, 128, 2 columns] with weights that it loads
/// again for each block, exchanges the sum, and stores it to its half of `shared`. After a barrier
/// it adds the other core's half to its own of `out`, in every one of the rounds.
class TwoCoreKernel {
 public:
  explicit TwoCoreKernel(const TwoCoreSizes& sizes)
      : sizes_(sizes),
        builder_("two_cores", load_architecture("trn2")),
        in_(builder_.argument("in", {sizes.blocks, 128, 2 * sizes.columns}, sizes.dtype)),
        weights_(builder_.argument("weights", {128, 64}, sizes.dtype)),
        out_(builder_.argument("out", {64, 2 * sizes.columns}, sizes.dtype)),
        shared_(builder_.scratch("shared", {64, 2 * sizes.columns}, sizes.dtype)) {}

  std::shared_ptr<const Program> build() {
    for (const int core : {0, 1}) {
      builder_.core(core,
                    [&] { builder_.loop(sizes_.rounds, [&](const Affine&) { round(core); }); });
    }
    return builder_.finish();
  }

 private:
  View half(const View& tensor, int core) const {
    const int last = tensor.rank() - 1;
    return tensor.slice(last, core * sizes_.columns, sizes_.columns);
  }
  View tile(const char* label, int64_t partitions, int64_t width) {
    return builder_.sbuf(label, {partitions, width}, sizes_.dtype);
  }

  void round(int core) {
    const int64_t columns = sizes_.columns;
    const View sum = builder_.psum("sum", {64, columns}, Dtype::kFloat32);
    builder_.emit(Memset{sum, 0});
    builder_.loop(sizes_.blocks, [&](const Affine& block) {
      const View data = tile("data", 128, columns), weight = tile("weight", 128, 64);
      builder_.emit(DmaCopy{.dst = weight, .src = weights_});
      builder_.emit(DmaCopy{.dst = data, .src = half(in_.select(0, block), core)});
      builder_.emit(NcMatmul{.dst = sum, .stationary = weight, .moving = data, .accumulate = true});
    });
    const View own = tile("own", 64, columns), other = tile("other", 64, columns);
    const View stored = tile("stored", 64, columns);
    builder_.emit(TensorCopy{own, sum});
    builder_.emit(exchange_of(core, other, own, 0, sizes_.dma_engine));
    builder_.emit(TensorTensor{own, own, other, AluOp::kSubtract});
    builder_.emit(DmaCopy{.dst = half(shared_, core), .src = own});
    builder_.emit(CoreBarrier{.data = shared_});
    builder_.emit(DmaCopy{.dst = stored, .src = half(shared_, 1 - core)});
    builder_.emit(TensorTensor{own, own, stored, AluOp::kAdd});
    builder_.emit(DmaCopy{.dst = half(out_, core), .src = own});
    builder_.emit(CoreBarrier{.data = shared_});
  }

  TwoCoreSizes sizes_;
  Builder builder_;
  View in_, weights_, out_, shared_;
};

}  // namespace neuron_sim
