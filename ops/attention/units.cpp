#include "ops/attention/units.h"

#include <algorithm>

#include "ops/blocks/tiles.h"

namespace neuron_sim {
namespace {

// Enough for a unit to hide the loads of the next one; more only lengthen the first loads.
constexpr int64_t kSteps = 8;
constexpr int64_t kColumns = 2048;

/// The largest divisor of `count` that `fits`; 1 when none does.
int64_t largest_divisor(int64_t count, const std::function<bool(int64_t)>& fits) {
  for (int64_t divisor = count; divisor > 1; --divisor) {
    if (count % divisor == 0 && fits(divisor)) return divisor;
  }
  return 1;
}

bool images_follow(const HbmTensor& tensor) {
  return tensor.shape[0] == 1 || tensor.strides[0] == tensor.shape[1] * tensor.strides[1];
}

/// Where step - lag of `unit` lies.
struct Position {
  int64_t units_back, step;
};
Position before(int64_t step, int64_t lag, int64_t steps) {
  const int64_t back = step >= lag ? 0 : ceiling(lag - step, steps);
  return {back, step - lag + back * steps};
}

/// Emits the units of one pipeline; `number` counts units from the first one. A constant number
/// shows which neighbours exist; in a loop all of them do.
class PipelineEmitter {
 public:
  explicit PipelineEmitter(const UnitPipeline& pipeline) : pipeline_(pipeline) {
    for (const PipelineStage& stage : pipeline.stages) longest_ = std::max(longest_, stage.lag);
  }
  /// Units before the first one that has all its predecessors.
  int64_t lead() const { return ceiling(longest_, pipeline_.steps); }

  void unit(const Affine& number) {
    const bool has_next = !number.is_constant() || number.constant() + 1 < pipeline_.units;
    const int64_t steps = pipeline_.steps;
    const int64_t load = std::clamp<int64_t>(longest_ - 1, 0, steps - 1);
    const int64_t prepare = std::max(load, steps - 3);
    for (int64_t step = 0; step < steps; ++step) {
      emit_step(number, step, 0);
      if (has_next && step == load) pipeline_.load(number + 1);
      if (has_next && step == prepare) pipeline_.prepare(number + 1);
    }
  }
  /// The lagging stages of the last steps.
  void drain() {
    const int64_t last = pipeline_.units - 1;
    for (int64_t i = 0; i < longest_; ++i) emit_step(last, pipeline_.steps + i, i + 1);
  }

 private:
  /// Stages that are due at a step, of lag `least` or more.
  void emit_step(const Affine& number, int64_t step, int64_t least) {
    for (const PipelineStage& stage : pipeline_.stages) {
      if (stage.lag < least) continue;
      const Position position = before(step, stage.lag, pipeline_.steps);
      const Affine unit = number - position.units_back;
      if (unit.is_constant() && unit.constant() < 0) continue;
      stage.emit(unit, position.step);
      const bool ends = stage.lag == longest_ && position.step == pipeline_.steps - 1 &&
                        &stage == &pipeline_.stages.back();
      if (ends) pipeline_.finish(unit);
    }
  }

