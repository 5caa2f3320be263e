// The arithmetic of a convolution: taps accumulate in PSUM and leave it with bias and activation.

#include <algorithm>

#include "device/isa/tensor/nc_matmul.h"
#include "ops/blocks/tiles.h"
#include "ops/conv2d/follower.h"
#include "ops/conv2d/tiles.h"

namespace neuron_sim {
namespace {

// More taps than this become loops, so that the program stays small.
constexpr int64_t kUnrolledTaps = 64;

}  // namespace

/// One filter block of one band.
struct Conv2dBandKernel::Block {
  const View& tile;
  const Conv2dBand& band;
  Affine first;  ///< first filter, counted within the pass
  int64_t filters;
  Affine number;               ///< of the filter block within the pass
  Affine index;                ///< running number of (band, filter block), for rings
  std::vector<View> staged{};  ///< per output: [filters, rows of all images, columns]
};

/// PSUM banks that take the same taps in turn.
struct Conv2dBandKernel::Group {
  Affine image;  ///< within the band, when a bank holds rows of one image
  Affine unit;   ///< number of the first bank within the band or image
  int64_t banks = 1;
  int64_t images = 1, rows = 1, columns = 1;  ///< of a bank
  int64_t column = 0;                         ///< first output column within the band
  int64_t number = 0;  ///< first bank of this group's columns within the band
};

Conv2dBandKernel::Conv2dBandKernel(Builder& builder, const Conv2dPlan& plan, const View& weights,
                                   const View& bias, Activation activation,
                                   Conv2dFollower* follower)
    : builder_(builder),
      plan_(plan),
      weights_(weights),
      bias_(bias),
      follower_(follower),
      pooling_(builder, plan) {
  epilogue_.activation = activation;
  epilogue_.copy_engine = EngineKind::kScalar;  // Vector has the maxima
  const int64_t rows = plan.band_images * plan.band_rows();
  for (const Dtype dtype : plan.shape.output_dtypes) {
    staging_.push_back(
        builder.sbuf("output", {plan.filter_block, rows, plan.panel_columns()}, dtype, 2));
  }
}

void Conv2dBandKernel::begin_pass(const Conv2dPass& pass, const Conv2dTensors& tensors) {
  pass_ = pass;
  tensors_ = tensors;
  if (bias_.present()) epilogue_.partition_bias = bias_.turn(pass.set);
  psum_ =
      builder_.psum("accumulators",
                    {plan_.filter_block, plan_.bank_images * plan_.bank_rows * plan_.bank_columns},
                    Dtype::kFloat32, static_cast<int>(builder_.limits().psum_banks));
}

void Conv2dBandKernel::compute(const View& tile, const Conv2dBand& band) {
  const int64_t blocks = ceiling(pass_.count, plan_.filter_block);
  for_tiles(builder_, pass_.count, plan_.filter_block,
            [&](const Affine& first, int64_t filters, const Affine& number) {
              const Affine index = band.index * blocks + number;
              Block block{tile, band, first, filters, number, index};
              for (const View& ring : staging_) {
                block.staged.push_back(ring.turn(index)
                                           .slice(0, 0, filters)
                                           .slice(1, 0, band.images * band.rows)
                                           .slice(2, 0, band.columns));
              }
              if (follower_ != nullptr) {
                follower_->begin_block(tensors_.followers, pass_, pass_.first + first, filters,
                                       number, band, index);
              }
              int64_t bank_number = 0;
              for (const IntervalRun& run : cut(band.columns, plan_.bank_columns)) {
                for (int64_t i = 0; i < run.count; ++i) {
                  emit_columns(block, run.start + i * run.size, run.size, bank_number);
                  bank_number += banks_per_range();
                }
              }
              finish(block);
            });
}

/// Banks per range of columns of a full band.
int64_t Conv2dBandKernel::banks_per_range() const {
  return ceiling(plan_.band_images, plan_.bank_images) *
         ceiling(plan_.band_rows(), plan_.bank_rows);
}

void Conv2dBandKernel::emit_columns(const Block& block, int64_t column, int64_t columns,
                                    int64_t number) {
  Group group;
  group.columns = columns;
  group.column = column;
  group.number = number;
  if (plan_.bank_images > 1) return emit_units(block, group, block.band.images * block.band.rows);
  builder_.loop(block.band.images, [&](const Affine& image) {
    group.image = image;
    emit_units(block, group, block.band.rows);
  });
}

/// All rows (of one image or all) of a range of columns: full groups in a loop, then the banks that
/// are left, then a shorter bank.
void Conv2dBandKernel::emit_units(const Block& block, Group group, int64_t total) {
  group.images = std::min(plan_.bank_images, block.band.images);
  group.rows = std::min(plan_.bank_rows, block.band.rows);
  const int64_t units = total / (group.images * group.rows);
  const int64_t sets = units / plan_.banks, left = units % plan_.banks;
  builder_.loop(sets, [&](const Affine& set) {
    group.unit = set * plan_.banks;
    group.banks = plan_.banks;
    emit_group(block, group);
  });
  group.unit = sets * plan_.banks;
  group.banks = left;
  if (left > 0) emit_group(block, group);
  const int64_t rest = total % (group.images * group.rows);
  if (rest == 0) return;
  group.unit = units;
  group.banks = 1;
  if (plan_.bank_images > 1) {
    group.images = rest / block.band.rows;
  } else {
    group.rows = rest;
  }
  emit_group(block, group);
}

Affine Conv2dBandKernel::bank_index(const Block& block, const Group& group,
                                    const Affine& unit) const {
  const int64_t ranges = ceiling(plan_.panel_columns(), plan_.bank_columns);
  const Affine first = group.image * ceiling(plan_.band_rows(), plan_.bank_rows) + group.number;
  return block.index * (banks_per_range() * ranges) + first + unit;
}

View Conv2dBandKernel::bank(const Block& block, const Group& group, const Affine& unit) const {
  return psum_.turn(bank_index(block, group, unit))
      .slice(0, 0, block.filters)
      .slice(1, 0, group.images * group.rows * group.columns);
}

void Conv2dBandKernel::emit_group(const Block& block, const Group& group) {
  multiply(block, group);
  builder_.loop(group.banks, [&](const Affine& i) { evacuate_bank(block, group, group.unit + i); });
}

void Conv2dBandKernel::evacuate_bank(const Block& block, const Group& group, const Affine& unit) {
  const int64_t unit_images = std::min(plan_.bank_images, block.band.images);
  const int64_t unit_rows = std::min(plan_.bank_rows, block.band.rows);
  const Affine first_row = group.image * block.band.rows + unit * (unit_images * unit_rows);
  std::vector<View> targets;
  for (const View& staged : block.staged) {
    targets.push_back(staged.slice(1, first_row, group.images * group.rows)
                          .slice(2, group.column, group.columns));
  }
  const View psum = bank(block, group, unit);
  if (follower_ == nullptr) {
    return evacuate(builder_, psum, targets.front(), epilogue_, block.number);
  }
  const bool by_image = plan_.bank_images > 1;
  const Conv2dFollower::Part part{by_image ? unit * unit_images : group.image,
                                  by_image ? Affine(0) : unit * unit_rows,
                                  group.column,
                                  group.images,
                                  group.rows,
                                  group.columns};
  follower_->evacuate(psum, part, targets, bank_index(block, group, unit));
}

/// All taps: unrolled, or kernel rows and contraction blocks in loops with the first one peeled,
/// because it overwrites the bank that the others accumulate into.
void Conv2dBandKernel::multiply(const Block& block, const Group& group) {
  const int64_t blocks = plan_.blocks, rows = plan_.tap_rows;
  if (blocks * rows * plan_.shape.columns.kernel <= kUnrolledTaps) {
    for (int64_t b = 0; b < blocks; ++b) {
      for (int64_t row = 0; row < rows; ++row) {
        multiply_tap(block, group, b, plan_.depth(b), row, b == 0 && row == 0);
      }
    }
    return;
  }
  multiply_tap(block, group, 0, plan_.depth(0), 0, true);
  builder_.loop(rows - 1, [&](const Affine& row) {
    multiply_tap(block, group, 0, plan_.depth(0), row + 1, false);
  });
  const int64_t full = plan_.depth(blocks - 1) == plan_.depth(0) ? blocks : blocks - 1;
  builder_.loop(full - 1, [&](const Affine& b) {
    builder_.loop(rows, [&](const Affine& row) {
      multiply_tap(block, group, b + 1, plan_.depth(0), row, false);
    });
  });
  if (full == blocks || blocks == 1) return;
  builder_.loop(rows, [&](const Affine& row) {
    multiply_tap(block, group, blocks - 1, plan_.depth(blocks - 1), row, false);
  });
}

/// One kernel row of one contraction block.
void Conv2dBandKernel::multiply_tap(const Block& block, const Group& group,
                                    const Affine& contraction, int64_t depth, const Affine& tap_row,
                                    bool first) {
  const Conv2dAxis &rows_axis = plan_.shape.rows, &columns_axis = plan_.shape.columns;
  const View weights = weights_of_block(plan_, weights_, pass_.set, block.number, contraction)
                           .select(1, tap_row)
                           .slice(0, 0, depth)
                           .slice(2, 0, block.filters);
  const View image = block.tile.select(1, contraction).slice(0, 0, depth);
  // Shifted by the kernel row; the rows of a bank are chosen below.
  const int64_t below = rows_axis.reach() - 1;
  const View shifted =
      plan_.packed ? image : image.slice(2, tap_row * rows_axis.dilation, image.size(2) - below);
  for (int64_t column = 0; column < columns_axis.kernel; ++column) {
    const int64_t start = group.column * columns_axis.stride + column * columns_axis.dilation;
    multiply_banks(block, group, weights.select(1, column),
                   shifted.slice(3, start, group.columns, columns_axis.stride),
                   !(first && column == 0));
  }
}

void Conv2dBandKernel::multiply_banks(const Block& block, const Group& group,
                                      const View& stationary, const View& window, bool accumulate) {
  const int64_t step = plan_.packed ? 1 : plan_.shape.rows.stride;
  const bool by_image = plan_.bank_images > 1;
  builder_.loop(group.banks, [&](const Affine& i) {
    const Affine unit = group.unit + i;
    const Affine image =
        by_image ? unit * std::min(plan_.bank_images, block.band.images) : group.image;
    const Affine row = by_image ? 0 : unit * std::min(plan_.bank_rows, block.band.rows) * step;
    builder_.emit(
        NcMatmul{.dst = bank(block, group, unit),
                 .stationary = stationary,
                 .moving = window.slice(1, image, group.images).slice(2, row, group.rows, step),
                 .accumulate = accumulate});
  });
}

void Conv2dBandKernel::finish(const Block& block) {
  if (!plan_.shape.is_pooled()) {
    for (size_t i = 0; i < block.staged.size(); ++i) {
      store_block(block, tensors_.outputs[i], block.staged[i]);
    }
    return;
  }
  const View pooled = pooling_.pool(block.staged.front(), block.band, block.number, block.index);
  if (block.band.last_part) store_block(block, tensors_.outputs.front(), pooled);
}

void Conv2dBandKernel::store_block(const Block& block, const View& output,
                                   const View& result) const {
  const Conv2dBand& band = block.band;
  store(builder_,
        output.slice(0, pass_.first + block.first, block.filters)
            .slice(1, band.image, band.images)
            .slice(2, band.output_row, band.output_rows)
            .slice(3, band.output_column, band.output_columns),
        result);
}

}  // namespace neuron_sim
