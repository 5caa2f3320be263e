#include "device/tracing/emitted_calls.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>

#include "device/isa/movement/tensor_copy.h"
#include "device/isa/tensor/nc_matmul.h"
#include "tests/device/tracing/evaluation.h"

namespace neuron_sim::tracing {
namespace {

using Arguments = std::vector<EmittedCalls::Argument>;

/// What two programs have in common that emitted the same instructions, one by one.
void expect_same(const Program& a, const Program& b) {
  ASSERT_EQ(a.instructions.size(), b.instructions.size());
  for (size_t k = 0; k < a.instructions.size(); ++k) {
    const Instruction &one = a.instructions[k], &other = b.instructions[k];
    EXPECT_EQ(one.type, other.type);
    EXPECT_EQ(one.source_line, other.source_line);
    ASSERT_EQ(one.operand_count, other.operand_count);
    for (size_t i = 0; i < one.operand_count; ++i) {
      const Operand &mine = a.operands_of(one)[i], &its = b.operands_of(other)[i];
      EXPECT_EQ(mine.tile, its.tile) << k;
      EXPECT_EQ(mine.partitions, its.partitions);
      EXPECT_TRUE(mine.region == its.region) << k;
    }
    ASSERT_EQ(one.attribute_count, other.attribute_count);
    for (size_t i = 0; i < one.attribute_count; ++i) {
      EXPECT_EQ(a.attributes_of(one)[i].bits, b.attributes_of(other)[i].bits) << k;
    }
  }
}

/// Calls of one kernel, through the calls that were emitted and, for comparison, without them.
class Kernel {
 public:
  Kernel() {
    for (Builder* each : {&builder, &plain}) {
      for (int k = 0; k < 6; ++k) each->sbuf("tile", {64, 64}, kType);
    }
  }
  /// A view that lives as long as the kernel.
  const View* view(const View& of) { return &views.emplace_back(of); }
  const View* tile() {
    return view(make([](Builder& of) { return of.sbuf("t", {64, 64}, kType); }));
  }
  const View* sum() {
    return view(make([](Builder& of) { return of.psum("s", {64, 64}); }));
  }
  void go_to(const std::string& line) {
    for (Builder* each : {&builder, &plain}) each->set_source_line(line);
    // A place in a kernel is the same object each time.
    line_ = &*lines.insert(line).first;
  }

  /// A copy with a further argument that the instruction ignores; whether it was emitted anew.
  bool copy(const View* dst, const View* src, const void* other = nullptr) {
    return call({{dst, dst}, {src, src}, {other, nullptr}}, true, [=](Builder& to) {
      to.emit(TensorCopy{*dst, *src});
    });
  }
  bool product(const View* dst, const View* stationary, const View* moving,
               std::optional<bool> mode) {
    const void* object = !mode ? &kNone : *mode ? &kTrue : &kFalse;
    return call(
        {{dst, dst}, {stationary, stationary}, {moving, moving}, {object, nullptr}},
        mode.has_value(), [=](Builder& to) {
          to.emit(NcMatmul{
              .dst = *dst, .stationary = *stationary, .moving = *moving, .accumulate = mode});
        });
  }
  bool call(const Arguments& arguments, bool has_mode, const std::function<void(Builder&)>& emit,
            bool is_taken = true, const void* instruction = &kCopy) {
    bool is_new = false;
    const EmittedCalls::Call made{instruction, line_, arguments, has_mode};
    const auto emit_anew = [&] {
      is_new = true;
      if (is_taken) emit(builder);
      return is_taken;
    };
    taken = calls.emit(builder, made, emit_anew, [&](size_t place) { held[place] = arguments; });
    if (taken) emit(plain);
    return is_new;
  }
  /// Whether a place holds a view or an object.
  bool holds(const void* object) const {
    return std::any_of(held.begin(), held.end(), [object](const auto& each) {
      return std::any_of(each.second.begin(), each.second.end(),
                         [object](const auto& argument) { return argument.object == object; });
    });
  }
  void expect_same_programs() { expect_same(*builder.program(), *plain.program()); }

