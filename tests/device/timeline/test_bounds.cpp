// Properties of every timeline, on generated programs: never below a roofline, never faster with
// more work, the same each time.

#include <gtest/gtest.h>

#include <random>

#include "device/builder/builder.h"
#include "device/isa/activation/activation.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/tensor/nc_matmul.h"
#include "device/timeline/timeline.h"

namespace neuron_sim {
namespace {

/// One instruction of a generated program.
struct Choice {
  int kind = 0;
  int first = 0, second = 0, third = 0;
  int64_t columns = 0;
};

constexpr int kTiles = 6;
constexpr int kBanks = 4;

std::vector<Choice> generate(uint32_t seed, int count) {
  std::mt19937 random(seed);
  const auto below = [&](int bound) { return static_cast<int>(random() % bound); };
  std::vector<Choice> choices;
  for (int i = 0; i < count; ++i) {
    choices.push_back(
        {below(7), below(kTiles), below(kTiles), below(kTiles), 16 * (1 + below(32))});
  }
  return choices;
}

class Generated {
 public:
  explicit Generated(const Architecture& architecture) : builder_("generated", architecture) {
    for (int i = 0; i < kTiles; ++i) {
      input_.push_back(builder_.argument("in", {128, 512}, Dtype::kBfloat16));
      output_.push_back(builder_.argument("out", {128, 512}, Dtype::kBfloat16));
      tiles_.push_back(builder_.sbuf("t", {128, 512}, Dtype::kBfloat16));
    }
    for (int i = 0; i < kBanks; ++i) sums_.push_back(builder_.psum("s", {128, 512}));
  }
  void emit(const Choice& choice) {
    const auto part = [&](const View& view) { return view.slice(1, 0, choice.columns); };
    const View first = part(tiles_[static_cast<size_t>(choice.first)]);
    const View second = part(tiles_[static_cast<size_t>(choice.second)]);
    const View third = part(tiles_[static_cast<size_t>(choice.third)]);
    const View sum = part(sums_[static_cast<size_t>(choice.first % kBanks)]);
    const EngineKind queue = choice.third % 2 == 0 ? EngineKind::kSync : EngineKind::kGpSimd;
    switch (choice.kind) {
      case 0: {
        const View in = part(input_[static_cast<size_t>(choice.first)]);
        builder_.emit(DmaCopy{.dst = first, .src = in, .engine = queue});
        break;
      }
      case 1: {
        const View out = part(output_[static_cast<size_t>(choice.first)]);
        builder_.emit(DmaCopy{.dst = out, .src = first, .engine = queue});
        break;
      }
      case 2:
        builder_.emit(
            NcMatmul{.dst = sum,
                     .stationary = tiles_[static_cast<size_t>(choice.second)].slice(1, 0, 128),
                     .moving = third});
        break;
      case 3: builder_.emit(TensorCopy{second, sum, EngineKind::kVector}); break;
      case 4:
        builder_.emit(TensorTensor{first, second, third, AluOp::kAdd, EngineKind::kGpSimd});
        break;
      case 5: builder_.emit(Activate{.dst = first, .data = second, .op = Activation::kExp}); break;
      default:
        builder_.emit(TensorTensor{third, second, first, AluOp::kMultiply, EngineKind::kVector});
    }
  }
  std::shared_ptr<const Program> finish() { return builder_.finish(); }

