// The strided plan of vector_add; see vector_add.h.

#include <algorithm>

#include "device/base/errors.h"
#include "ops/blocks/tiles.h"
#include "ops/vector_add/add_tiles.h"

namespace neuron_sim {
namespace {

constexpr int kMaximumSuffix = 3;  // free dimensions from HBM; one more holds grouped rows

/// Which dimension lies on partitions and which suffix of dimensions is free.
struct StridedPlan {
  int partition = 0;
  int first_free = 1;
};

StridedPlan choose_plan(const View& out, int64_t free_dim) {
  StridedPlan plan;
  plan.first_free = out.rank() - 1;
  int64_t inner = out.size(plan.first_free);
  while (plan.first_free > 1 && inner * 4 <= free_dim &&
         out.rank() - plan.first_free < kMaximumSuffix) {
    inner *= out.size(--plan.first_free);
  }
  for (int i = 1; i < plan.first_free; ++i) {
    if (out.size(i) > out.size(plan.partition)) plan.partition = i;
  }
  return plan;
}

class StridedAdd {
 public:
  StridedAdd(Builder& builder, const View& out, int64_t free_dim)
      : builder_(builder),
        plan_(choose_plan(out, free_dim)),
        partitions_(builder.limits().partitions),
        free_dim_(std::max(free_dim, elements_after(out, plan_.first_free))),
        tiles_(builder, out.dtype(), partitions_, free_dim_, kTripleBuffer) {}

  /// Loops over the dimensions before the free ones, except the partition dimension.
  void emit(const View& a, const View& b, const View& out, int partition, int first_free) {
    for (int i = 0; i < first_free; ++i) {
      if (i == partition) continue;
      const int left = i < partition ? partition - 1 : partition;
      builder_.loop(out.size(i), [&](const Affine& index) {
        emit(a.select(i, index), b.select(i, index), out.select(i, index), left, first_free - 1);
      });
      return;
    }
    emit_rows(a, b, out);
  }
  const StridedPlan& plan() const { return plan_; }

 private:
  static int64_t elements_after(const View& view, int dimension) {
    int64_t product = 1;
    for (int i = dimension + 1; i < view.rank(); ++i) product *= view.size(i);
    return product;
  }

  /// Views [rows, free...]: short rows are grouped, several to a partition; long ones are cut.
  void emit_rows(const View& a, const View& b, const View& out) {
    const int64_t group = std::max<int64_t>(1, free_dim_ / out.free_elements());
    const int64_t rows = out.size(0);
    const int64_t full = rows / (partitions_ * group) * (partitions_ * group);
    for_tiles(builder_, full, partitions_ * group,
              [&](const Affine& row, int64_t count, const Affine& index) {
                const auto cut = [&](const View& view) {
                  const View part = view.slice(0, row, count);
                  return group == 1 ? part : part.split(0, partitions_, group);
                };
                emit_columns(cut(a), cut(b), cut(out), index);
              });
    for_tiles(builder_, rows - full, partitions_,
              [&](const Affine& row, int64_t count, const Affine& index) {
                const auto cut = [&](const View& view) { return view.slice(0, row + full, count); };
                emit_columns(cut(a), cut(b), cut(out), index);
              });
  }

  void emit_columns(const View& a, const View& b, const View& out, const Affine& turn) {
    const int64_t step = std::max<int64_t>(1, free_dim_ / elements_after(out, 1));
    const int64_t steps = ceiling(out.size(1), step);
    for_tiles(builder_, out.size(1), step,
              [&](const Affine& first, int64_t count, const Affine& index) {
                tiles_.add(a.slice(1, first, count), b.slice(1, first, count),
                           out.slice(1, first, count), turn * steps + index);
              });
  }

  Builder& builder_;
  StridedPlan plan_;
  int64_t partitions_, free_dim_;
  AddTiles tiles_;
};

}  // namespace

void emit_strided_add(Builder& builder, const View& a, const View& b, const View& out,
                      int64_t free_dim) {
  require(out.rank() >= 2, "a tensor of one dimension is a vector");
  StridedAdd kernel(builder, out, free_dim);
  kernel.emit(a, b, out, kernel.plan().partition, kernel.plan().first_free);
}

}  // namespace neuron_sim
