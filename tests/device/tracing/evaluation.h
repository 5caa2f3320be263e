#pragma once
// The oracle of the tests of device/tracing: values at single trips of loops and positions.

#include <functional>
#include <random>

#include "device/tracing/tensor_view.h"

namespace neuron_sim::tracing {

/// Two loops that expressions of these tests are of, and their trips in the oracle.
inline Loop outer{.name = "i", .trip_count = 3, .variable = Affine::variable(0)};
inline Loop inner{.name = "j", .trip_count = 2, .variable = Affine::variable(1)};
inline const IndexExpression kI = variable(outer), kJ = variable(inner);
inline const Sizes kTile{4, 5};

/// Calls use(positions) for all positions of a shape, in row-major order.
inline void for_positions(const Sizes& shape, const std::function<void(const Sizes&)>& use) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  for (int64_t number = 0; number < count; ++number) {
    Sizes positions = shape;
    int64_t rest = number;
    for (size_t d = shape.size(); d-- > 0; rest /= shape[d]) positions[d] = rest % shape[d];
    use(positions);
  }
}

/// Calls use(positions, i, j) for all of them.
inline void for_all(const Sizes& shape,
                    const std::function<void(const Sizes&, int64_t, int64_t)>& use) {
  for (int64_t trip = 0; trip < outer.trip_count * inner.trip_count; ++trip) {
    for_positions(shape, [&](const Sizes& positions) { use(positions, trip / 2, trip % 2); });
  }
}

inline int64_t at(const Position& of, int64_t i, int64_t j) {
  int64_t result = of.constant;
  for (const Term& term : of.terms) result += term.coefficient * (term.loop == &outer ? i : j);
  return result;
}

/// At a position of a shape that the expression is broadcast to.
inline int64_t at(const IndexExpression& of, const Sizes& positions, int64_t i, int64_t j) {
  int64_t result = at(of.position, i, j);
  for (size_t d = 0; d < of.shape.size(); ++d) {
    if (of.shape[d] > 1) result += of.steps[d] * positions[positions.size() - of.shape.size() + d];
  }
  return result;
}

/// Draws numbers, and expressions that can be broadcast to kTile.
struct Draws {
  std::mt19937 generator;

  explicit Draws(int seed) : generator(static_cast<unsigned>(seed)) {}
  int64_t number(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(generator);
  }
  IndexExpression expression(bool has_loops = true) {
    IndexExpression result{number(-9, 9), {}, {}};
    result.position.add(Term{&outer, has_loops ? number(-4, 4) : 0});
    result.position.add(Term{&inner, has_loops ? number(-4, 4) : 0});
    for (const int64_t size : kTile) {
      if (result.shape.empty() && number(0, 3) == 0) continue;
      result.shape.push_back(number(0, 3) > 0 ? size : 1);
      result.steps.push_back(number(-4, 4));
    }
    return result;
  }
};

/// What an action throws: the message, or the loops that it needs; else nothing.
inline std::string refusal_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  } catch (const LoopsNeeded& needed) {
    std::string names = "needs";
    for (const Loop* loop : needed.loops) names += " " + loop->name;
    return names;
  }
  return "";
}

}  // namespace neuron_sim::tracing