  static constexpr Dtype kType = Dtype::kBfloat16;
  Builder builder{"calls", load_architecture("trn2"), TilePlacement::kAutomatic};
  Builder plain{"calls", load_architecture("trn2"), TilePlacement::kAutomatic};
  EmittedCalls calls;
  std::map<size_t, Arguments> held;
  bool taken = false;

 private:
  static constexpr char kCopy = 0, kNone = 0, kTrue = 0, kFalse = 0;
  View make(const std::function<View(Builder&)>& one) {
    one(plain);
    return one(builder);
  }
  std::deque<View> views;
  std::set<std::string> lines;
  const void* line_ = nullptr;
};

struct EmittedCopy : testing::Test {
  EmittedCopy() {
    kernel.go_to("k.py:1");
    EXPECT_TRUE(kernel.copy(x, y));
  }
  ~EmittedCopy() override { kernel.expect_same_programs(); }
  Kernel kernel;
  const View *x = kernel.tile(), *y = kernel.tile(), *z = kernel.tile();
};

TEST_F(EmittedCopy, IsRepeatedOnTheSameTiles) {
  EXPECT_FALSE(kernel.copy(x, y));
  EXPECT_FALSE(kernel.copy(kernel.view(*x), y));  // an equal view
}
TEST_F(EmittedCopy, IsRepeatedOnOtherTiles) {
  EXPECT_FALSE(kernel.copy(y, x));
  EXPECT_FALSE(kernel.copy(z, y));
  EXPECT_FALSE(kernel.copy(kernel.tile(), z));
  EXPECT_FALSE(kernel.copy(x, y));
}
TEST_F(EmittedCopy, IsEmittedAnewInAnotherLine) {
  kernel.go_to("k.py:2");
  EXPECT_TRUE(kernel.copy(x, y));
  kernel.go_to("k.py:1");
  EXPECT_FALSE(kernel.copy(x, y));
}
TEST_F(EmittedCopy, IsEmittedAnewWithAnotherObject) {
  EXPECT_TRUE(kernel.copy(x, y, &kernel));
  EXPECT_FALSE(kernel.copy(x, y, &kernel));
  EXPECT_FALSE(kernel.copy(x, y));
}
TEST_F(EmittedCopy, IsEmittedAnewForAnotherPartOfATile) {
  const View *half = kernel.view(x->slice(1, 0, 32)), *other = kernel.view(x->slice(1, 32, 32));
  const View *from = kernel.view(y->slice(1, 0, 32)), *odd = kernel.view(y->slice(1, 0, 32, 2));
  EXPECT_TRUE(kernel.copy(half, from));
  EXPECT_TRUE(kernel.copy(other, from));
  EXPECT_TRUE(kernel.copy(half, odd));  // which has the same hash
  EXPECT_FALSE(kernel.copy(other, from));
  EXPECT_FALSE(kernel.copy(half, from));
  EXPECT_FALSE(kernel.copy(half, odd));
}
TEST_F(EmittedCopy, IsEmittedAnewForOtherPartitions) {
  const View *low = kernel.view(x->slice(0, 0, 32)), *high = kernel.view(x->slice(0, 32, 32));
  EXPECT_TRUE(kernel.copy(low, kernel.view(y->slice(0, 0, 32))));
  EXPECT_TRUE(kernel.copy(high, kernel.view(y->slice(0, 0, 32))));
  EXPECT_FALSE(kernel.copy(kernel.view(z->slice(0, 32, 32)), kernel.view(x->slice(0, 0, 32))));
}
TEST_F(EmittedCopy, IsNoCallOfAnotherInstructionOrNumberOfArguments) {
  const auto emit = [this](Builder& to) { to.emit(TensorCopy{*x, *y}); };
  EXPECT_TRUE(kernel.call({{x, x}, {y, y}}, true, emit));
  EXPECT_TRUE(kernel.call({{x, x}, {y, y}, {nullptr, nullptr}}, true, emit, true, &kernel));
  EXPECT_FALSE(kernel.call({{x, x}, {y, y}}, true, emit));
}
TEST_F(EmittedCopy, WithAViewIsNoneWithAnObject) {
  const auto emit = [this](Builder& to) { to.emit(TensorCopy{*x, *y}); };
  EXPECT_TRUE(kernel.call({{x, x}, {y, y}, {z, z}}, true, emit));
  EXPECT_TRUE(kernel.call({{x, x}, {y, y}, {z, nullptr}}, true, emit));
  EXPECT_TRUE(kernel.call({{x, x}, {y, nullptr}, {nullptr, nullptr}}, true, emit));
}
TEST_F(EmittedCopy, ThatIsNotTakenIsNotRemembered) {
  const auto emit = [this](Builder& to) { to.emit(TensorCopy{*x, *y}); };
  const Arguments arguments{{x, x}, {y, y}, {&kernel, nullptr}};
  EXPECT_TRUE(kernel.call(arguments, true, emit, false));
  EXPECT_FALSE(kernel.taken);
  EXPECT_FALSE(kernel.holds(&kernel));
  EXPECT_TRUE(kernel.call(arguments, true, emit));
  EXPECT_TRUE(kernel.holds(&kernel));
}
TEST_F(EmittedCopy, OfTilesThatAreAllNewIsNotRememberedAgain) {
  const View *a = kernel.tile(), *b = kernel.tile();
  EXPECT_FALSE(kernel.copy(a, b));
  EXPECT_FALSE(kernel.holds(a));
  EXPECT_FALSE(kernel.copy(a, y));  // no new tile: the pair may come again
  EXPECT_TRUE(kernel.holds(a));
}

class DrawnCalls : public testing::TestWithParam<int> {};

TEST_P(DrawnCalls, EmitTheProgramThatIsEmittedWithoutThem) {
  Draws draws{GetParam()};
  Kernel kernel;
  std::vector<const View*> tiles, sums;
  for (int k = 0; k < 3; ++k) tiles.push_back(kernel.tile()), sums.push_back(kernel.sum());
  const auto one_of = [&](const std::vector<const View*>& all) {
    return all[static_cast<size_t>(draws.number(0, static_cast<int64_t>(all.size()) - 1))];
  };
  const char objects[3] = {};
  int repeated = 0;
  for (int step = 0; step < 300; ++step) {
    kernel.go_to("k.py:" + std::to_string(draws.number(1, 3)));
    if (draws.number(0, 19) == 0) tiles.push_back(kernel.tile());
    if (draws.number(0, 19) == 0) sums.push_back(kernel.sum());
    const int64_t kind = draws.number(0, 5);
    bool is_new = false;
    if (kind < 3) {
      const View *dst = one_of(tiles), *src = one_of(tiles);
      const int64_t start = 8 * draws.number(0, 2), step_of = draws.number(1, 2);
      if (kind > 0) {
        dst = kernel.view(dst->slice(1, start, 16));
        src = kernel.view(src->slice(1, 0, 16, step_of));
      }
      is_new = kernel.copy(dst, src, &objects[draws.number(0, 2)]);
    } else {
      const std::optional<bool> modes[] = {std::nullopt, false, true};
      is_new = kernel.product(one_of(sums), one_of(tiles), one_of(tiles), modes[kind - 3]);
    }
    repeated += is_new ? 0 : 1;
  }
  kernel.expect_same_programs();
  EXPECT_GT(repeated, 30);
}

INSTANTIATE_TEST_SUITE_P(Seeds, DrawnCalls, testing::Range(0, 20));

}  // namespace
}  // namespace neuron_sim::tracing
