#pragma once
// What the parts of the convolution kernel share: its tensors and its tiles.

#include "device/program/builder.h"
#include "ops/epilogue.h"
#include "ops/kernels/conv2d_plan.h"

namespace neuron_sim {

/// HBM arguments; images have the channel dimension first.
struct Conv2dTensors {
  View input;   ///< [Cin, N, H, W]
  View weight;  ///< [Cout, Cin, KH, KW]
  View bias;    ///< [Cout]
  View output;  ///< [Cout, N, PH, PW]
  View zeros;   ///< a row of an image tile; absent when no load needs one
};

/// Outputs (before pooling) that one image tile produces.
struct Conv2dBand {
  Affine image, row, column;  ///< first output
  int64_t images = 0, rows = 0, columns = 0;
  Affine index;            ///< running number, for rings
  bool first_part = true;  ///< the first and last of the bands that share pooling windows
  bool last_part = true;
};

/// Filters [first, first + count) whose weights are in SBUF.
struct Conv2dPass {
  Affine first;
  int64_t count = 0;
};

/// SBUF image tiles [128, blocks, images, rows, columns].
View allocate_images(Builder& builder, const Conv2dPlan& plan);
/// Zeroes those borders of all image tiles that no load overwrites.
void clear_borders(Builder& builder, const Conv2dPlan& plan, const View& images);
/// A row of zeros in HBM, [1, 1, 1, 1, columns]: rows of padding are loaded like all others. A
/// memset would queue behind the pooling of the previous band and delay the load that waits for it.
View zero_row(Builder& builder, const Conv2dPlan& plan);
/// Loads the input of a band, with zeros where it is padding, into one image tile.
void load_band(Builder& builder, const Conv2dPlan& plan, const Conv2dTensors& tensors,
               const View& tile, const Conv2dBand& band);

/// SBUF weights: a ring of tiles [128, tap rows, KW, filters], number
/// filter block * plan.blocks + contraction block. Tiles of their own, so that the first products
/// start before the last weights are there.
View allocate_weights(Builder& builder, const Conv2dPlan& plan);
/// SBUF staging tiles of untransposed weights, absent when they are not needed.
struct RawWeights {
  View rows;       ///< [filters, channels, KH, KW]
  View reordered;  ///< [filters, KW, KH, channels], for packed blocks
  View integers;   ///< fp32 [filters, channels of a block, KH, KW], where bits are transposed
};
RawWeights allocate_raw_weights(Builder& builder, const Conv2dPlan& plan);
/// Loads and transposes the weights of a pass.
void load_weights(Builder& builder, const Conv2dPlan& plan, const View& weight,
                  const RawWeights& raw, const View& weights, const Conv2dPass& pass);
/// SBUF [filters of a block, blocks of a pass].
View allocate_bias(Builder& builder, const Conv2dPlan& plan);
/// Loads the bias of a pass. Emit it behind the weights: nothing needs it before the first bank is
/// complete, and its single elements cost the DMA engines more than their bytes.
void load_bias(Builder& builder, const Conv2dPlan& plan, const View& bias, const View& tile,
               const Conv2dPass& pass);

/// Multiplies, evacuates, pools and stores bands.
class Conv2dBandKernel {
 public:
  Conv2dBandKernel(Builder& builder, const Conv2dPlan& plan, const View& weights,
                   const Epilogue& epilogue, const View& output);
  /// Allocates the PSUM banks; call it in the scope of a pass, after load_weights.
  void begin_pass(const Conv2dPass& pass);
  /// Computes all filters of the pass for one band.
  void compute(const View& tile, const Conv2dBand& band);

 private:
  struct Block;
  struct Group;
  void multiply(const Block& block, const Group& group);
  void multiply_tap(const Block& block, const Group& group, const Affine& contraction,
                    int64_t depth, const Affine& tap_row, bool first);
  void multiply_banks(const Block& block, const Group& group, const View& stationary,
                      const View& window, bool accumulate);
  void emit_group(const Block& block, const Group& group);
  void emit_columns(const Block& block, int64_t column, int64_t columns, int64_t number);
  void emit_units(const Block& block, Group group, int64_t total);
  int64_t banks_per_range() const;
  View bank(const Block& block, const Group& group, const Affine& unit) const;
  void pool(const Block& block);
  void pool_by_pairs(const View& staged, const View& half, const View& target) const;
  void store_block(const Block& block, const View& result) const;

  Builder& builder_;
  const Conv2dPlan& plan_;
  View weights_;
  Epilogue epilogue_;
  View output_;
  View psum_, staging_, half_, pooled_, maxima_;
  Conv2dPass pass_;
};

}  // namespace neuron_sim
