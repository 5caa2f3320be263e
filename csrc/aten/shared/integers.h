#pragma once
// Exact sums and extrema of integers on engines that add and compare in fp32: numbers are cut into
// pieces that fp32 holds exactly.

#include <ATen/core/Tensor.h>

namespace neuron_sim {

/// Sums over dimensions (none: all) of integers or bool, as int64: pieces of 8 bits are summed on
/// the device, and put together as int64. Refusal for int64, which the chip lacks, and for sums
/// of more than 65,793 elements, which fp32 no longer counts exactly.
at::Tensor exact_sums(const at::Tensor& self, at::OptionalIntArrayRef dimensions, bool keep);
/// Running sums, likewise, of any number of elements.
at::Tensor exact_running_sums(const at::Tensor& self, int64_t dimension);
/// The largest or smallest int32 over dimensions (none: all), which stay with size 1.
at::Tensor exact_extremum(const at::Tensor& self, at::IntArrayRef dimensions, bool largest);

/// An int32 tensor as two float32 ones that order it: the high 16 bits (as 0 to 65,535), and
/// the low ones.
struct OrderedHalves {
  at::Tensor high, low;
};
OrderedHalves ordered_halves(const at::Tensor& self);
/// Breaks ties of the high halves: the low halves of the elements whose high half is `extremum`
/// (broadcast), elsewhere a number out of range of every half.
at::Tensor low_candidates(const OrderedHalves& halves, const at::Tensor& extremum, bool largest);

}  // namespace neuron_sim
