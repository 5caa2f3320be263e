#include "ops/blocks/contraction.h"

#include <algorithm>

#include "device/base/errors.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/tensor/nc_matmul.h"
#include "ops/blocks/tiles.h"

namespace neuron_sim {
namespace {

// A DMA of this size keeps all 16 engines busy longer than its trigger takes.
constexpr int64_t kTransferBytes = int64_t{512} * 1024;
// Below this many elements, a gather by DMA finishes before a transpose on chip would.
constexpr int64_t kGatherElements = 128;

/// Per partition, of what is loaded at once to be cast: a row, or as much as one transfer takes.
int64_t uncast_elements(const View& matrix, int64_t rows, bool transposes) {
  if (transposes) return rows;
  constexpr int64_t kLargestPartitions = 128;
  return kTransferBytes / kLargestPartitions / itemsize(matrix.dtype());
}

}  // namespace

View blocked_tile(Builder& builder, const std::string& label, int64_t rows, int64_t columns,
                  Dtype dtype, int ring) {
  const int64_t partitions = builder.limits().partitions;
  return builder.sbuf(label, {partitions, ceiling(rows, partitions), columns}, dtype, ring);
}

int64_t blocked_bytes(const Limits& limits, int64_t rows, int64_t columns, Dtype dtype) {
  return ceiling(rows, limits.partitions) * columns * itemsize(dtype);
}

bool needs_transposing(const View& matrix) {
  const int64_t element = itemsize(matrix.dtype());
  const bool rows_contiguous = matrix.size(1) > 1 && matrix.dimension(1).stride == element;
  const bool columns_contiguous = matrix.size(0) > 1 && matrix.dimension(0).stride == element;
  return columns_contiguous && !rows_contiguous &&
         matrix.size(0) * matrix.size(1) > kGatherElements;
}

int64_t ContractionLoader::staging_bytes(const View& matrix, int64_t rows,
                                         std::optional<Dtype> dtype) {
  const bool transposes = needs_transposing(matrix);
  const bool casts = dtype.value_or(matrix.dtype()) != matrix.dtype();
  const int64_t staging = transposes ? rows * itemsize(dtype.value_or(matrix.dtype())) : 0;
  const int64_t uncast = casts ? uncast_elements(matrix, rows, transposes) : 0;
  return 2 * (staging + uncast * itemsize(matrix.dtype()));
}

ContractionLoader::ContractionLoader(Builder& builder, const View& matrix, int64_t rows,
                                     Transposer* transposer, EngineKind queue, int staging_ring,
                                     std::optional<Dtype> dtype)
    : builder_(builder), queue_(queue) {
  const int64_t partitions = builder.limits().partitions;
  const bool transposes = needs_transposing(matrix);
  if (dtype.value_or(matrix.dtype()) != matrix.dtype()) {
    uncast_ = builder.sbuf(matrix.label() + "_uncast",
                           {partitions, uncast_elements(matrix, rows, transposes)}, matrix.dtype(),
                           staging_ring);
  }
  if (!transposes) return;
  require(transposer != nullptr, "an operand that is transposed on chip needs a transposer");
  transposer_ = transposer;
  staging_ = builder.sbuf(matrix.label() + "_rows", {partitions, rows},
                          dtype.value_or(matrix.dtype()), staging_ring);
}

void ContractionLoader::load(const View& source, const BlockedMatrix& target, const Affine& turn) {
  if (transposer_ != nullptr) {
    load_transposed(source, target, turn);
  } else {
    load_rows(source, target, turn);
  }
}

void ContractionLoader::load_cast(const View& target, const View& source, const Affine& turn) {
  if (!uncast_.present()) return neuron_sim::load(builder_, target, source, queue_);
  View loaded = uncast_.turn(turn).slice(0, 0, target.size(0)).slice(1, 0, target.free_elements());
  if (target.rank() == 3) loaded = loaded.split(1, target.size(1), target.size(2));
  neuron_sim::load(builder_, loaded, source, queue_);
  builder_.emit(TensorCopy{.dst = target, .src = loaded});
}

void ContractionLoader::load_rows(const View& source, const BlockedMatrix& target,
                                  const Affine& turn) {
  const int64_t partitions = target.tile.size(0);
  const int64_t row_bytes = target.columns * itemsize(source.dtype());
  const int64_t fitting = kTransferBytes / (partitions * row_bytes);
  const int64_t full = target.full_blocks();
  const int64_t step = std::max<int64_t>(1, fitting);
  const int64_t calls = ceiling(full, step) + (target.rest() > 0 ? 1 : 0);
  for_tiles(builder_, full, step, [&](const Affine& block, int64_t count, const Affine& index) {
    const View rows = source.slice(0, block * partitions, count * partitions)
                          .split(0, count, partitions)
                          .permute({1, 0, 2});
    load_cast(target.tile.slice(1, block, count).slice(2, 0, target.columns), rows,
              turn * calls + index);
  });
  if (target.rest() == 0) return;
  load_cast(target.part(full, target.rest(), 0, target.columns),
            source.slice(0, full * partitions, target.rest()), turn * calls + (calls - 1));
}

void ContractionLoader::load_transposed(const View& source, const BlockedMatrix& target,
                                        const Affine& turn) {
  const int64_t partitions = target.tile.size(0);
  const int64_t full = target.full_blocks(), rest = target.rest();
  const int64_t calls = ceiling(full, transposer_->group()) + (rest > 0 ? 1 : 0);
  const View by_columns = source.permute({1, 0});
  const int64_t tiles = ceiling(target.columns, partitions);
  for_tiles(builder_, target.columns, partitions,
            [&](const Affine& column, int64_t count, const Affine& tile) {
              const Affine index = turn * tiles + tile;
              const View staged = staging_.turn(index).slice(0, 0, count).slice(1, 0, target.rows);
              load_cast(staged, by_columns.slice(0, column, count), index);
              const View place = target.tile.slice(2, column, count);
              for_tiles(builder_, full, transposer_->group(),
                        [&](const Affine& block, int64_t blocks, const Affine& call) {
                          transposer_->transpose(
                              place.slice(1, block, blocks),
                              [&](int64_t j) {
                                return staged.slice(1, (block + j) * partitions, partitions);
                              },
                              index * calls + call);
                        });
              if (rest > 0) {
                transposer_->transpose(
                    place.slice(0, 0, rest).slice(1, full, 1),
                    [&](int64_t) { return staged.slice(1, full * partitions, rest); },
                    index * calls + (calls - 1));
              }
            });
}

void multiply(Builder& builder, const View& psum, const ColumnWindow& stationary,
              const ColumnWindow& moving, bool accumulate) {
  const int64_t partitions = stationary.matrix.tile.size(0);  // of a full block
  const int64_t full = stationary.matrix.full_blocks(), rest = stationary.matrix.rest();
  require(stationary.matrix.rows == moving.matrix.rows && stationary.matrix.rows > 0,
          "a product contracts equal, non-empty dimensions");
  const auto step = [&](const Affine& block, int64_t rows, bool add) {
    builder.emit(
        NcMatmul{psum, stationary.matrix.part(block, rows, stationary.column, stationary.columns),
                 moving.matrix.part(block, rows, moving.column, moving.columns), add});
  };
  if (full > 0) step(0, partitions, accumulate);
  builder.loop(full - 1 > 0 ? full - 1 : 0,
               [&](const Affine& block) { step(block + 1, partitions, true); });
  if (rest > 0) step(full, rest, accumulate || full > 0);
}

}  // namespace neuron_sim
