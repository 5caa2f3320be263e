#pragma once
// Shared by the parts of the convolution kernel: its tensors and its tiles.

#include <vector>

#include "device/builder/builder.h"
#include "ops/blocks/epilogue.h"
#include "ops/conv2d/plan.h"

namespace neuron_sim {

/// HBM tensors of a set of groups; images have the channel dimension first.
struct Conv2dTensors {
  View input;   ///< [channels, N, H, W]
  View weight;  ///< [filters, channels of a group, KH, KW]
  View bias;    ///< [filters]; absent: no bias
  View zeros;   ///< a row of an image tile; absent when no load needs one
  View dense;   ///< SBUF: image tiles without padding, absent unless the plan spreads rows
  std::vector<View> followers{};  ///< operands of the expression that follows, as the outputs
  std::vector<View> outputs{};    ///< [filters, N, PH, PW]; one, or one per result of it
};

/// The outputs of one image tile.
struct Conv2dBand {
  Affine image, output_row, output_column;  ///< first element of the result
  int64_t images = 0, output_rows = 0, output_columns = 0;
  Affine row, column;             ///< first output of the convolution, before pooling
  int64_t rows = 0, columns = 0;  ///< outputs of the convolution
  Affine index;                   ///< running number, for rings
  bool first_part = true;         ///< the first and last of the bands that share pooling windows
  bool last_part = true;
};

/// Filters [first, first + count) of a set of groups, whose weights are in SBUF.
struct Conv2dPass {
  Affine first;
  int64_t count = 0;
  Affine set;  ///< running number of the set, for rings
};

/// SBUF image tiles [128, blocks, images, rows, columns].
View allocate_images(Builder& builder, const Conv2dPlan& plan);
/// Zeroes the borders of all image tiles that no load overwrites.
void clear_borders(Builder& builder, const Conv2dPlan& plan, const View& images);
/// SBUF image tiles of a contraction block without padding, [128, images, rows, columns]; absent
/// unless the plan spreads rows.
View allocate_dense(Builder& builder, const Conv2dPlan& plan);
/// A row of zeros in HBM, [1, 1, 1, 1, columns]: rows of padding are loaded like all others. A
/// memset would queue after the pooling of the previous band and delay the load that waits for it.
View zero_row(Builder& builder, const Conv2dPlan& plan);
/// Loads the input of a band, with zeros where it is padding, into one image tile.
void load_band(Builder& builder, const Conv2dPlan& plan, const Conv2dTensors& tensors,
               const View& tile, const Conv2dBand& band);

/// SBUF weights: a ring of tiles [128, tap rows, KW, filters], one for each contraction block of
/// each filter block, or of all of them where they load together. Separate tiles, so that the first
/// products start before the last weights arrive.
View allocate_weights(Builder& builder, const Conv2dPlan& plan);
/// The window of a filter block and a contraction block in them.
View weights_of_block(const Conv2dPlan& plan, const View& weights, const Affine& set,
                      const Affine& block, const Affine& contraction);
/// SBUF staging tiles of untransposed weights, absent when they are not needed.
struct RawWeights {
  View dense;      ///< [filters, channels of a group, KH, KW], when groups share the array
  View mask;       ///< [filters, groups of a set]: all bits set where the filter's group is
  View rows;       ///< [filters, channels, KH, KW]
  View reordered;  ///< [filters, KW, KH, channels], for packed blocks
  View integers;   ///< fp32 [filters, channels of a block, KH, KW], where bits are transposed
};
/// Allocates them, and loads the mask.
RawWeights allocate_raw_weights(Builder& builder, const Conv2dPlan& plan);
/// Loads and transposes the weights of a pass.
void load_weights(Builder& builder, const Conv2dPlan& plan, const View& weight,
                  const RawWeights& raw, const View& weights, const Conv2dPass& pass);
/// SBUF [filters of a block, blocks of a pass], a ring over the sets.
View allocate_bias(Builder& builder, const Conv2dPlan& plan, Dtype dtype);
/// Loads the bias of a pass. Emit it after the weights: nothing needs it before the first bank is
/// complete, and its single elements cost the DMA engines more than their bytes.
void load_bias(Builder& builder, const Conv2dPlan& plan, const View& bias, const View& tiles,
               const Conv2dPass& pass);

/// Max pooling of staged outputs.
class Conv2dPooling {
 public:
  Conv2dPooling(Builder& builder, const Conv2dPlan& plan);
  /// The maxima of `staged`, [filters, rows of all images, columns]: [filters, rows, columns] of
  /// the result, complete when the band is the last part of its windows. `number` is the filter
  /// block within the pass, `index` the running number of band and block.
  View pool(const View& staged, const Conv2dBand& band, const Affine& number, const Affine& index);

 private:
  void by_pairs(const View& staged, const View& half, const View& target, const Conv2dBand& band);
  void maxima_of(const View& source, int axis, int64_t window, int64_t count, int64_t step,
                 const View& target);

  Builder& builder_;
  const Conv2dPlan& plan_;
  View half_, pooled_, maxima_;
};

class Conv2dFollower;

/// Multiplies, evacuates, pools and stores bands.
class Conv2dBandKernel {
 public:
  /// `bias` may be absent. `follower`, if there is one, makes the outputs of the sums.
  Conv2dBandKernel(Builder& builder, const Conv2dPlan& plan, const View& weights, const View& bias,
                   Activation activation, Conv2dFollower* follower);
  /// Allocates the PSUM banks; call it in the scope of a pass, after load_weights. `tensors` are
  /// those of the pass's set.
  void begin_pass(const Conv2dPass& pass, const Conv2dTensors& tensors);
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
  Affine bank_index(const Block& block, const Group& group, const Affine& unit) const;
  View bank(const Block& block, const Group& group, const Affine& unit) const;
  void evacuate_bank(const Block& block, const Group& group, const Affine& unit);
  void finish(const Block& block);
  void store_block(const Block& block, const View& output, const View& result) const;

  Builder& builder_;
  const Conv2dPlan& plan_;
  View weights_, bias_;
  Epilogue epilogue_;
  Conv2dFollower* follower_;
  Conv2dPooling pooling_;
  View psum_;
  std::vector<View> staging_;  ///< per output
  Conv2dTensors tensors_;
  Conv2dPass pass_;
};

}  // namespace neuron_sim
