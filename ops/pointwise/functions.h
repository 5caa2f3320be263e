#pragma once
// Functions that the engines do not have, built from those they have; kFloat only. Each states its
// largest error against the real function, in units of the last place (ulp) of fp32.

#include "ops/pointwise/expression.h"

namespace neuron_sim {

ElementValue absolute(ElementValue x);
/// 1 where the sign bit is set (-0 too), else 0.
ElementValue sign_bit(ElementValue x);
/// `magnitude` with the sign of `sign`, that of a zero too. A magnitude may be negative where
/// `sign` is.
ElementValue copy_sign(ElementValue magnitude, ElementValue sign);
/// To an integer: exact for every x, whose sign a zero has.
ElementValue nearest(ElementValue x);  ///< ties to even
ElementValue floor(ElementValue x);
ElementValue ceil(ElementValue x);
ElementValue trunc(ElementValue x);

/// 1 ulp; NaN beyond 411,000 = 2^16 * 2 pi, where fp32 arithmetic cannot reduce the argument to
/// the range of the chip's sine.
ElementValue sine(ElementValue x);
ElementValue cosine(ElementValue x);

ElementValue log_one_plus(ElementValue x);       ///< log(1 + x); 3 ulp
ElementValue exp_minus_one(ElementValue x);      ///< e^x - 1; 4 ulp
ElementValue hyperbolic_cosine(ElementValue x);  ///< 3 ulp
ElementValue clamped(ElementValue x, double smallest, double largest);

}  // namespace neuron_sim
