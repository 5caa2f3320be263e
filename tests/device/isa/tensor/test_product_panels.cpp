#include "device/isa/tensor/product_panels.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "device/numerics/dtype.h"

namespace neuron_sim {
namespace {

class EveryProductKernelInPanels : public ::testing::TestWithParam<const ProductKernel*> {
 protected:
  void SetUp() override {
    if (!kernel().runs_here()) GTEST_SKIP() << "this host lacks " << kernel().name;
  }
  const ProductKernel& kernel() const { return *GetParam(); }
};

constexpr float kMark = -77.25F;

struct Case {
  int64_t depth, columns, run_length, runs;
  bool bf16 = false;
};

/// Values of bf16, which fp32 holds too; a product reads `moving` with gaps of 3 between its runs
/// and of 5 after each row.
struct Operands {
  explicit Operands(const Case& size)
      : elements(size.run_length * size.runs), pitch(size.runs * (size.run_length + 3) + 5) {
    std::mt19937 generator(17);
    const auto value = [&] { return static_cast<float>(generator() % 255) / 64 - 2; };
    for (int64_t i = 0; i < size.depth * size.columns; ++i) stationary.push_back(value());
    for (int64_t i = 0; i < size.depth * elements; ++i) dense.push_back(value());
    scattered.assign(static_cast<size_t>(size.depth * pitch), kMark);
    runs.length = size.run_length;
    runs.stride = 1;
    runs.outer_rank = 1;
    runs.outer[0] = {size.runs, size.run_length + 3};
    for (int64_t k = 0; k < size.depth; ++k) {
      for (int64_t n = 0; n < elements; ++n) {
        scattered[static_cast<size_t>(k * pitch + runs.element_offset(n))] =
            dense[static_cast<size_t>(k * elements + n)];
      }
    }
  }

  int64_t elements, pitch;
  Pattern runs;
  std::vector<float> stationary, dense, scattered;
};

void expect_equal_bytes(const Case& size, const ProductKernel& kernel, bool accumulate) {
  const Operands operands(size);
  const int64_t elements = operands.elements, target_pitch = elements + 2;
  std::vector<float> expected(static_cast<size_t>(size.columns * target_pitch), 0.5F);
  std::vector<float> found = expected;
  TileProduct product{size.columns, elements,
                      size.depth,   operands.stationary.data(),
                      size.columns, operands.dense.data(),
                      elements,     expected.data(),
                      target_pitch, accumulate,
                      size.bf16};
  multiply_tile(product, kPortableProduct);
  product.moving = operands.scattered.data();
  product.moving_pitch = operands.pitch;
  product.runs = &operands.runs;
  product.target = found.data();
  multiply_tile(product, kernel);
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(found[i]), std::bit_cast<uint32_t>(expected[i]))
        << kernel.name << ": K " << size.depth << " M " << size.columns << ", " << size.runs
        << " runs of " << size.run_length << ", accumulate " << accumulate << " at " << i;
  }
}

TEST_P(EveryProductKernelInPanels, ReadsRunsOfMovingAsOneRow) {
  for (const int64_t columns : {1, 3, 6, 7, 12, 13, 24, 25, 50, 128}) {
    for (const auto& [length, runs] : {std::pair<int64_t, int64_t>{1, 40},
                                       {7, 7},
                                       {14, 14},
                                       {15, 3},
                                       {16, 3},
                                       {17, 5},
                                       {32, 2},
                                       {33, 2},
                                       {56, 3},
                                       {64, 2},
                                       {224, 2}}) {
      for (const bool accumulate : {false, true}) {
        expect_equal_bytes({5, columns, length, runs}, kernel(), accumulate);
        expect_equal_bytes({5, columns, length, runs, true}, kernel(), accumulate);
      }
    }
  }
}

TEST_P(EveryProductKernelInPanels, TransposesAProductWhoseRunsAreFewElements) {
  for (const int64_t runs : {1, 2, 3}) {
    expect_equal_bytes({9, 100, 2, runs}, kernel(), true);
  }
}

TEST_P(EveryProductKernelInPanels, TransposesAMovingOperandThatIsTurned) {
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kBfloat16, Dtype::kFloat16}) {
    const int64_t item = itemsize(dtype);
    for (const int64_t depth : {1, 5, 16, 33, 128}) {
      for (const int64_t columns : {1, 7, 13, 40}) {
        for (const int64_t elements : {1, 15, 16, 17, 33, 70}) {
          const Case size{depth, columns, elements, 1, dtype == Dtype::kBfloat16};
          const Operands operands(size);
          const int64_t pitch = (depth + 3) * item;
          std::vector<std::byte> turned(static_cast<size_t>(elements * pitch));
          for (int64_t k = 0; k < depth; ++k) {
            for (int64_t n = 0; n < elements; ++n) {
              const float* value = &operands.dense[static_cast<size_t>(k * elements + n)];
              store_floats(value, turned.data() + n * pitch + k * item, dtype, item, 1);
            }
          }
          std::vector<float> expected(static_cast<size_t>(columns * elements), 0.5F);
          std::vector<float> found = expected;
          TileProduct product{columns,  elements,
                              depth,    operands.stationary.data(),
                              columns,  operands.dense.data(),
                              elements, expected.data(),
                              elements, true,
                              size.bf16};
          multiply_tile(product, kPortableProduct);
          const TurnedRows rows{turned.data(), pitch, dtype};
          product.moving = nullptr;
          product.turned = &rows;
          product.target = found.data();
          multiply_tile(product, kernel());
          ASSERT_EQ(std::memcmp(found.data(), expected.data(), found.size() * sizeof(float)), 0)
              << kernel().name << " K " << depth << " M " << columns << " N " << elements;
        }
      }
    }
  }
}

TEST_P(EveryProductKernelInPanels, CopiesRowsAndFillsThemUpWithZeros) {
  std::vector<float> from(200);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i);
  for (int64_t length = 0; length <= 40; ++length) {
    for (const int64_t zeros : {0, 1, 9, 33}) {
      const int64_t padded = length + zeros, pitch = padded + 2;
      std::vector<float> to(static_cast<size_t>(3 * pitch), kMark);
      kernel().copy({3, length, from.data(), 50, to.data(), pitch, padded});
      for (int64_t i = 0; i < 3 * pitch; ++i) {
        const int64_t row = i / pitch, column = i % pitch;
        const float copied = column < length ? from[static_cast<size_t>(row * 50 + column)] : 0;
        ASSERT_EQ(to[static_cast<size_t>(i)], column < padded ? copied : kMark)
            << length << " + " << zeros << " at " << row << ", " << column;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(ProductKernels, EveryProductKernelInPanels,
                         ::testing::ValuesIn(product_kernels().begin(), product_kernels().end()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace neuron_sim
