#pragma once
// Addresses are affine in the loop variables: constant + sum of coefficient * loop variable.

#include <array>
#include <cstddef>
#include <cstdint>

namespace neuron_sim {

/// Deepest nest of counted loops in a Program.
inline constexpr int kMaximumLoopDepth = 8;

/// constant + sum over enclosing loops of coefficient * variable; loops are numbered by nesting
/// level, the outermost is 0.
class Affine {
 public:
  /// Implicit: a number is an address too.
  Affine(int64_t constant = 0) : constant_(constant) {}

  /// The variable of the loop at that nesting level.
  static Affine variable(int level);

  int64_t constant() const { return constant_; }
  int64_t coefficient(int level) const { return coefficients_[static_cast<size_t>(level)]; }
  bool is_constant() const { return levels_ == 0; }
  /// One more than the deepest level with a non-zero coefficient.
  int levels() const { return levels_; }

  Affine operator+(const Affine& other) const;
  Affine operator-(const Affine& other) const { return *this + other * -1; }
  Affine operator*(int64_t factor) const;
  bool operator==(const Affine& other) const = default;
  Affine& operator+=(const Affine& other) { return *this = *this + other; }

  /// Value for these loop variables.
  int64_t at(const int64_t* variables) const;

 private:
  int64_t constant_ = 0;
  int levels_ = 0;
  std::array<int64_t, kMaximumLoopDepth> coefficients_{};
};

inline Affine operator*(int64_t factor, const Affine& affine) { return affine * factor; }

}  // namespace neuron_sim
