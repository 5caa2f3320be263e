#include "ops/blocks/tiles.h"

#include <gtest/gtest.h>

#include "device/isa/movement/memset.h"
#include "ops/blocks/collapse.h"

namespace neuron_sim {
namespace {

/// What a loop helper visits: (start, size, index) of every tile, loops unrolled by hand.
struct Visit {
  int64_t start, size, index;
  bool operator==(const Visit&) const = default;
};

/// Records the visits of `emit`; `trips` is the trip count of its counted loop, if there is one.
std::vector<Visit> unrolled(const std::function<void(Builder&, const TileBody&)>& emit,
                            int64_t trips) {
  Builder builder("loops", load_architecture("trn2"));
  const View tile = builder.sbuf("tile", {1, 1}, Dtype::kFloat32);
  std::vector<Visit> visits;
  emit(builder, [&](const Affine& start, int64_t size, const Affine& index) {
    const int64_t count = index.is_constant() ? 1 : trips;
    for (int64_t i = 0; i < count; ++i) visits.push_back({start.at(&i), size, index.at(&i)});
    builder.emit(Memset{.dst = tile});
  });
  return visits;
}

TEST(ForTiles, VisitsFullTilesThenTheRemainder) {
  const auto visits = [](int64_t extent) {
    return unrolled(
        [&](Builder& builder, const TileBody& body) { for_tiles(builder, extent, 4, body); },
        extent / 4);
  };
  EXPECT_EQ(visits(0), std::vector<Visit>{});
  EXPECT_EQ(visits(3), (std::vector<Visit>{{0, 3, 0}}));
  EXPECT_EQ(visits(4), (std::vector<Visit>{{0, 4, 0}}));
  EXPECT_EQ(visits(13), (std::vector<Visit>{{0, 4, 0}, {4, 4, 1}, {8, 4, 2}, {12, 1, 3}}));
}

TEST(ForTilesAhead, PreparesEveryTileOnceAndBeforeItsBody) {
  for (const int64_t extent : {0, 3, 4, 7, 8, 12, 14}) {
    const int64_t full = extent / 4;
    for (const bool preparing : {true, false}) {
      const std::vector<Visit> visits = unrolled(
          [&](Builder& builder, const TileBody& body) {
            const TileBody nothing = [](const Affine&, int64_t, const Affine&) {};
            for_tiles_ahead(builder, extent, 4, preparing ? body : nothing,
                            preparing ? nothing : body);
          },
          full - 1);
      std::vector<Visit> expected;
      for (int64_t i = 0; i < full; ++i) expected.push_back({i * 4, 4, i});
      if (extent % 4 > 0) expected.push_back({full * 4, extent % 4, full});
      EXPECT_EQ(visits, expected) << extent;
    }
  }
}

TEST(Collapse, MergesWhatIsAdjacentInEveryTensor) {
  const auto dense = collapse({2, 3, 4}, {{12, 4, 1}, {12, 4, 1}});
  EXPECT_EQ(sizes_of(dense), std::vector<int64_t>{24});
  const auto mixed = collapse({2, 1, 3, 4}, {{12, 7, 4, 1}, {0, 9, 0, 1}});
  EXPECT_EQ(sizes_of(mixed), (std::vector<int64_t>{6, 4}));
  EXPECT_EQ(strides_of(mixed, 1), (std::vector<int64_t>{0, 1}));
  const auto apart = collapse({2, 3}, {{3, 1}, {1, 2}});
  EXPECT_EQ(sizes_of(apart), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(sizes_of(collapse({}, {{}})), std::vector<int64_t>{1});
  EXPECT_EQ(sizes_of(collapse({1, 1}, {{5, 5}})), std::vector<int64_t>{1});
}

}  // namespace
}  // namespace neuron_sim
