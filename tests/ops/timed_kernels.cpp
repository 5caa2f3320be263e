#include "tests/ops/timed_kernels.h"

#include <optional>

#include "ops/attention/attention.h"
#include "ops/attention/backward.h"
#include "ops/copies/transpose.h"
#include "ops/ffnn/ffnn.h"
#include "ops/matmul/matmul.h"
#include "ops/matmul/matrix_product.h"
#include "ops/rows/bias_add_activation.h"
#include "ops/rows/bias_add_activation_backward.h"
#include "ops/vector_add/vector_add.h"
#include "tests/ops/draw_kernels.h"

namespace neuron_sim {
namespace {

void draw_vector_add(Draw& draw) {
  constexpr Dtype kDtypes[] = {Dtype::kFloat32, Dtype::kBfloat16, Dtype::kInt32, Dtype::kInt8};
  const Dtype dtype = draw.one_of(kDtypes);
  const std::vector<int64_t> shape{draw.size(1000), draw.size(6000)};
  const TensorSpec a = draw.tensor(shape, dtype), b = draw.tensor(shape, dtype);
  const int64_t free_dim = draw.one_in(2) ? 0 : draw.size(3000);
  draw.add(text("vector_add", words({a, b}), " free_dim ", free_dim), [=](const auto& chip) {
    return build_alone(kVectorAdd, chip, {a, b}, {.free_dim = free_dim});
  });
}

void draw_vector_add_variant(Draw& draw) {
  constexpr const char* kVariants[] = {"naive", "tiled", "direct", "direct_bad"};
  const char* const variant = draw.one_of(kVariants);
  const bool is_naive = std::string_view(variant) == "naive";
  const TensorSpec x{{is_naive ? draw.size(128) : draw.size(200000)}, {}, draw.floating()};
  const int64_t chunk = draw.size(128), columns = draw.size(1000), tiles = draw.number(1, 5);
  draw.add(text("vector_add ", variant, words({x}), " row_chunk ", chunk, " free_dim ", columns,
                " num_free_tiles ", tiles),
           [=](const auto& chip) {
             return build_alone(kVectorAdd, chip, {x, x},
                                {.variant = parse_vector_add_variant(variant),
                                 .row_chunk = chunk,
                                 .free_dim = columns,
                                 .num_free_tiles = tiles});
           });
}

void draw_transpose(Draw& draw) {
  constexpr const char* kEngines[] = {"auto", "tensor", "vector", "dma"};
  const char* const engine = draw.one_of(kEngines);
  const Dtype dtype = draw.floating();
  const TensorSpec x = draw.tensor({draw.size(3000), draw.size(2000)}, dtype);
  draw.add(text("transpose ", engine, words({x})), [=](const auto& chip) {
    return build_alone(kTranspose, chip, {x}, {parse_transpose_engine(engine)});
  });
}

void draw_bias_add_activation(Draw& draw) {
  const Dtype dtype = draw.floating();
  const int64_t features = draw.one_in(6) ? draw.number(8000, 60000) : draw.size(5000);
  const TensorSpec x = draw.tensor({draw.size(9), draw.size(300), features}, dtype);
  const TensorSpec bias{{features}, {}, dtype};
  const std::string function = draw.function();
  draw.add(text("bias_add_activation ", function, words({x})), [=](const auto& chip) {
    return build_alone(kBiasAddActivation, chip, {x, bias}, {function});
  });
  draw.add(text("bias_add_activation_backward ", function, words({x})), [=](const auto& chip) {
    return build_alone(kBiasAddActivationBackward, chip, {x, x, bias}, {function});
  });
}

void draw_matmul(Draw& draw) {
  constexpr const char* kVariants[] = {
      "auto", "auto", "tiled", "hoist_load", "block_free_dimension", "fully_optimized"};
  const char* const variant = draw.one_of(kVariants);
  const bool is_auto = std::string_view(variant) == "auto";
  const Dtype dtype = draw.floating();
  const int64_t depth = draw.one_in(8) ? draw.number(15000, 40000) : draw.size(3000);
  const bool turned = draw.one_in(3);
  const int64_t rows = draw.size(2500), columns = draw.size(2500);
  const TensorSpec a =
      draw.tensor(turned ? std::vector{depth, rows} : std::vector{rows, depth}, dtype);
  const TensorSpec b = draw.tensor({depth, columns}, dtype);
  const MatmulOptions options{.variant = parse_matmul_variant(variant),
                              .transpose_x = turned,
                              .panel_columns = is_auto ? draw.number(0, 3) * 128 : 0,
                              .panel_rows = is_auto && draw.one_in(4) ? 256 : 0};
  draw.add(text("matmul ", variant, words({a, b}), turned ? " transpose_x" : "", " panel ",
                options.panel_rows, "x", options.panel_columns),
           [=](const auto& chip) {
             return build_alone(kMatmul, chip, {a, b}, options);
           });
}

void draw_matrix_product(Draw& draw) {
  const Dtype dtype = draw.floating();
  const int64_t batch = draw.size(20), m = draw.size(700), k = draw.size(900), n = draw.size(900);
  const TensorSpec a = draw.tensor({batch, m, k}, dtype), b = draw.tensor({batch, k, n}, dtype);
  const TensorSpec addend = draw.tensor({batch, m, n}, dtype);
  const TensorSpec out{{batch, m, n}, {}, draw.one_in(3) ? Dtype::kFloat32 : dtype};
  const bool adds = draw.one_in(2);
  const MatrixProductOptions options{.scale = draw.one_in(2) ? 1 : 0.5,
                                     .activation = draw.activation()};
  const EmitKernel emit = [=](Builder& builder, auto operands, auto results) {
    emit_matrix_product(builder, operands.first(adds ? 3 : 2), results, options);
  };
  draw.add(text("matrix_product", words({a, b, out}), adds ? " plus" + words({addend}) : "",
                " scale ", options.scale, " ", name(options.activation)),
           [=](const auto& chip) {
             return build_kernel(chip, emit, {a, b, addend}, {out});
           });
}

void draw_ffnn(Draw& draw) {
  const Dtype dtype = draw.floating();
  const TensorSpec x = draw.tensor({draw.size(1500), draw.size(1500)}, dtype);
  std::vector<TensorSpec> weights, biases;
  const int64_t layers = draw.number(1, 3);
  for (int64_t layer = 0, width = x.shape[1]; layer < layers; ++layer) {
    const int64_t next = draw.size(1500);
    weights.push_back(draw.tensor({width, next}, dtype));
    biases.push_back({{next}, {}, dtype});
    width = next;
  }
  std::vector<TensorSpec> specs{x};
  specs.insert(specs.end(), weights.begin(), weights.end());
  specs.insert(specs.end(), biases.begin(), biases.end());
  const FfnnOptions options{.batch_tile = draw.one_in(2) ? 0 : draw.size(512),
                            .stream_weights = draw.one_in(3)};
  const bool predicts = draw.one_in(3);
  draw.add(text(predicts ? "ffnn_predict" : "ffnn_forward", words({x}), words(weights),
                " batch_tile ", options.batch_tile, options.stream_weights ? " streamed" : ""),
           [=](const auto& chip) {
             return predicts ? build_alone(kFfnnPredict, chip, specs, options)
                             : build_alone(kFfnnForward, chip, specs, options);
           });
}

void draw_attention(Draw& draw) {
  const Dtype dtype = draw.floating();
  const int64_t batch = draw.size(4), heads = draw.size(6), members = draw.number(1, 3);
  const int64_t queries = draw.size(700), keys = draw.size(1500);
  const int64_t depth = draw.size(160), width = draw.size(160);
  const TensorSpec q = draw.tensor({batch, heads, members, queries, depth}, dtype);
  const TensorSpec k = draw.tensor({batch, heads, 1, keys, depth}, dtype);
  const TensorSpec v = draw.tensor({batch, heads, 1, keys, width}, dtype);
  const TensorSpec bias{{batch, heads, members, queries, keys}, {}, dtype};
  const TensorSpec out{{batch, heads, members, queries, width}, {}, dtype};
  const TensorSpec sums{{batch, heads, members, queries}, {}};
  const AttentionOptions options{.scale = 0.125, .causal = draw.one_in(3)};
  const bool is_biased = !options.causal && draw.one_in(3);
  const EmitKernel forward = [=](Builder& builder, auto operands, auto results) {
    emit_attention(builder, operands.first(is_biased ? 4 : 3), results, options);
  };
  const EmitKernel backward = [=](Builder& builder, auto operands, auto results) {
    emit_attention_backward(builder, operands.first(is_biased ? 7 : 6),
                            results.first(is_biased ? 4 : 3), options);
  };
  const std::string name =
      text(words({q, k, v}), options.causal ? " causal" : "", is_biased ? " biased" : "");
  draw.add("attention" + name, [=](const auto& chip) {
    return build_kernel(chip, forward, {q, k, v, bias}, {out, sums});
  });
  draw.add("attention_backward" + name, [=](const auto& chip) {
    return build_kernel(chip, backward, {out, q, k, v, out, sums, bias}, {q, k, v, bias});
  });
}

}  // namespace

std::vector<TimedKernel> timed_kernels() {
  constexpr int kRounds = 40;
  Draw draw;
  for (const auto each :
       {draw_vector_add, draw_vector_add_variant, draw_transpose, draw_bias_add_activation,
        draw_matmul, draw_matrix_product, draw_ffnn, draw_attention, draw_image_kernels}) {
    for (int round = 0; round < kRounds; ++round) each(draw);
  }
  return draw.take();
}

}  // namespace neuron_sim
