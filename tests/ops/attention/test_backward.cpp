#include "ops/attention/backward.h"

#include <cmath>
#include <numeric>
#include <utility>

#include "tests/ops/run_op.h"

namespace neuron_sim {
namespace {

constexpr double kScale = 0.25;

struct Case {
  int64_t heads, key_heads, queries, keys, depth, width;
  bool causal = false;
  int64_t members() const { return heads / key_heads; }
};

struct Specs {
  TensorSpec q, k, v, out, sums;
};

TensorSpec dense(std::vector<int64_t> shape) { return {std::move(shape), {}}; }

Specs specs_of(const Case& c) {
  const int64_t members = c.members();
  return {dense({1, c.key_heads, members, c.queries, c.depth}),
          dense({1, c.key_heads, 1, c.keys, c.depth}), dense({1, c.key_heads, 1, c.keys, c.width}),
          dense({1, c.key_heads, members, c.queries, c.width}),
          dense({1, c.key_heads, members, c.queries})};
}

BuiltOp build(const Case& c) {
  const Specs specs = specs_of(c);
  Builder builder("attention_backward", load_architecture("trn2"));
  const std::array operands{argument_tensor(builder, "gradient", specs.out),
                            argument_tensor(builder, "q", specs.q),
                            argument_tensor(builder, "k", specs.k),
                            argument_tensor(builder, "v", specs.v),
                            argument_tensor(builder, "out", specs.out),
                            argument_tensor(builder, "log_sums", specs.sums)};
  const std::array results{argument_tensor(builder, "q_gradient", specs.q),
                           argument_tensor(builder, "k_gradient", specs.k),
                           argument_tensor(builder, "v_gradient", specs.v)};
  emit_attention_backward(builder, operands, results, {kScale, c.causal});
  BuiltOp built;
  built.output = specs.q;
  built.further_outputs = {specs.k, specs.v};
  built.program = builder.finish();
  return built;
}

/// A row of a matrix of `columns`, in float64.
const double* row_of(const std::vector<double>& values, int64_t row, int64_t columns) {
  return values.data() + row * columns;
}
double dot(const double* a, const double* b, int64_t count) {
  return std::inner_product(a, a + count, b, 0.0);
}
void add(double* target, double factor, const double* source, int64_t count) {
  for (int64_t i = 0; i < count; ++i) target[i] += factor * source[i];
}

/// The gradients of q, k and v, and of the forward pass the results and logarithms of sums.
struct Oracle {
  Oracle(const Case& c, std::vector<double> q_values, std::vector<double> k_values,
         std::vector<double> v_values, std::vector<double> gradient_values)
      : sizes(c),
        q(std::move(q_values)),
        k(std::move(k_values)),
        v(std::move(v_values)),
        gradient(std::move(gradient_values)),
        out(gradient.size()),
        q_gradient(q.size()),
        k_gradient(k.size()),
        v_gradient(v.size()) {
    for (int64_t row = 0; row < c.heads * c.queries; ++row) differentiate(row);
  }

  void differentiate(int64_t row) {
    const Case& c = sizes;
    const int64_t first = row / c.queries / c.members() * c.keys;  // of the key head
    const int64_t keys = c.causal ? std::min(c.keys, row % c.queries + 1) : c.keys;
    std::vector<double> weights(static_cast<size_t>(keys));
    double total = 0;
    for (int64_t j = 0; j < keys; ++j) {
      const double score = dot(row_of(q, row, c.depth), row_of(k, first + j, c.depth), c.depth);
      total += weights[static_cast<size_t>(j)] = std::exp(kScale * score);
    }
    log_sums.push_back(std::log(total));
    double* result = out.data() + row * c.width;
    for (double& weight : weights) weight /= total;
    for (int64_t j = 0; j < keys; ++j) {
      add(result, weights[static_cast<size_t>(j)], row_of(v, first + j, c.width), c.width);
    }
    const double* outer = row_of(gradient, row, c.width);
    for (int64_t j = 0; j < keys; ++j) {
      const double weight = weights[static_cast<size_t>(j)];
      const double* value = row_of(v, first + j, c.width);
      const double slope =
          kScale * weight * (dot(outer, value, c.width) - dot(outer, result, c.width));
      add(q_gradient.data() + row * c.depth, slope, row_of(k, first + j, c.depth), c.depth);
      add(k_gradient.data() + (first + j) * c.depth, slope, row_of(q, row, c.depth), c.depth);
      add(v_gradient.data() + (first + j) * c.width, weight, outer, c.width);
    }
  }

  Case sizes;
  std::vector<double> q, k, v, gradient, out, q_gradient, k_gradient, v_gradient, log_sums;
};

void check(const Case& c) {
  const Specs specs = specs_of(c);
  HostTensor q(specs.q, random_values(specs.q.elements(), -1, 1, 1));
  HostTensor k(specs.k, random_values(specs.k.elements(), -1, 1, 2));
  HostTensor v(specs.v, random_values(specs.v.elements(), -1, 1, 3));
  HostTensor gradient(specs.out, random_values(specs.out.elements(), -1, 1, 4));
  const Oracle oracle(c, q.values(), k.values(), v.values(), gradient.values());
  HostTensor out(specs.out, oracle.out), sums(specs.sums, oracle.log_sums);
  // Under the checker: accumulation groups that took turns in a bank would be a finding.
  std::vector<HostTensor> actual = run_outputs(build(c), {&gradient, &q, &k, &v, &out, &sums});
  expect_close(actual[0].values(), oracle.q_gradient, 2e-5);
  expect_close(actual[1].values(), oracle.k_gradient, 2e-5);
  expect_close(actual[2].values(), oracle.v_gradient, 2e-5);
}

TEST(AttentionBackward, OfOddSizesIsThatOfFloat64) {
  check({3, 3, 37, 45, 16, 24});
  check({1, 1, 1, 1, 1, 1});
  check({1, 1, 5, 7, 200, 300});
}

TEST(AttentionBackward, OfKeysThatShareAPsumBankIsThatOfFloat64) {
  check({1, 1, 40, 128, 16, 16});  // one block: a bank of its own
  check({1, 1, 40, 129, 16, 16});
  check({2, 2, 131, 512, 64, 64});
  check({1, 1, 131, 1030, 8, 8});
}

TEST(AttentionBackward, LeavesOutKeysBeyondTheDiagonal) {
  check({2, 2, 140, 140, 8, 8, true});
  check({1, 1, 600, 590, 4, 4, true});
  check({1, 1, 20, 700, 4, 4, true});
}

TEST(AttentionBackward, AddsUpOverTheQueryHeadsOfAKeyHead) {
  check({6, 2, 19, 23, 8, 5});
  check({4, 1, 140, 300, 8, 8, true});
}

}  // namespace
}  // namespace neuron_sim
