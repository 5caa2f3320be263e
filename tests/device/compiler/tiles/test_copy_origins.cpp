// Against a table that has the origin of every byte.

#include "device/compiler/tiles/copy_origins.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "device/builder/builder.h"
#include "device/compiler/line/access_pattern.h"
#include "device/compiler/line/straight_line.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"

namespace neuron_sim {
namespace {

constexpr int kColumns = 24;
constexpr Dtype kFloat = Dtype::kFloat32;

/// Copies rows within SBUF into a tile; a memset beside them writes its last column.
class Copies {
 public:
  explicit Copies(bool memset = false) {
    if (memset) {
      builder_.emit(Memset{.dst = target_.slice(1, kColumns - 1, 1), .value = 1.0});
    }
  }
  void add(const View& dst, const View& src) { builder_.emit(TensorCopy{dst, src}); }
  const View& target() const { return target_; }
  const View& source() const { return source_; }
  StraightLine line() { return *unroll(*builder_.finish()).line; }

 private:
  Builder builder_{"copies", load_architecture("trn2")};
  View target_ = builder_.sbuf("target", {4, kColumns}, kFloat);
  View source_ = builder_.sbuf("source", {4, kColumns}, kFloat);
};

struct Found {
  CopiedTile copied;
  std::map<int64_t, CopyOrigins::Origin> bytes;
  bool once = true;
};

/// Per byte of the target, from the elements of each copy.
Found origins_of(const StraightLine& line) {
  Found found;
  for (uint32_t i = 0; i < line.instructions.size(); ++i) {
    const WholeOperands operands = line.whole_operands_of(line.instructions[i]);
    found.copied.tile = operands[0].tile;
    if (line.instructions[i].instruction.type != &kTensorCopy) {
      found.copied.other_writes.push_back({i, 0});
      continue;
    }
    found.copied.copies.push_back(i);
    std::vector<int64_t> from;
    each_element(operands[1], [&](int64_t byte) { from.push_back(byte); });
    size_t next = 0;
    each_element(operands[0], [&](int64_t byte) {
      for (int64_t b = 0; b < itemsize(kFloat); ++b) {
        const CopyOrigins::Origin origin{i, operands[1].tile, from[next] + b};
        found.once = found.bytes.emplace(byte + b, origin).second && found.once;
      }
      ++next;
    });
  }
  return found;
}

void expect_equal(const CopyOrigins& origins, const Found& found, int64_t base) {
  for (int64_t byte = base - 8; byte < base + kColumns * itemsize(kFloat) + 8; ++byte) {
    const auto origin = origins.at(byte);
    const auto expected = found.bytes.find(byte);
    ASSERT_EQ(origin.has_value(), expected != found.bytes.end()) << byte;
    if (!origin) continue;
    EXPECT_EQ(origin->copy, expected->second.copy) << byte;
    EXPECT_EQ(origin->tile, expected->second.tile) << byte;
    EXPECT_EQ(origin->byte, expected->second.byte) << byte;
  }
}

TEST(CopyOrigins, EachByteOfRandomRowsComesFromWhereItsCopyReadsIt) {
  std::mt19937 random(7);
  int valid = 0, invalid = 0;
  for (int trial = 0; trial < 200; ++trial) {
    Copies copies(trial % 2 == 1);
    for (int copy = 0; copy < 3; ++copy) {
      const int rows = 1 + static_cast<int>(random() % 3),
                width = 1 + static_cast<int>(random() % 4);
      const int pitch = width + static_cast<int>(random() % 3);
      const auto rows_of = [&](const View& view) {
        const int first = static_cast<int>(random() % (kColumns - rows * pitch));
        return view.slice(1, first, rows * pitch).split(1, rows, pitch).slice(2, 0, width);
      };
      const View dense = copies.target().slice(1, static_cast<int>(random() % 12), rows * width);
      copies.add(random() % 2 == 0 ? rows_of(copies.target()) : dense.split(1, rows, width),
                 rows_of(copies.source()));
    }
    const StraightLine line = copies.line();
    const Found found = origins_of(line);
    const CopyOrigins origins(line, found.copied);
    bool beside = true;
    for (const TileUse& use : found.copied.other_writes) {
      each_element(line.whole(operand_at(line, use)),
                   [&](int64_t byte) { beside = beside && !found.bytes.contains(byte); });
    }
    EXPECT_EQ(origins.valid(), found.once && beside);
    (origins.valid() ? valid : invalid) += 1;
    if (!origins.valid()) continue;
    expect_equal(origins, found, line.tiles[static_cast<size_t>(found.copied.tile)].address);
  }
  EXPECT_GT(valid, 20);
  EXPECT_GT(invalid, 20);
}

TEST(CopyOrigins, BytesOfTwoCopiesAreNotContiguous) {
  Copies copies;
  copies.add(copies.target().slice(1, 0, 4), copies.source().slice(1, 0, 4));
  copies.add(copies.target().slice(1, 4, 4), copies.source().slice(1, 4, 4));
  const StraightLine line = copies.line();
  const Found found = origins_of(line);
  const CopyOrigins origins(line, found.copied);
  const int64_t base = line.tiles[static_cast<size_t>(found.copied.tile)].address;
  EXPECT_TRUE(origins.of_contiguous(base, 16).has_value());
  EXPECT_TRUE(origins.of_contiguous(base + 16, 16).has_value());
  EXPECT_FALSE(origins.of_contiguous(base + 4, 16).has_value());
  EXPECT_FALSE(origins.of_contiguous(base + 28, 8).has_value());
}

}  // namespace
}  // namespace neuron_sim