 private:
  Builder builder_;
  std::vector<View> input_, output_, tiles_, sums_;
};

Timing timing_of(const Architecture& architecture, const std::vector<Choice>& choices,
                 const TimelineOptions& options = {}) {
  Generated generated(architecture);
  for (const Choice& choice : choices) generated.emit(choice);
  return simulate(*generated.finish(), {}, options);
}

/// Cycles that the array streams at least.
double multiply_cycles(const std::vector<Choice>& choices) {
  double cycles = 0;
  for (const Choice& choice : choices) {
    if (choice.kind == 2) cycles += static_cast<double>(choice.columns);
  }
  return cycles;
}

TEST(Bounds, NeverBelowTheRooflineOfAnyEngineNorOfHbm) {
  for (const char* name : {"trn1", "trn2", "trn3"}) {
    const Architecture& a = load_architecture(name);
    for (uint32_t seed = 0; seed < 40; ++seed) {
      const auto choices = generate(seed, 60);
      const Timing timing = timing_of(a, choices);
      for (int engine = 0; engine < kEngineCount; ++engine) {
        EXPECT_LE(timing.busy[static_cast<size_t>(engine)], timing.body) << name << seed;
      }
      const double nanoseconds = timing.body.nanoseconds();
      EXPECT_GE(nanoseconds * a.clocks.tensor.value, multiply_cycles(choices)) << name << seed;
      const auto bytes = static_cast<double>(timing.dma_bytes);
      EXPECT_GE(nanoseconds * a.dma.bytes_per_nanosecond * static_cast<double>(a.dma.engines),
                bytes);
      EXPECT_GE(nanoseconds * a.dma.hbm_bytes_per_nanosecond, bytes) << name << seed;
      EXPECT_LE(timing.dma_busy.count, timing.body.count * a.dma.engines) << name << seed;
    }
  }
}

TEST(Bounds, ReachTheRooflineOfTheArrayAndOfTheDmaEngines) {
  const Architecture& a = load_architecture("trn2");
  std::vector<Choice> products(2000, Choice{2, 0, 1, 1, 512});
  TimelineOptions warm{.starts_warm = true};
  const Timing multiplied = timing_of(a, products, warm);
  EXPECT_LT(multiplied.body.nanoseconds() * a.clocks.tensor.value,
            1.02 * multiply_cycles(products));
  Builder builder("stream", a);
  const View out = builder.argument("out", {32, 128, 2048}, Dtype::kFloat32);
  const View tile = builder.sbuf("t", {128, 2048}, Dtype::kFloat32);
  for (int i = 0; i < 32; ++i) {
    builder.emit(DmaCopy{.dst = out.select(0, i), .src = tile, .engine = EngineKind::kSync});
  }
  const Timing stored = simulate(*builder.finish());
  EXPECT_GT(stored.dma_utilisation(), 0.95);
}

/// Constant clock, and wait instructions that cost nothing: one that is paid for in a pause, or a
/// clock that is warm sooner, makes later work faster on the chip too.
Architecture without_memory() {
  Architecture a = load_architecture("trn2");
  a.features.clock_gating = false;
  a.scalar.table_load = {};
  a.semaphore.extra_wait = {};
  a.tensor.load_advance = {};
  a.tensor.multiply_issue_event = a.tensor.multiply_issue;
  return a;
}

TEST(Bounds, AnotherInstructionAtTheEndIsNeverFaster) {
  const Architecture& a = load_architecture("trn2");
  for (uint32_t seed = 0; seed < 15; ++seed) {
    auto choices = generate(seed, 40);
    std::vector<Choice> part;
    Picoseconds before{};
    for (const Choice& choice : choices) {
      part.push_back(choice);
      const Picoseconds body = timing_of(a, part).body;
      EXPECT_GE(body, before) << seed << ", " << part.size();
      before = body;
    }
  }
}

TEST(Bounds, ALongerLastInstructionOfEachKindIsSlower) {
  const Architecture& a = load_architecture("trn2");
  for (int kind = 0; kind < 7; ++kind) {
    auto choices = generate(static_cast<uint32_t>(kind), 10);
    choices.push_back({kind, 0, 1, 1, 64});
    Picoseconds before{};
    for (const int64_t columns : {64, 128, 256, 512}) {
      choices.back().columns = columns;
      const Picoseconds body = timing_of(a, choices).body;
      EXPECT_GE(body, before) << kind << ", " << columns;
      before = body;
    }
  }
}

/// The programs with DMA on one queue only: queues that overtake each other may do so differently
/// when an instruction is later, as on the chip.
std::vector<Choice> on_one_queue(std::vector<Choice> choices) {
  for (Choice& choice : choices) {
    if (choice.kind < 2) choice.third = 0;
  }
  return choices;
}

TEST(Bounds, LongerOrMoreInstructionsInTheMiddleAreNeverFaster) {
  const Architecture a = without_memory();
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const auto choices = on_one_queue(generate(seed, 40));
    const Picoseconds body = timing_of(a, choices).body;
    for (size_t i = 0; i < choices.size(); i += 3) {
      auto longer = choices;
      longer[i].columns = 512;
      EXPECT_GE(timing_of(a, longer).body, body) << seed << ", " << i;
      auto shorter = choices;
      shorter.erase(shorter.begin() + static_cast<ptrdiff_t>(i));
      EXPECT_LE(timing_of(a, shorter).body, body) << seed << ", " << i;
    }
  }
}

TEST(Bounds, TheSameProgramTakesTheSameTimeEachTime) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const auto choices = generate(seed, 60);
    const Timing first = timing_of(load_architecture("trn2"), choices);
    const Timing second = timing_of(load_architecture("trn2"), choices);
    EXPECT_EQ(first.body, second.body);
    EXPECT_EQ(first.busy, second.busy);
    EXPECT_EQ(first.dma_busy, second.dma_busy);
  }
}

}  // namespace
}  // namespace neuron_sim
