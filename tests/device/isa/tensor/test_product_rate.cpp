#include "device/isa/tensor/product_rate.h"

#include <gtest/gtest.h>

#include <array>

namespace neuron_sim {
namespace {

TEST(ProductRate, IsThatOfSomeHostsForEveryKernelThatRunsHere) {
  for (const ProductKernel* kernel : product_kernels_of_host()) {
    for (const bool bf16 : {false, true}) {
      const double rate = product_rate(*kernel, bf16, 2);
      EXPECT_GT(rate, 1e-3) << kernel->name;
      EXPECT_LT(rate, 1e5) << kernel->name;
    }
  }
}

TEST(ProductRate, OfTheFastestKernelIsNotThatOfAKernelThatIsTensOfTimesSlower) {
  const ProductKernel* host = product_kernels_of_host()[0];
  if (host == &kPortableProduct) GTEST_SKIP() << "this host runs no other kernel";
  for (const std::array pair : {std::array{&kPortableProduct, host}, {host, &kPortableProduct}}) {
    EXPECT_EQ(&fastest_product_kernel(pair), host);
  }
}

TEST(ProductRate, IsNotMeasuredOfAKernelWithoutAlternative) {
  const std::array one{&kPortableProduct};
  EXPECT_EQ(&fastest_product_kernel(one), &kPortableProduct);
}

}  // namespace
}  // namespace neuron_sim
