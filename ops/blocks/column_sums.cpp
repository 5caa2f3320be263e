#include "ops/blocks/column_sums.h"

#include <algorithm>

#include "device/base/errors.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/reduction/tensor_reduce.h"
#include "device/isa/tensor/nc_matmul.h"
#include "ops/blocks/tiles.h"

namespace neuron_sim {
namespace {

constexpr int64_t kResidentBanks = 4;

}  // namespace

ColumnSums::ColumnSums(Builder& builder, Dtype dtype, int64_t group, int64_t columns)
    : builder_(builder), bank_(product_columns(builder.limits())), group_(group) {
  require(group <= group_limit(builder.limits(), columns), "the rows of a partition fit PSUM");
  bank_groups_ = std::max<int64_t>(1, bank_ / columns);
  banks_ = columns <= bank_ ? ceiling(group, bank_groups_) : ceiling(columns, bank_);
  resident_ = banks_ <= kResidentBanks;
  ones_ = builder.sbuf("ones", {builder.limits().partitions, 1}, dtype);
  builder.emit(Memset{.dst = ones_, .value = 1});
  line_ = builder.sbuf("row_sums", {1, group, columns}, Dtype::kFloat32);
  result_ = builder.sbuf("column_sums", {1, columns}, dtype);
  psum_ = builder.psum("column_sums", {1, bank_}, Dtype::kFloat32,
                       static_cast<int>(resident_ ? banks_ : kResidentBanks));
}

int64_t ColumnSums::group_limit(const Limits& limits, int64_t columns) {
  return std::max<int64_t>(1, product_columns(limits) / columns * kResidentBanks);
}

int64_t ColumnSums::bytes(int64_t group, int64_t columns) {
  return (group + 1) * columns * itemsize(Dtype::kFloat32) + 256;
}

void ColumnSums::begin(int64_t columns) {
  columns_ = columns;
  if (!resident_) {
    builder_.emit(Memset{.dst = line_.slice(2, 0, columns)});
    return;
  }
  for (int64_t bank = 0; bank < banks_; ++bank) {
    builder_.emit(Memset{.dst = psum_.turn(bank)});
  }
}

void ColumnSums::add(const View& tile) {
  const View ones = ones_.slice(0, 0, tile.partitions());
  if (resident_) {
    add_resident(ones, tile);
  } else {
    add_wide(ones, tile);
  }
}

void ColumnSums::add_resident(const View& ones, const View& tile) {
  const int64_t groups = tile.size(1);
  for (int64_t bank = 0; bank < banks_; ++bank) {
    View part;
    if (columns_ <= bank_ && group_ > 1) {
      const int64_t first = bank * bank_groups_;
      if (first >= groups) return;
      part = tile.slice(1, first, std::min(bank_groups_, groups - first));
    } else {
      const int64_t first = bank * bank_;
      if (first >= columns_) return;
      part = tile.slice(2, first, std::min(bank_, columns_ - first));
    }
    builder_.emit(NcMatmul{.dst = psum_.turn(bank).slice(1, 0, part.free_elements()),
                           .stationary = ones,
                           .moving = part,
                           .accumulate = true});
  }
}

void ColumnSums::add_wide(const View& ones, const View& tile) {
  const View line = line_.select(1, 0);
  for_tiles(builder_, columns_, bank_,
            [&](const Affine& first, int64_t count, const Affine& index) {
              const View sums = psum_.turn(index).slice(1, 0, count);
              const View window = line.slice(1, first, count);
              builder_.emit(NcMatmul{sums, ones, tile.select(1, 0).slice(1, first, count)});
              builder_.emit(TensorTensor{.dst = window, .data1 = window, .data2 = sums});
            });
}

void ColumnSums::finish(const View& target) {
  const View result = result_.slice(1, 0, columns_);
  if (resident_) {
    for (int64_t bank = 0; bank < banks_; ++bank) {
      View window;
      if (columns_ <= bank_ && group_ > 1) {
        const int64_t first = bank * bank_groups_;
        window = line_.slice(1, first, std::min(bank_groups_, group_ - first));
      } else {
        const int64_t first = bank * bank_;
        if (first >= columns_) break;
        window = line_.select(1, 0).slice(1, first, std::min(bank_, columns_ - first));
      }
      builder_.emit(
          TensorCopy{.dst = window, .src = psum_.turn(bank).slice(1, 0, window.free_elements())});
    }
  }
  if (group_ > 1) {
    builder_.emit(TensorReduce{.dst = result, .data = line_.permute({0, 2, 1})});
  } else {
    builder_.emit(TensorCopy{.dst = result, .src = line_.select(1, 0).slice(1, 0, columns_)});
  }
  store(builder_, target.expand(0), result);
}

}  // namespace neuron_sim
