#include "ops/conv2d/conv2d_follower.h"

#include "device/base/errors.h"
#include "ops/blocks/tiles.h"
#include "ops/pointwise/tile_loader.h"

namespace neuron_sim {
namespace {

constexpr int kRing = 2;

std::vector<bool> partition_inputs(const std::vector<bool>& per_filter) {
  std::vector<bool> inputs{false};  // the sums
  inputs.insert(inputs.end(), per_filter.begin(), per_filter.end());
  return inputs;
}

std::vector<bool> per_filter(const Conv2dFollowerOperands& operands) {
  std::vector<bool> flags;
  for (size_t i = 0; i < operands.tensors.size(); ++i) flags.push_back(operands.is_per_filter(i));
  return flags;
}

}  // namespace

bool Conv2dFollowerOperands::is_per_filter(size_t i) const {
  const HbmTensor& tensor = tensors[i];
  for (const size_t d : {size_t{0}, size_t{2}, size_t{3}}) {
    if (tensor.shape[d] > 1 && tensor.strides[d] != 0) return false;
  }
  return tensor.dtype() == Dtype::kFloat32;
}

int64_t Conv2dFollowerOperands::tile_bytes() const {
  int64_t bytes = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!is_per_filter(i)) bytes += itemsize(tensors[i].dtype());
  }
  return bytes;
}

Conv2dFollower::Conv2dFollower(Builder& builder, const Conv2dPlan& plan,
                               const Expression& expression, const Conv2dFollowerOperands& operands)
    : builder_(builder),
      plan_(plan),
      emitter_(ExpressionEmitter(builder, expression, plan.filter_block,
                                 plan.bank_images * plan.bank_rows * plan.bank_columns)
                   .with_partition_inputs(partition_inputs(per_filter(operands)))),
      per_filter_(per_filter(operands)) {
  const int64_t pixels = plan.band_images * plan.band_rows() * plan.panel_columns();
  for (size_t i = 0; i < per_filter_.size(); ++i) {
    const Dtype dtype = operands.tensors[i].dtype();
    tiles_.push_back(per_filter_[i] ? allocate_bias(builder, plan, dtype)
                                    : builder.sbuf(text("follower_operand", i),
                                                   {plan.filter_block, pixels}, dtype, kRing));
  }
}

void Conv2dFollower::load_filters(const std::vector<View>& operands, const Conv2dPass& pass) {
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!per_filter_[i]) continue;
    const View values = operands[i].select(3, 0).select(2, 0).select(1, 0);
    load_bias(builder_, plan_, values, tiles_[i], pass);
  }
}

void Conv2dFollower::begin_block(const std::vector<View>& operands, const Conv2dPass& pass,
                                 const Affine& first, int64_t filters, const Affine& number,
                                 const Conv2dBand& band, const Affine& index) {
  inputs_.clear();
  for (size_t i = 0; i < operands.size(); ++i) {
    if (per_filter_[i]) {
      inputs_.push_back(tiles_[i].turn(pass.set).slice(0, 0, filters).slice(1, number, 1));
      continue;
    }
    const View source = operands[i]
                            .slice(0, first, filters)
                            .slice(1, band.image, band.images)
                            .slice(2, band.output_row, band.output_rows)
                            .slice(3, band.output_column, band.output_columns);
    inputs_.push_back(load_repeating(builder_, tiles_[i], source, index));
  }
}

void Conv2dFollower::evacuate(const View& psum, const Part& part, const std::vector<View>& targets,
                              const Affine& turn) {
  std::vector<View> inputs{psum};
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (per_filter_[i]) {
      inputs.push_back(inputs_[i].broadcast(1, psum.free_elements()));
    } else {
      inputs.push_back(inputs_[i]
                           .slice(1, part.image, part.images)
                           .slice(2, part.row, part.rows)
                           .slice(3, part.column, part.columns));
    }
  }
  emitter_.emit(inputs, targets, turn);
}

}  // namespace neuron_sim
