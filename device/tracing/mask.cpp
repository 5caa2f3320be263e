#include "device/tracing/mask.h"

#include "device/base/errors.h"

namespace neuron_sim::tracing {

Sizes Mask::shape() const {
  Sizes result;
  for (const IndexExpression& condition : conditions) {
    const Sizes& other = condition.shape;
    Sizes both(std::max(result.size(), other.size()), 1);
    std::copy(result.begin(), result.end(), both.end() - result.size());
    for (size_t i = 0; i < other.size(); ++i) {
      int64_t& size = both[both.size() - other.size() + i];
      size = std::max(size, other[i]);
    }
    result = both;
  }
  return result;
}

std::variant<bool, Mask> compare(const IndexExpression& a, Comparison comparison,
                                 const IndexExpression& b) {
  const bool is_less = comparison == Comparison::kLess || comparison == Comparison::kLessEqual;
  const bool is_strict = comparison == Comparison::kLess || comparison == Comparison::kGreater;
  IndexExpression margin = is_less ? sum(b, a, -1) : sum(a, b, -1);
  if (is_strict) add_product(margin.position.constant, -1, 1);
  const int64_t number = margin.position.constant;
  if (margin.is_number()) return comparison == Comparison::kEqual ? number == 0 : number >= 0;
  Mask result;
  if (comparison == Comparison::kEqual) result.conditions.push_back(scaled(margin, -1));
  result.conditions.push_back(margin);
  return result;
}

namespace {

/// constant + sum of step * position in a dimension of the tile, which has to be at least 0.
struct Condition {
  int64_t constant;
  Sizes steps;
};

/// The part of a tile that conditions leave.
class Cut {
 public:
  explicit Cut(const Sizes& shape) : shape_(shape), box_{Sizes(shape.size(), 0), shape} {}

  /// Adds a condition that does not hold everywhere; false when it does not fit the tile.
  bool add(const IndexExpression& expression);
  std::vector<Box> boxes();

 private:
  /// constant + step * position >= 0 limits the positions of a dimension.
  static void restrict(Box& box, size_t d, int64_t constant, int64_t step);
  void split();
  /// The box at one position of the outer dimensions, unless it is empty.
  void add_box(const std::vector<size_t>& outer, const Sizes& positions, size_t inner);
  /// Adds a box; positions of one outer dimension with the same extent become one box.
  void append(const Box& box, const std::vector<size_t>& outer);

  const Sizes& shape_;
  Box box_;                         ///< of the conditions on one dimension
  std::vector<Condition> coupled_;  ///< those on several
  std::vector<Box> boxes_;
};

void Cut::restrict(Box& box, size_t d, int64_t constant, int64_t step) {
  if (step > 0) {
    box.first[d] = std::max(box.first[d], -floor_quotient(constant, step));
  } else {
    box.last[d] = std::min(box.last[d], floor_quotient(-constant, step) + 1);
  }
}

bool Cut::add(const IndexExpression& expression) {
  const size_t rank = expression.shape.size();
  Condition condition{expression.position.constant, Sizes(shape_.size(), 0)};
  size_t along = 0, count = 0;
  for (size_t j = 0; j < rank; ++j) {
    if (expression.shape[j] == 1) continue;  // its position is 0
    const size_t d = shape_.size() + j - rank;
    const int64_t step = expression.steps[j];
    if (shape_.size() + j < rank || (step != 0 && expression.shape[j] != shape_[d])) return false;
    if (step == 0) continue;
    condition.steps[d] = step;
    along = d;
    ++count;
  }
  if (count > 1) {
    coupled_.push_back(condition);
  } else {
    restrict(box_, along, condition.constant, condition.steps[along]);
  }
  return true;
}

void Cut::append(const Box& box, const std::vector<size_t>& outer) {
  if (!boxes_.empty() && outer.size() == 1) {
    Box joined = boxes_.back();
    const size_t d = outer[0];
    const bool continues = joined.last[d] == box.first[d];
    joined.last[d] = box.last[d];
    Box wanted = box;
    wanted.first[d] = joined.first[d];
    if (continues && joined == wanted) {
      boxes_.back() = joined;
      return;
    }
  }
  boxes_.push_back(box);
}

void Cut::add_box(const std::vector<size_t>& outer, const Sizes& positions, size_t inner) {
  Box box = box_;
  for (const size_t d : outer) {
    box.first[d] = positions[d];
    box.last[d] = positions[d] + 1;
  }
  for (const Condition& condition : coupled_) {
    int64_t fixed = condition.constant;
    for (const size_t d : outer) add_product(fixed, condition.steps[d], positions[d]);
    if (condition.steps[inner] != 0) {
      restrict(box, inner, fixed, condition.steps[inner]);
    } else if (fixed < 0) {
      return;
    }
  }
  if (box.first[inner] < box.last[inner]) append(box, outer);
}

void Cut::split() {
  const bool all = std::all_of(coupled_.begin(), coupled_.end(),
                               [](const Condition& each) { return each.steps[0] < 0; });
  std::vector<size_t> outer;
  for (size_t d = 0; d < shape_.size(); ++d) {
    const auto has = [d](const Condition& each) { return each.steps[d] != 0; };
    if (std::any_of(coupled_.begin(), coupled_.end(), has)) outer.push_back(d);
  }
  const size_t inner = all ? 0 : outer.back();
  outer.erase(all ? outer.begin() : outer.end() - 1);
  int64_t count = 1;
  for (const size_t d : outer) count *= box_.last[d] - box_.first[d];
  if (count > kMaximumBoxes) {
    fail(text("the mask leaves no rectangle of the tile and would split it into ", count,
              " parts; at most ", kMaximumBoxes, " are supported."));
  }
  Sizes positions(shape_.size(), 0);
  for (int64_t number = 0; number < count; ++number) {
    int64_t rest = number;
    for (auto d = outer.rbegin(); d != outer.rend(); ++d) {
      const int64_t size = box_.last[*d] - box_.first[*d];
      positions[*d] = box_.first[*d] + rest % size;
      rest /= size;
    }
    add_box(outer, positions, inner);
  }
}

std::vector<Box> Cut::boxes() {
  for (size_t d = 0; d < shape_.size(); ++d) {
    if (box_.first[d] >= box_.last[d]) return {};
  }
  if (coupled_.empty()) return {box_};
  split();
  return std::move(boxes_);
}

/// The loops of several conditions, each once.
void add_loops(std::vector<const Loop*>& loops, const IndexExpression& condition) {
  for (const Term& term : condition.position.terms) {
    if (std::find(loops.begin(), loops.end(), term.loop) == loops.end()) {
      loops.push_back(term.loop);
    }
  }
}

}  // namespace

std::optional<std::vector<Box>> boxes(const Mask& mask, const Sizes& shape) {
  std::vector<const IndexExpression*> cutting;
  LoopsNeeded needed;
  for (const IndexExpression& condition : mask.conditions) {
    const Bounds bounds = condition.bounds();
    if (bounds.high < 0) return std::vector<Box>();
    if (bounds.low >= 0) continue;
    cutting.push_back(&condition);
    add_loops(needed.loops, condition);
  }
  if (cutting.empty()) return std::nullopt;
  if (!needed.loops.empty()) throw needed;
  Cut cut(shape);
  for (const IndexExpression* condition : cutting) {
    if (cut.add(*condition)) continue;
    fail(text("mask of shape ", text_of(mask.shape()), " does not fit a tile of shape ",
              text_of(shape), "."));
  }
  return cut.boxes();
}

}  // namespace neuron_sim::tracing
