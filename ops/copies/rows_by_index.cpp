#include "ops/copies/rows_by_index.h"

#include <algorithm>

#include "device/base/errors.h"
#include "device/isa/dma/dma_copy.h"
#include "ops/blocks/tiles.h"

namespace neuron_sim {
namespace {

constexpr int64_t kRowBytes = 16384;  // of a tile, per partition

class IndexedRows {
 public:
  IndexedRows(Builder& builder, const HbmTensor& table, const HbmTensor& indices,
              const HbmTensor& rows)
      : builder_(builder), table_(table), indices_(indices), rows_(rows) {
    require(table.shape.size() == 2 && rows.shape.size() == 2 && indices.shape.size() == 1,
            "rows are indexed in a matrix");
    partitions_ = builder.limits().partitions;
    width_ = std::min(rows.shape[1], kRowBytes / itemsize(table.dtype()));
    index_tile_ = builder.sbuf("indices", {partitions_, 1}, indices.dtype(), kTripleBuffer);
    row_tile_ = builder.sbuf("rows", {partitions_, width_}, rows.dtype(), kTripleBuffer);
  }

  /// `move(index tile, row tile, rows of the tensor, indexed part of the table)` for every piece.
  template <typename Move>
  void emit(Move move) {
    for_tiles(
        builder_, rows_.shape[0], partitions_,
        [&](const Affine& row, int64_t count, const Affine& turn) {
          const View index = index_tile_.turn(turn).slice(0, 0, count);
          load(builder_, index,
               indices_.view({count, 1}, {indices_.strides[0], 1}, row * indices_.strides[0]));
          for_tiles(
              builder_, rows_.shape[1], width_,
              [&](const Affine& column, int64_t columns, const Affine& part) {
                const int64_t parts = ceiling(rows_.shape[1], width_);
                const View tile =
                    row_tile_.turn(turn * parts + part).slice(0, 0, count).slice(1, 0, columns);
                move(index, tile, window(rows_, row, count, column, columns),
                     indexed(column, columns, count));
              });
        });
  }

 private:
  static View window(const HbmTensor& tensor, const Affine& row, int64_t rows, const Affine& column,
                     int64_t columns) {
    return tensor.view({rows, columns}, tensor.strides,
                       row * tensor.strides[0] + column * tensor.strides[1]);
  }
  View indexed(const Affine& column, int64_t columns, int64_t count) const {
    const int64_t rows = table_.shape[0];
    return window(table_, 0, rows, column, columns).indirect(rows, count);
  }

  Builder& builder_;
  const HbmTensor table_, indices_, rows_;
  int64_t partitions_ = 0, width_ = 0;
  View index_tile_, row_tile_;
};

}  // namespace

void emit_gather_rows(Builder& builder, HbmTensors operands, HbmTensors results) {
  builder.scope([&] {
    IndexedRows(builder, operands[0], operands[1], results[0])
        .emit([&](const View& index, const View& tile, const View& rows, const View& indexed) {
          builder.emit(DmaCopy{.dst = tile, .src = indexed, .index = index});
          store(builder, rows, tile);
        });
  });
}

void emit_scatter_rows(Builder& builder, HbmTensors operands, HbmTensors results,
                       const ScatterOptions& options) {
  builder.scope([&] {
    IndexedRows(builder, results[0], operands[0], operands[1])
        .emit([&](const View& index, const View& tile, const View& rows, const View& indexed) {
          load(builder, tile, rows);
          builder.emit(DmaCopy{.dst = indexed,
                               .src = tile,
                               .index = index,
                               .dst_rmw_add = options.add,
                               .unique_indices = false});
        });
  });
}

}  // namespace neuron_sim
