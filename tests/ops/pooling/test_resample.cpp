#include "ops/pooling/resample.h"

#include "tests/ops/run_op.h"

namespace neuron_sim {
namespace {

void check(int64_t planes, int64_t height, int64_t width, const AxisTaps& rows,
           const AxisTaps& columns, Dtype dtype = Dtype::kFloat32) {
  const TensorSpec in{{1, planes, height, width}, {}, dtype};
  const auto outputs = static_cast<int64_t>(rows.size());
  const TensorSpec out{{1, planes, outputs, static_cast<int64_t>(columns.size())}, {}, dtype};
  HostTensor input(in, random_values(in.elements(), -3, 3, 5));
  Builder builder("resample", load_architecture("trn2"));
  const HbmTensor source = argument_tensor(builder, "input", in);
  const HbmTensor target = argument_tensor(builder, "output", out);
  emit_resample(builder, std::array{source}, std::array{target}, {rows, columns});
  BuiltOp built;
  built.output = out;
  built.program = builder.finish();
  const std::vector<double> values = input.values();
  std::vector<double> expected;
  for (int64_t plane = 0; plane < planes; ++plane) {
    for (const auto& row : rows) {
      for (const auto& column : columns) {
        double sum = 0;
        for (const AxisTap& y : row) {
          for (const AxisTap& x : column) {
            const int64_t index = (plane * height + y.input) * width + x.input;
            sum += y.weight * x.weight * values[static_cast<size_t>(index)];
          }
        }
        expected.push_back(sum);
      }
    }
  }
  expect_close(run_op(built, {&input}).values(), expected, 2 * unit_of(dtype));
}

TEST(Resample, AveragesWindowsOfAnyStrideAndPadding) {
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat16, Dtype::kBfloat16}) {
    check(5, 11, 13, average_taps({11, 6, 3, 2, 1, true, 0}),
          average_taps({13, 7, 3, 2, 1, false, 0}), dtype);
  }
  check(300, 4, 4, average_taps({4, 2, 2, 2, 0, true, 3}), average_taps({4, 2, 2, 2, 0, true, 1}));
}

TEST(Resample, InterpolatesAndGoesBackwards) {
  for (const Interpolation kind : {Interpolation::kNearest, Interpolation::kNearestExact,
                                   Interpolation::kLinear, Interpolation::kCubic}) {
    const AxisTaps rows = interpolation_taps(kind, 7, 14, false, 2);
    const AxisTaps columns = interpolation_taps(kind, 9, 5, false, 0);
    check(3, 7, 9, rows, columns);
    check(3, 14, 5, transposed_taps(rows, 7), transposed_taps(columns, 9));
  }
  check(2, 1, 6, {{{0, 1}}}, interpolation_taps(Interpolation::kLinear, 6, 11, true, 0));
}

TEST(Resample, CutsPlanesThatSbufCannotHold) {
  const AxisTaps rows = average_taps({301, 150, 3, 2, 0, true, 0});
  const AxisTaps columns = average_taps({400, 199, 3, 2, 0, true, 0});
  check(2, 301, 400, rows, columns);
}

TEST(Resample, OutputsWithoutInputsAreZero) {
  check(2, 3, 3, {{}, {{1, 2}}}, {{{0, 1}}, {}, {{2, 1}, {1, 0.5}}});
}

TEST(TapRuns, JoinOutputsWithEqualWeightsAndSteps) {
  const AxisTaps taps = interpolation_taps(Interpolation::kNearest, 100, 200, false, 2);
  EXPECT_EQ(tap_runs(taps, 0, 200).size(), 2U);  // even and odd ones
  EXPECT_EQ(tap_runs(average_taps({100, 50, 2, 2, 0, true, 0}), 0, 50).size(), 1U);
}

}  // namespace
}  // namespace neuron_sim
