#include "ops/rows/sorted_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "ops/rows/largest_of_rows.h"
#include "tests/ops/run_kernel.h"

namespace neuron_sim {
namespace {

class SortedRows : public ::testing::TestWithParam<const char*> {
 protected:
  /// Compares with std::stable_sort; `values` has the elements of all rows.
  void check(const TensorSpec& spec, std::vector<double> values, int64_t k, bool descending,
             Emit<SortOptions> emit = emit_sorted_rows) const {
    SCOPED_TRACE(describe("operand", spec));
    HostTensor operand(spec, values);
    values = operand.values();
    const int64_t rows = spec.shape[0], length = spec.shape[1];
    std::vector<HostTensor> actual =
        run_kernel(load_architecture(GetParam()), with_options(emit, SortOptions{descending}),
                   {&operand}, {{{rows, k}, {}, spec.dtype}, {{rows, 2 * k}, {}, Dtype::kInt32}});
    const std::vector<double> sorted = actual[0].values(), places = actual[1].values();
    for (int64_t row = 0; row < rows; ++row) {
      const double* elements = values.data() + row * length;
      std::vector<int64_t> order(static_cast<size_t>(length));
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        const double x = elements[descending ? b : a], y = elements[descending ? a : b];
        return std::isnan(y) ? !std::isnan(x) : x < y;
      });
      for (int64_t i = 0; i < k; ++i) {
        const auto at = static_cast<size_t>(row * k + i);
        const int64_t expected = order[static_cast<size_t>(i)];
        ASSERT_EQ(places[2 * at], expected) << "row " << row << ", element " << i;
        ASSERT_EQ(places[2 * at + 1], 0);
        if (std::isnan(elements[expected])) {
          ASSERT_TRUE(std::isnan(sorted[at]));
        } else {
          ASSERT_EQ(sorted[at], elements[expected]);
          ASSERT_EQ(std::signbit(sorted[at]), std::signbit(elements[expected]));
        }
      }
    }
  }
  /// Few different numbers, zeros of both signs, infinities and NaN among them.
  static std::vector<double> awkward(int64_t count) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    constexpr double kFew[] = {1,         -1,         0.0, -0.0,
                               kInfinity, -kInfinity, NAN, std::numeric_limits<float>::max()};
    std::mt19937 generator(5);
    std::vector<double> values(static_cast<size_t>(count));
    for (double& value : values) {
      value = generator() % 3 == 0 ? kFew[generator() % 8] : static_cast<double>(generator() % 9);
    }
    return values;
  }
};

TEST_P(SortedRows, OfAnyLengthAndNumber) {
  for (const int64_t length : {1, 2, 3, 127, 128, 129, 1000, 4096}) {
    check({{1, length}, {}}, awkward(length), length, length % 2 == 0);
  }
  for (const auto& [rows, length] : {std::pair<int64_t, int64_t>{3, 300},
                                     {64, 33},
                                     {65, 64},
                                     {128, 20},
                                     {300, 10},
                                     {1000, 7},
                                     {5, 5000}}) {
    check({{rows, length}, {}}, awkward(rows * length), length, false);
    check({{rows, length}, {}}, awkward(rows * length), length, true);
  }
}

TEST_P(SortedRows, OfAnyLayoutAndDtype) {
  check({{6, 77}, {1, 6}}, random_values(6 * 77, -9, 9), 77, true);
  check({{300, 9}, {1, 300}}, random_values(300 * 9, -9, 9), 9, false);
  for (const Dtype dtype : {Dtype::kFloat16, Dtype::kBfloat16}) {
    check({{2, 600}, {}, dtype}, awkward(1200), 600, true);
  }
  for (const Dtype dtype : {Dtype::kInt16, Dtype::kUint8, Dtype::kBool}) {
    std::vector<double> values(1200);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<double>(dtype == Dtype::kBool ? i % 2 : i * i % 97);
    }
    check({{2, 600}, {}, dtype}, values, 600, true);
    check({{2, 600}, {}, dtype}, values, 600, false);
  }
}

TEST_P(SortedRows, GivesTheFirstElementsAlone) {
  for (const int64_t k : {1, 8, 31, 32, 33, 999, 1000}) {
    check({{1, 1000}, {}}, awkward(1000), k, true);
    check({{40, 1000}, {}}, awkward(40000), k, false);
  }
}

TEST_P(SortedRows, UpToTheLongestRow) {
  std::vector<double> values(static_cast<size_t>(kLongestSorted) - 5);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i * 7919 % 100003);
  check({{1, kLongestSorted - 5}, {}}, values, kLongestSorted - 5, false);
}

TEST_P(SortedRows, FewOfThemAreSelected) {
  for (const int64_t k : {1, 8, 9, 50, 64}) {
    for (const bool descending : {false, true}) {
      check({{1, 2048}, {}}, awkward(2048), k, descending, emit_largest_of_rows);
      check({{3, 5003}, {}}, awkward(3 * 5003), k, descending, emit_largest_of_rows);
    }
  }
  check({{130, 300}, {}}, awkward(130 * 300), 10, true, emit_largest_of_rows);
  check({{2, 4000}, {1, 2}, Dtype::kBfloat16}, awkward(8000), 20, false, emit_largest_of_rows);
  std::vector<double> bytes(8000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<double>(i * i % 97);
  check({{2, 4000}, {}, Dtype::kUint8}, bytes, 64, true, emit_largest_of_rows);
}

TEST_P(SortedRows, ThoseSelectedMayBeNanOrStandOnOnePartition) {
  std::vector<double> values(128000, -1);
  for (size_t i = 3000; i < 3060; ++i) values[i] = i % 2 == 0 ? NAN : static_cast<double>(i);
  check({{1, 128000}, {}}, values, 50, true, emit_largest_of_rows);
  check({{1, 4000}, {}}, std::vector<double>(4000, NAN), 50, true, emit_largest_of_rows);
  std::vector<double> few(4000, NAN);
  for (size_t i = 100; i < 110; ++i) few[i] = -std::numeric_limits<double>::infinity();
  check({{1, 4000}, {}}, few, 50, false, emit_largest_of_rows);
  check({{1, 4000}, {}}, few, 50, true, emit_largest_of_rows);
}

INSTANTIATE_TEST_SUITE_P(Architectures, SortedRows, ::testing::Values("trn1", "trn2", "trn3"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace neuron_sim
