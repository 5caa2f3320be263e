#include <gtest/gtest.h>

#include "device/arch/architecture.h"
#include "device/base/errors.h"
#include "device/builder/builder.h"
#include "device/isa/movement/memset.h"

namespace neuron_sim {
namespace {

View tile() { return View(MemoryKind::kSbuf, 3, Dtype::kBfloat16, {64, 6, 10}, {1, 20, 2}, "t"); }
View tensor() { return View(MemoryKind::kHbm, 1, Dtype::kFloat32, {4, 6, 10}, {240, 40, 4}, "x"); }

template <typename Action>
std::string error_of(Action&& action) {
  try {
    action();
  } catch (const KernelError& error) {
    return error.what();
  }
  return "";
}

TEST(ViewPattern, SaysWhatItWasMadeOf) {
  const Affine i = Affine::variable(0);
  const View view = tile().pattern({{32, 1}, {3, 20}, {2, 0}, {5, 2}}, i * 4 + 1, i * 32);
  EXPECT_EQ(view.shape(), (std::vector<int64_t>{32, 3, 2, 5}));
  EXPECT_EQ(view.element_strides(), (std::vector<int64_t>{1, 20, 0, 2}));
  EXPECT_EQ(view.element_offset(), i * 4 + 1);
  EXPECT_EQ(view.offset(), i * 8 + 2);
  EXPECT_EQ(view.partition(), i * 32);
  EXPECT_EQ(view.storage_elements(), 60);
  EXPECT_EQ(view.storage_partitions(), 64);
}

TEST(ViewPattern, ForgetsThePatternOfTheViewButNotItsStorage) {
  const View column = tile().slice(0, 8, 8).select(1, 5).slice(1, 3, 1);
  const View whole = column.pattern({{64, 1}, {60, 1}}, 0);
  EXPECT_EQ(whole.partition(), Affine(0));
  EXPECT_EQ(whole.free_elements(), 60);
  EXPECT_EQ(column.reinterpret(Dtype::kInt8).storage_elements(), 120);
}

TEST(ViewPattern, OfHbmStridesEveryDimension) {
  const View view = tensor().pattern({{10, 1}, {4, 60}}, 3 * 10);
  EXPECT_EQ(view.shape(), (std::vector<int64_t>{10, 4}));
  EXPECT_EQ(view.dimension(0).stride, 4);
  EXPECT_EQ(view.dimension(1).stride, 240);
  EXPECT_EQ(view.element_strides(), (std::vector<int64_t>{1, 60}));
  EXPECT_EQ(view.storage_partitions(), 1);
  EXPECT_EQ(error_of([] {
              tensor().pattern({{10, 1}}, 0, 1);
            }),
            "access pattern of tensor 'x': it has a first partition; HBM has no partitions.");
}

TEST(ViewPattern, StaysOnTheStorage) {
  EXPECT_EQ(error_of([] { tensor().pattern({{4, 60}, {10, 1}}, 50); }), "");
  EXPECT_EQ(
      error_of([] {
        tensor().pattern({{4, 60}, {10, 1}}, 51);
      }),
      "Out-of-bound access for tensor `x`: the access pattern reaches element 240, the tensor "
      "has 240.");
  EXPECT_EQ(error_of([] {
              tile().pattern({{64, 1}, {60, 1}}, 1);
            }),
            "Out-of-bound access for tensor `t`: the access pattern reaches element 60, the tensor "
            "has 60 per partition.");
  EXPECT_EQ(error_of([] {
              tile().pattern({{64, 1}, {60, 1}}, -1);
            }),
            "Out-of-bound access for tensor `t`: the access pattern reaches element -1, the tensor "
            "has 60 per partition.");
  EXPECT_EQ(error_of([] { tile().pattern({{32, 1}, {60, 1}}, 0, 32); }), "");
  EXPECT_EQ(error_of([] {
              tile().pattern({{32, 1}, {60, 1}}, 0, 33);
            }),
            "Out-of-bound access for tensor `t` on dimension 0: index range [33, 64] exceed "
            "dimension size of 64");
  EXPECT_EQ(error_of([] { tile().pattern({{65, 0}, {60, 1}}, 0, 63); }), "");
  const Affine i = Affine::variable(0);
  EXPECT_EQ(error_of([&] { tile().pattern({{1, 1}, {60, 1}}, i); }), "");
  EXPECT_NE(error_of([&] { tile().pattern({{1, 1}, {61, 1}}, i); }), "");
}

TEST(ViewPattern, HasTheDimensionsAndStepsOfAnAccessPattern) {
  EXPECT_EQ(error_of([] { tile().pattern({{1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, 0); }), "");
  EXPECT_EQ(error_of([] {
              tile().pattern({{1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, 0);
            }),
            "access pattern of tensor 't': 6 dimensions; an access pattern has 1 to 5.");
  EXPECT_EQ(error_of([] { tile().pattern({}, 0); }),
            "access pattern of tensor 't': 0 dimensions; an access pattern has 1 to 5.");
  EXPECT_EQ(error_of([] {
              tile().pattern({{1, 1}, {0, 1}}, 0);
            }),
            "access pattern of tensor 't': dimension 1 has size 0; it must be positive.");
  EXPECT_EQ(error_of([] {
              tile().pattern({{1, 1}, {2, -1}}, 4);
            }),
            "access pattern of tensor 't': dimension 1 has step -1; it is negative.");
  EXPECT_EQ(error_of([] {
              tile().pattern({{2, 2}, {1, 1}}, 0);
            }),
            "access pattern of tensor 't': partition step 2; partitions are contiguous.");
}

TEST(ViewPattern, TheBuilderChecksLoopVariablesAgainstTheStorage) {
  Builder builder("pattern", load_architecture("trn2"));
  const View tile = builder.sbuf("tile", {64, 60}, Dtype::kFloat32);
  const auto emit = [&](int64_t trips, int64_t step) {
    return error_of([&] {
      builder.loop(trips, [&](const Affine& i) {
        builder.emit(Memset{tile.pattern({{64, 1}, {5, 2}}, i * step), 0});
      });
    });
  };
  EXPECT_EQ(emit(4, 17), "");
  EXPECT_EQ(
      emit(4, 18),
      "Out-of-bound access for tensor `tile`: operand 'dst' of 'memset' reaches byte 251, the "
      "tensor has 240 bytes per partition.");
}

TEST(ViewPattern, ReinterpretationScalesTheLastDimension) {
  const View view = tile().slice(2, 4, 4).slice(1, Affine::variable(1), 2);
  const View words = view.reinterpret(Dtype::kFloat32);
  EXPECT_EQ(words.shape(), (std::vector<int64_t>{64, 2, 2}));
  EXPECT_EQ(words.element_strides(), (std::vector<int64_t>{1, 5, 1}));
  EXPECT_EQ(words.element_offset(), Affine::variable(1) * 5 + 2);
  const View bytes = view.reinterpret(Dtype::kUint8);
  EXPECT_EQ(bytes.shape(), (std::vector<int64_t>{64, 2, 8}));
  EXPECT_EQ(bytes.element_offset(), Affine::variable(1) * 20 + 8);
  EXPECT_EQ(bytes.reinterpret(Dtype::kBfloat16).element_strides(), view.element_strides());
}

TEST(ViewPattern, ReinterpretationNeedsWholeContiguousElements) {
  const auto message = [](const View& view, Dtype dtype) {
    return error_of([&] { view.reinterpret(dtype); });
  };
  EXPECT_EQ(message(tile().slice(2, 2, 3), Dtype::kFloat32),
            "reinterpretation of tensor 't[64, 6, 3]' from bfloat16 to float32: the bytes of its "
            "last dimension are not contiguous whole elements of 4 bytes.");
  EXPECT_NE(message(tile().slice(2, 1, 4), Dtype::kFloat32), "");   // offset
  EXPECT_NE(message(tile().slice(2, 0, 5, 2), Dtype::kUint8), "");  // step
  EXPECT_NE(message(tile().slice(2, 0, 5, 2), Dtype::kFloat32), "");
  EXPECT_EQ(message(tile().slice(2, 0, 1), Dtype::kUint8), "");  // one element has no step
  EXPECT_NE(message(tile().slice(2, Affine::variable(0), 2), Dtype::kFloat32), "");
  EXPECT_NE(message(tile().select(1, 0).select(1, 0), Dtype::kFloat32), "");
}

TEST(ViewPattern, TensorsOfMoreDimensionsComeFlat) {
  Builder builder("flat", load_architecture("trn2"));
  EXPECT_EQ(builder.argument("six", {2, 3, 1, 4, 5, 2}, Dtype::kFloat32).shape(),
            (std::vector<int64_t>{240}));
  EXPECT_EQ(builder.scratch("none", {}, Dtype::kFloat32).shape(), (std::vector<int64_t>{1}));
  EXPECT_EQ(builder.argument("five", {2, 3, 4, 5, 2}, Dtype::kFloat32).rank(), 5);
  EXPECT_EQ(builder.finish()->arguments[0].shape, (std::vector<int64_t>{2, 3, 1, 4, 5, 2}));
}

}  // namespace
}  // namespace neuron_sim
