#pragma once
// Numbers with units are types; a plain number with a unit does not cross a function boundary.

#include <compare>
#include <cstdint>

namespace neuron_sim {

/// Simulated time in picoseconds. 2^63 ps are 106 days.
struct Picoseconds {
  int64_t count = 0;

  constexpr auto operator<=>(const Picoseconds&) const = default;
  constexpr Picoseconds operator+(Picoseconds other) const { return {count + other.count}; }
  constexpr Picoseconds operator-(Picoseconds other) const { return {count - other.count}; }
  constexpr Picoseconds operator*(int64_t factor) const { return {count * factor}; }
  constexpr Picoseconds& operator+=(Picoseconds other) {
    count += other.count;
    return *this;
  }
  constexpr double nanoseconds() const { return static_cast<double>(count) / 1e3; }
  constexpr double microseconds() const { return static_cast<double>(count) / 1e6; }
  constexpr double milliseconds() const { return static_cast<double>(count) / 1e9; }
};

/// Rounds to the nearest picosecond, the same on every machine (no libm call).
constexpr Picoseconds from_nanoseconds(double nanoseconds) {
  return {static_cast<int64_t>(nanoseconds * 1e3 + (nanoseconds < 0 ? -0.5 : 0.5))};
}

/// A clock frequency. 1 cycle at f GHz lasts 1/f ns.
struct Gigahertz {
  double value = 0;
  constexpr Picoseconds duration(double cycles) const { return from_nanoseconds(cycles / value); }
};

/// A size in bytes.
struct Bytes {
  int64_t count = 0;
  constexpr auto operator<=>(const Bytes&) const = default;
};

}  // namespace neuron_sim