  const UnitPipeline& pipeline_;
  int64_t longest_ = 0;
};

}  // namespace

Affine AttentionUnits::start(const HbmTensor& tensor, const Affine& image,
                             const Affine& unit) const {
  return image * tensor.strides[0] + unit * (key_heads * tensor.strides[1]);
}

AttentionUnits plan_units(std::span<const HbmTensor> tensors, int64_t steps, int64_t bytes,
                          int64_t budget, int64_t columns) {
  const std::vector<int64_t>& shape = tensors[0].shape;
  AttentionUnits result;
  int64_t heads = shape[1];
  if (std::all_of(tensors.begin(), tensors.end(), images_follow)) {
    heads *= shape[0];
  } else {
    result.images = shape[0];
  }
  result.members = shape[2];
  if (result.members == 1) {
    result.key_heads = largest_divisor(heads, [&](int64_t count) {
      return count * steps <= kSteps && 2 * count * bytes <= budget;
    });
  }
  const int64_t units = heads / result.key_heads;
  // A unit that leaves no room for another one is alone in its section.
  const bool overlaps = 2 * bytes <= budget;
  result.units = largest_divisor(units, [&](int64_t count) {
    return overlaps && count * result.key_heads * columns <= kColumns;
  });
  result.sections = units / result.units;
  return result;
}

void emit_pipeline(Builder& builder, const UnitPipeline& pipeline) {
  PipelineEmitter emitter(pipeline);
  pipeline.load(0);
  pipeline.prepare(0);
  const int64_t first = std::min(emitter.lead(), pipeline.units);
  for (int64_t unit = 0; unit < first; ++unit) emitter.unit(unit);
  builder.loop(std::max<int64_t>(pipeline.units - 1 - first, 0),
               [&](const Affine& index) { emitter.unit(index + first); });
  if (pipeline.units > first) emitter.unit(pipeline.units - 1);
  emitter.drain();
}

int pipeline_ring(int64_t units, int64_t steps, int64_t longest_lag) {
  const int64_t load = std::clamp<int64_t>(longest_lag - 1, 0, steps - 1);
  return static_cast<int>(std::min(units, 2 + ceiling(longest_lag - 1 - load, steps)));
}

void AttentionTransposer::transpose(const View& dst, const std::function<View(int64_t)>& source) {
  // Halves of a bank, so that both engines drain it.
  const int64_t group = std::min<int64_t>(transposer_.group(), 4);
  for (int64_t first = 0; first < dst.size(1); first += group, ++calls_) {
    const int64_t count = std::min(group, dst.size(1) - first);
    transposer_.transpose(
        dst.slice(1, first, count), [&](int64_t j) { return source(first + j); }, calls_,
        calls_ % 2 == 0 ? EngineKind::kVector : EngineKind::kScalar);
  }
}

RowNumbers::RowNumbers(Builder& builder, const AttentionUnits& units, int64_t rows)
    : builder_(builder),
      partitions_(builder.limits().partitions),
      rows_(rows),
      blocks_(ceiling(rows, partitions_)),
      heads_of_unit_(units.heads()),
      heads_(units.units * units.heads()),
      columns_(heads_ * blocks_),
      by_head_(blocks_ == 1 || rows % partitions_ == 0) {}

Affine RowNumbers::column(const Affine& unit, int64_t head, int64_t block) const {
  const Affine number = unit * heads_of_unit_ + head;
  return by_head_ ? number * blocks_ + block : number + block * heads_;
}

/// Calls `body` with pieces of at most 128 columns: [columns, rows] in HBM.
void RowNumbers::each_piece(const HbmTensor& numbers, const Affine& image, const Affine& unit,
                            const std::function<void(int64_t, const View&)>& body) const {
  const int64_t image_rows = numbers.elements() / numbers.shape[0];
  const Affine start = image * image_rows + unit * (heads_of_unit_ * rows_);
  const auto pieces = [&](int64_t first, int64_t count, int64_t step, int64_t rows,
                          const Affine& origin) {
    for (int64_t i = 0; i < count; i += partitions_) {
      const int64_t size = std::min(partitions_, count - i);
      body(first + i, numbers.view({size, rows}, {step, 1}, origin + i * step));
    }
  };
  if (by_head_) {
    const int64_t rows = std::min(rows_, partitions_);
    pieces(0, columns_, rows, rows, start);
    return;
  }
  for (int64_t block = 0; block < blocks_; ++block) {
    const int64_t rows = std::min(partitions_, rows_ - block * partitions_);
    pieces(block * heads_, heads_, rows_, rows, start + block * partitions_);
  }
}

void RowNumbers::store(const View& tile, const HbmTensor& numbers, const Affine& image,
                       const Affine& unit) {
  builder_.scope([&] {
    AttentionTransposer transposer(builder_, Dtype::kFloat32, 2);
    const View turned =
        builder_.sbuf("row_numbers", {partitions_, 1, partitions_}, Dtype::kFloat32, 2);
    int64_t turn = 0;
    each_piece(numbers, image, unit, [&](int64_t column, const View& hbm) {
      const int64_t count = hbm.size(0), rows = hbm.size(1);
      const View place = turned.turn(turn++).slice(0, 0, count).slice(2, 0, rows);
      transposer.transpose(place,
                           [&](int64_t) { return tile.slice(0, 0, rows).slice(1, column, count); });
      neuron_sim::store(builder_, hbm, place.select(1, 0));
    });
  });
}

void RowNumbers::load(const View& tile, const HbmTensor& numbers, const Affine& image,
                      const Affine& unit) {
  builder_.scope([&] {
    AttentionTransposer transposer(builder_, Dtype::kFloat32, 2);
    const View staged =
        builder_.sbuf("row_numbers", {partitions_, partitions_}, Dtype::kFloat32, 2);
    int64_t turn = 0;
    each_piece(numbers, image, unit, [&](int64_t column, const View& hbm) {
      const int64_t count = hbm.size(0), rows = hbm.size(1);
      const View place = staged.turn(turn++).slice(0, 0, count).slice(1, 0, rows);
      neuron_sim::load(builder_, place, hbm);
      transposer.transpose(tile.slice(0, 0, rows).slice(1, column, count).expand(1),
                           [&](int64_t) -> const View& { return place; });
    });
  });
}

}  // namespace neuron_sim
