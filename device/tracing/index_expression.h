#pragma once
// Index expressions of a kernel such as `i * 64 + nl.arange(128)`: affine in the variables of loops
// and in positions along dimensions.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "device/operand/affine.h"
#include "device/tracing/inplace_vector.h"

namespace neuron_sim::tracing {

inline constexpr size_t kMaximumTerms = 12;       ///< loop variables in one index expression
inline constexpr size_t kMaximumDimensions = 12;  ///< of an index expression, or of a tensor

/// One number per dimension.
using Sizes = InplaceVector<int64_t, kMaximumDimensions>;

/// A counted loop whose variable is symbolic and counts trips from 0. Expressions name loops by
/// address and do not own them.
struct Loop {
  std::string name;
  int64_t trip_count = 1;
  Affine variable;         ///< the builder's
  bool is_affine = false;  ///< its iterations have no order
  int64_t opened_at = 0;   ///< number of uses of tensors until then
};

/// A number is beyond 64 bits. Python's OverflowError.
class IndexOverflow : public std::overflow_error {
 public:
  IndexOverflow() : std::overflow_error("an index expression is beyond 64 bits.") {}
};

/// Variables of loops are needed as numbers: the loops have to be unrolled.
struct LoopsNeeded {
  std::vector<const Loop*> loops;
};

/// sum + a * factor; IndexOverflow beyond 64 bits.
inline void add_product(int64_t& sum, int64_t a, int64_t factor) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, factor, &product) || __builtin_add_overflow(sum, product, &sum)) {
    throw IndexOverflow();
  }
}

/// sum + a * factor, saturating at the largest or smallest 64-bit number.
inline void add_saturated(int64_t& sum, int64_t a, int64_t factor) {
  int64_t product = 0;
  const bool rises = (a < 0) == (factor < 0);
  if (__builtin_mul_overflow(a, factor, &product) || __builtin_add_overflow(sum, product, &sum)) {
    sum = rises ? INT64_MAX : INT64_MIN;
  }
}

/// a * b, saturating in the same way.
inline int64_t saturated_product(int64_t a, int64_t b) {
  int64_t product = 0;
  add_saturated(product, a, b);
  return product;
}

/// The quotient rounded down, as Python's //. The divisor is neither 0 nor, for the smallest
/// number, -1.
inline int64_t floor_quotient(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

/// The smallest and the largest value of an index; they saturate at 64 bits.
struct Bounds {
  int64_t low = 0;
  int64_t high = 0;

  /// Adds step * (0 .. last).
  void add(int64_t step, int64_t last) { add_saturated(step < 0 ? low : high, step, last); }
  bool operator==(const Bounds&) const = default;
};

struct Term {
  const Loop* loop;
  int64_t coefficient;
  bool operator==(const Term&) const = default;
};

/// constant + sum of coefficient * loop variable.
struct Position {
  int64_t constant = 0;
  InplaceVector<Term, kMaximumTerms> terms;

  Position() = default;
  /// Implicit: a number is a position, too.
  Position(int64_t number) : constant(number) {}
  /// Adds other * factor. IndexOverflow, or KernelError for more than kMaximumTerms.
  void add(const Position& other, int64_t factor = 1);
  void add(const Term& term);
  /// Over all trips of the loops.
  Bounds bounds() const;
  /// What the builder takes for it.
  Affine affine() const;
  bool operator==(const Position&) const = default;
};

/// constant + sum of coefficient * loop variable + sum of step * position in a dimension.
struct IndexExpression {
  Position position;
  Sizes shape, steps;  ///< of as many dimensions

  /// Whether nothing varies.
  bool is_number() const { return position.terms.empty() && shape.empty(); }
  /// The step of dimension j where all indices together have `size` positions along it: one
  /// position is repeated.
  int64_t step_in(size_t j, int64_t size) const {
    return shape[j] == 1 && size != 1 ? 0 : steps[j];
  }
  /// Over all trips of the loops and all positions.
  Bounds bounds() const;
  /// As the kernel could have written it: `3 + i + 2*arange(4)`.
  std::string text() const;
  bool operator==(const IndexExpression&) const = default;
};

/// A scalar expression of a loop: start + step * variable.
IndexExpression variable(const Loop& loop, int64_t start = 0, int64_t step = 1);
/// start, start + step, ... : one dimension.
IndexExpression arange(int64_t start, int64_t size, int64_t step = 1);

/// Broadcasts a shape with another one, in place, as NumPy does. KernelError when they differ.
void broadcast(Sizes& shape, const Sizes& other);
/// a * factor + constant.
IndexExpression scaled(const IndexExpression& a, int64_t factor, int64_t constant = 0);
/// a + b * factor, in the broadcast shape of both.
IndexExpression sum(const IndexExpression& a, const IndexExpression& b, int64_t factor = 1);

/// a * b where b is a number. Elsewhere LoopsNeeded of a scalar factor, or KernelError.
IndexExpression product(const IndexExpression& a, const IndexExpression& b);

struct Division {
  IndexExpression quotient, remainder;
};
/// The quotient, rounded down, and the remainder of a division by a number other than 0. They are
/// affine where the divisor divides all coefficients or the quotient is the same number everywhere.
/// Elsewhere LoopsNeeded, or KernelError of an expression without loops.
Division divide(const IndexExpression& a, int64_t divisor);

/// The names of sizes in messages: `[128, 512]`.
std::string text_of(const Sizes& sizes);

}  // namespace neuron_sim::tracing
