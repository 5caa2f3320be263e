#include "device/runtime/kernel_cache.h"

#include <gtest/gtest.h>

#include <thread>
#include <utility>

#include "device/base/errors.h"
#include "device/builder/builder.h"
#include "device/isa/movement/memset.h"

namespace neuron_sim {
namespace {

std::shared_ptr<const Program> small_program() {
  Builder builder("small", load_architecture("trn2"));
  builder.emit(Memset{builder.sbuf("t", {1, 4}, Dtype::kFloat32), 0});
  return builder.finish();
}

constexpr int64_t kPlenty = int64_t{1} << 30;

/// What an entry of small_program() takes.
int64_t bytes_of_one() {
  KernelCache cache(kPlenty);
  cache.find_or_build(KernelKey("kernel", load_architecture("trn2")).add(1), small_program);
  return cache.statistics().bytes;
}

KernelKey key(int64_t number) { return KernelKey("kernel", load_architecture("trn2")).add(number); }

TEST(KernelCache, BuildsOnceAndCountsHitsAndMisses) {
  KernelCache cache(kPlenty);
  int builds = 0;
  const auto build = [&] { return ++builds, small_program(); };
  const auto first = cache.find_or_build(key(1), build);
  EXPECT_EQ(cache.find_or_build(key(1), build), first);
  EXPECT_NE(cache.find_or_build(key(2), build), first);
  EXPECT_EQ(builds, 2);
  const CacheStatistics statistics = cache.statistics();
  EXPECT_EQ(statistics.hits, 1);
  EXPECT_EQ(statistics.misses, 2);
  EXPECT_EQ(statistics.kernels, 2);
  cache.clear();
  EXPECT_EQ(cache.statistics().kernels, 0);
  cache.find_or_build(key(1), build);
  EXPECT_EQ(builds, 3);
}

TEST(KernelCache, ForgetsTheKernelThatWasNotUsedForLongest) {
  const int64_t one = bytes_of_one();
  KernelCache cache(3 * one - 1);  // room for two
  int builds = 0;
  const auto build = [&] { return ++builds, small_program(); };
  cache.find_or_build(key(1), build);
  cache.find_or_build(key(2), build);
  EXPECT_EQ(cache.statistics().evictions, 0);
  cache.find_or_build(key(1), build);
  cache.find_or_build(key(3), build);  // 2 goes
  EXPECT_EQ(builds, 3);
  cache.find_or_build(key(1), build);
  cache.find_or_build(key(3), build);
  EXPECT_EQ(builds, 3);
  cache.find_or_build(key(2), build);
  EXPECT_EQ(builds, 4);
  EXPECT_EQ(cache.statistics().kernels, 2);
  EXPECT_EQ(cache.statistics().bytes, 2 * one);
  EXPECT_EQ(cache.statistics().evictions, 2);
}

TEST(KernelCache, IsBoundedByBytesToTheLast) {
  const int64_t one = bytes_of_one();
  ASSERT_GT(one, 1000);
  for (const auto& [limit, kept] :
       {std::pair{one, 1}, {one - 1, 0}, {5 * one, 5}, {int64_t{0}, 0}}) {
    KernelCache cache(limit);
    for (int64_t i = 0; i < 20; ++i) {
      const auto kernel = cache.find_or_build(key(i), small_program);
      ASSERT_NE(kernel, nullptr);
      ASSERT_EQ(kernel->program().kernel, "small");
    }
    EXPECT_EQ(cache.statistics().kernels, kept);
    EXPECT_EQ(cache.statistics().bytes, kept * one);
    EXPECT_EQ(cache.statistics().evictions, 20 - kept);
    EXPECT_EQ(cache.limit(), limit);
  }
}

TEST(KernelCache, KeepsANewLimitAtOnce) {
  const int64_t one = bytes_of_one();
  KernelCache cache(kPlenty);
  for (int64_t i = 0; i < 6; ++i) cache.find_or_build(key(i), small_program);
  cache.set_limit(2 * one);
  EXPECT_EQ(cache.statistics().kernels, 2);
  int builds = 0;
  const auto build = [&] { return ++builds, small_program(); };
  cache.find_or_build(key(5), build);
  cache.find_or_build(key(4), build);
  EXPECT_EQ(builds, 0);  // the last ones stay
  EXPECT_THROW(cache.set_limit(-1), KernelError);
  EXPECT_EQ(cache.limit(), 2 * one);
}

TEST(KernelCache, CountsTheBytesOfLargePrograms) {
  KernelCache cache(kPlenty);
  const auto of_length = [&](int64_t length) {
    const int64_t before = cache.statistics().bytes;
    cache.find_or_build(key(length), [&] {
      Builder builder("long", load_architecture("trn2"));
      const View tile = builder.sbuf("t", {1, 4}, Dtype::kFloat32);
      for (int64_t i = 0; i < length; ++i) builder.emit(Memset{tile, static_cast<double>(i)});
      return builder.finish();
    });
    return cache.statistics().bytes - before;
  };
  const int64_t small = of_length(100);
  EXPECT_GT(small, 100 * static_cast<int64_t>(sizeof(Instruction) + sizeof(Operand)));
  EXPECT_GT(of_length(4000), 20 * small);
  cache.clear();
  EXPECT_EQ(cache.statistics().bytes, 0);
}

TEST(KernelCache, KeepsNothingOfAFailedBuild) {
  KernelCache cache(kPlenty);
  const auto failing = []() -> std::shared_ptr<const Program> { fail("no such shape."); };
  EXPECT_THROW(cache.find_or_build(key(1), failing), KernelError);
  EXPECT_EQ(cache.statistics().kernels, 0);
  EXPECT_NE(cache.find_or_build(key(1), small_program), nullptr);
}

TEST(KernelCache, GivesAllThreadsTheSameKernel) {
  KernelCache cache(kPlenty);
  std::vector<std::shared_ptr<const Kernel>> found(8);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < found.size(); ++i) {
    threads.emplace_back([&, i] { found[i] = cache.find_or_build(key(7), small_program); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& kernel : found) EXPECT_EQ(kernel, found[0]);
  EXPECT_EQ(cache.statistics().kernels, 1);
}

TEST(KernelKey, DiffersInEveryComponent) {
  const Architecture &trn1 = load_architecture("trn1"), &trn2 = load_architecture("trn2");
  const auto make = [](std::string_view kernel, const Architecture& a) {
    return KernelKey(kernel, a);
  };
  const KernelKey base = make("kernel", trn2).add(1).add("text").add({2, 3});
  EXPECT_EQ(base, make("kernel", trn2).add(1).add("text").add({2, 3}));
  EXPECT_EQ(base.hash(), make("kernel", trn2).add(1).add("text").add({2, 3}).hash());
  const KernelKey others[] = {
      make("kernels", trn2).add(1).add("text").add({2, 3}),
      make("kernel", trn1).add(1).add("text").add({2, 3}),
      make("kernel", trn2).add(2).add("text").add({2, 3}),
      make("kernel", trn2).add(1).add("Text").add({2, 3}),
      make("kernel", trn2).add(1).add("text").add({3, 2}),
      make("kernel", trn2).add(1).add("text").add({2}).add(3),
      make("kernel", trn2).add(1).add("text").add({2, 3, 0}),
      make("kernel", trn2).add("text").add(1).add({2, 3}),
      make("kernel", trn2).add(1).add(std::string_view("text\0", 5)).add({2, 3}),
  };
  for (const KernelKey& other : others) {
    EXPECT_FALSE(other == base);
    EXPECT_NE(other.hash(), base.hash());
  }
}

}  // namespace
}  // namespace neuron_sim
