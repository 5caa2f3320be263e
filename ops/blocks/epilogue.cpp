#include "ops/blocks/epilogue.h"

#include "device/base/errors.h"
#include "device/isa/activation/activation.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/tensor_copy.h"
#include "ops/blocks/tiles.h"

namespace neuron_sim {

void evacuate(Builder& builder, const View& psum, const View& dst, const Epilogue& epilogue,
              const Affine& row_block, const Affine& column) {
  require(!(epilogue.partition_bias.present() && epilogue.column_bias.present()),
          "an epilogue has one bias at most");
  const int64_t rows = psum.partitions();
  const bool plain = epilogue.activation == Activation::kIdentity;
  if (epilogue.column_bias.present()) {
    const View bias = epilogue.column_bias.slice(0, 0, rows).slice(1, column, psum.free_elements());
    builder.emit(TensorTensor{.dst = plain ? dst : psum, .data1 = psum, .data2 = bias});
    if (!plain) builder.emit(Activate{.dst = dst, .data = psum, .op = epilogue.activation});
    return;
  }
  Activate activate{.dst = dst, .data = psum, .op = epilogue.activation};
  if (epilogue.partition_bias.present()) {
    activate.bias_tile = epilogue.partition_bias.slice(0, 0, rows).slice(1, row_block, 1);
    builder.emit(activate);
  } else if (!plain || epilogue.copy_engine == EngineKind::kScalar) {
    builder.emit(activate);
  } else {
    builder.emit(TensorCopy{.dst = dst, .src = psum, .engine = epilogue.copy_engine});
  }
}

View load_partition_bias(Builder& builder, const View& bias) {
  const int64_t partitions = builder.limits().partitions;
  const int64_t channels = bias.size(0);
  const int64_t full = channels / partitions, rest = channels % partitions;
  const int64_t blocks = full + (rest > 0 ? 1 : 0);
  View tile = builder.sbuf("bias", {partitions, blocks}, bias.dtype());
  if (full > 0) {
    const View source = bias.slice(0, 0, full * partitions).split(0, full, partitions);
    load(builder, tile.slice(1, 0, full), source.permute({1, 0}));
  }
  if (rest > 0) {
    load(builder, tile.slice(0, 0, rest).slice(1, full, 1),
         bias.slice(0, full * partitions, rest).expand(1));
  }
  return tile;
}

View load_column_bias(Builder& builder, const View& bias) {
  const int64_t partitions = builder.limits().partitions;
  View tile = builder.sbuf("bias", {partitions, bias.size(0)}, bias.dtype());
  load(builder, tile, bias.expand(0).broadcast(0, partitions));
  return tile;
}

OutputFunction parse_output_function(std::string_view op, std::string_view name) {
  static constexpr std::string_view kPointwise[] = {"identity", "relu",   "exp",  "gelu", "sigmoid",
                                                    "tanh",     "square", "sqrt", "rsqrt"};
  if (name == "softmax") return {Activation::kIdentity, true};
  for (const std::string_view pointwise : kPointwise) {
    if (name == pointwise) return {*parse_activation(name), false};
  }
  fail(text(op, ": activation '", name,
            "' is not one of identity, relu, exp, gelu, sigmoid, "
            "tanh, square, sqrt, rsqrt, softmax."));
}

Activation parse_pointwise_function(std::string_view op, std::string_view option,
                                    std::string_view name) {
  const OutputFunction function = parse_output_function(op, name);
  if (function.softmax) {
    fail(text(op, ": ", option, " 'softmax' is not pointwise; it needs a whole row."));
  }
  return function.pointwise;
}

}  // namespace neuron_sim
