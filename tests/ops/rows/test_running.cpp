#include "ops/rows/running.h"

#include "tests/ops/run_kernel.h"

namespace neuron_sim {
namespace {

double combined(AluOp op, double a, double b) {
  switch (op) {
    case AluOp::kAdd: return a + b;
    case AluOp::kMultiply: return a * b;
    case AluOp::kMaximum: return std::max(a, b);
    default: return std::min(a, b);
  }
}

class RunningRows : public ::testing::TestWithParam<const char*> {
 protected:
  void check(AluOp op, const TensorSpec& spec, const TensorSpec& result, double low,
             double high) const {
    SCOPED_TRACE(describe("operand", spec));
    HostTensor operand(spec, random_values(spec.elements(), low, high));
    HostTensor actual =
        run_kernel(load_architecture(GetParam()), with_options(emit_running, RunningOptions{op}),
                   {&operand}, {result})
            .front();
    std::vector<double> expected = operand.values();
    const auto width = static_cast<size_t>(spec.shape.back());
    for (size_t i = 0; i < expected.size(); ++i) {
      if (i % width != 0) expected[i] = combined(op, expected[i - 1], expected[i]);
    }
    expect_close(actual.values(), expected, std::max(2 * unit_of(result.dtype), 2e-5));
  }
};

TEST_P(RunningRows, ExtremaAreExact) {
  for (const int64_t width : {1, 2049, 6001}) {
    check(AluOp::kMaximum, {{3, width}, {}}, {{3, width}, {}}, -9, -1);
    check(AluOp::kMinimum, {{3, width}, {}}, {{3, width}, {}}, 1, 9);
  }
  check(AluOp::kMaximum, {{6, 77}, {}, Dtype::kInt8}, {{6, 77}, {}, Dtype::kInt8}, -9, 9);
}

TEST_P(RunningRows, RecurrencesEqualFloat64) {
  for (const int64_t width : {1, 2048, 5000}) {
    const TensorSpec spec{{130, width}, {}};
    HostTensor operand(spec, random_values(spec.elements(), -1, 1));
    HostTensor factors(spec, random_values(spec.elements(), -1, 1, 2));
    HostTensor actual = run_kernel(load_architecture(GetParam()),
                                   with_options(emit_running, RunningOptions{AluOp::kAdd}),
                                   {&operand, &factors}, {spec})
                            .front();
    std::vector<double> expected = operand.values();
    const std::vector<double> factor = factors.values();
    for (size_t i = 0; i < expected.size(); ++i) {
      if (i % static_cast<size_t>(width) != 0) expected[i] += factor[i] * expected[i - 1];
    }
    expect_close(actual.values(), expected, 2e-5);
  }
}

TEST_P(RunningRows, SumsAndProductsEqualFloat64) {
  for (const int64_t width : {1, 2, 129, 2047, 2048, 2049, 6001}) {
    check(AluOp::kAdd, {{3, width}, {}}, {{3, width}, {}}, 0, 1);
    check(AluOp::kMultiply, {{3, width}, {}}, {{3, width}, {}}, 0.999, 1.001);
  }
  check(AluOp::kAdd, {{300, 5}, {}}, {{300, 5}, {}}, -1, 1);
  check(AluOp::kAdd, {{7}, {}}, {{7}, {}}, -1, 1);
}

TEST_P(RunningRows, AnyLayoutAndDtype) {
  check(AluOp::kAdd, {{5, 4, 9}, {1, 45, 5}}, {{5, 4, 9}, {9, 45, 1}}, -1, 1);
  check(AluOp::kAdd, {{5, 4, 9}, {0, 1, 0}}, {{5, 4, 9}, {}}, -1, 1);
  check(AluOp::kAdd,
        {{2, 3, 2, 3, 2, 3, 4}, permuted_strides({2, 3, 2, 3, 2, 3, 4}, {6, 2, 4, 0, 5, 1, 3})},
        {{2, 3, 2, 3, 2, 3, 4}, {}}, -1, 1);
  for (const Dtype dtype : {Dtype::kFloat16, Dtype::kBfloat16}) {
    check(AluOp::kAdd, {{6, 77}, {}, dtype}, {{6, 77}, {}, dtype}, 0, 1);
  }
  for (const Dtype dtype : {Dtype::kInt32, Dtype::kInt8, Dtype::kBool}) {
    check(AluOp::kAdd, {{6, 77}, {}, dtype}, {{6, 77}, {}, Dtype::kInt32}, 0, 9);
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, RunningRows, ::testing::Values("trn1", "trn2", "trn3"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace neuron_sim
