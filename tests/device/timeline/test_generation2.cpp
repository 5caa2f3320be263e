// TensorE of generation 2 against published sustained rates (inf2, 128 x 128 x 512 products).

#include <gtest/gtest.h>

#include "device/builder/builder.h"
#include "device/isa/tensor/nc_matmul.h"
#include "device/timeline/timeline.h"

namespace neuron_sim {
namespace {

/// Nanoseconds per product of 128 x 128 x 512 in a long run of them.
double interval(Dtype dtype, bool same_weights) {
  Builder builder("products", load_architecture("trn1"));
  const View weights[] = {builder.sbuf("w", {128, 128}, dtype),
                          builder.sbuf("w", {128, 128}, dtype)};
  const View moving = builder.sbuf("m", {128, 512}, dtype), sum = builder.psum("s", {128, 512});
  const auto body = [&](int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      builder.emit(
          NcMatmul{.dst = sum, .stationary = weights[same_weights ? 0 : i % 2], .moving = moving});
    }
  };
  body(101);
  const Picoseconds all = simulate(*builder.finish()).body;
  Builder short_builder("products", load_architecture("trn1"));
  const View w = short_builder.sbuf("w", {128, 128}, dtype);
  short_builder.emit(NcMatmul{.dst = short_builder.psum("s", {128, 512}),
                              .stationary = w,
                              .moving = short_builder.sbuf("m", {128, 512}, dtype)});
  return (all - simulate(*short_builder.finish()).body).nanoseconds() / 100;
}

constexpr double kOperations = 2.0 * 128 * 128 * 512;

TEST(GenerationTwo, SustainsThePublishedRatesWithResidentWeights) {
  // 80.3 and 20.2 TFLOP/s were measured.
  EXPECT_NEAR(kOperations / interval(Dtype::kBfloat16, true) / 1000, 80.3, 0.02 * 80.3);
  EXPECT_NEAR(kOperations / interval(Dtype::kFloat32, true) / 1000, 20.2, 0.02 * 20.2);
}

TEST(GenerationTwo, HidesTheLoadOfNewWeights) {
  const double clock = load_architecture("trn1").clocks.tensor.value;
  EXPECT_NEAR(interval(Dtype::kBfloat16, false), (512 + 64) / clock, 0.1);
  EXPECT_NEAR(interval(Dtype::kFloat32, false), 4 * (512 + 64) / clock, 0.1);
}

}  // namespace
}  // namespace neuron_sim
