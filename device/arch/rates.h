#pragma once
// The one table of rates: cycles per element of each kind of elementwise work. The enumerators, the
// keys of an architecture file and the values that an engine looks up follow from it.

#include <array>
#include <cstddef>
#include <cstdint>

namespace neuron_sim {

/// RATE(enumerator, key, fast): `key` is the fact "rates.key", in cycles per element; a fast mode
/// of Vector (kFast) may take GpSimd's port of SBUF as well (Features::fast_mode_ports).
#define NEURON_SIM_RATES(RATE)                                                                     \
  RATE(OneInput, one_input, kPlain)                /* copy, reduce, tensor_scalar, activation */   \
  RATE(TwoInputs, two_inputs, kPlain)              /* tensor_tensor, both in SBUF, fp32 */         \
  RATE(Scan, scan, kPlain)                         /* tensor_tensor_scan, ..._cumulative */        \
  RATE(TwoInputsPsum, two_inputs_psum, kPlain)     /* tensor_tensor, one operand in PSUM */        \
  RATE(TwoInputs16bit, two_inputs_16bit, kFast)    /* tensor_tensor, SBUF, 16-bit floats */        \
  RATE(Copy16bit, copy_16bit, kFast)               /* copy, tensor_scalar, SBUF, 16-bit floats */  \
  RATE(Copy16bitMixed, copy_16bit_mixed, kFast)    /* strided, or one side in PSUM */              \
  RATE(ScalarOperand, scalar_operand, kFast)       /* tensor_scalar, SBUF, other dtypes */         \
  RATE(Reduce16bit, reduce_16bit, kFast)           /* tensor_reduce add, max, 16-bit floats */     \
  RATE(Memset16bitZero, memset_16bit_zero, kFast)  /* memset to zero of 16-bit floats */           \
  RATE(Iterative, iterative, kPlain)               /* reciprocal */                                \
  RATE(GpSimdOneInput, gpsimd_one_input, kPlain)   /* GpSimd, one input */                         \
  RATE(GpSimdTwoInputs, gpsimd_two_inputs, kPlain) /* GpSimd, two inputs */                        \
  RATE(TwoInputsBf16, two_inputs_bf16, kFast)      /* add, subtract, multiply, SBUF, dense bf16 */ \
  RATE(Scalar16bit, scalar_16bit, kPlain)          /* ScalarE, 16-bit and 8-bit floats */          \
  RATE(GpSimdRsqrt, gpsimd_rsqrt, kPlain)          /* rsqrt on GpSimd */                           \
  RATE(BnAggregate, bn_aggregate, kPlain)          /* bn_aggr, per triple */                       \
  RATE(Exponential, exponential, kPlain)           /* exponential on VectorE */                    \
  RATE(UniformRandom, uniform_random, kPlain)      /* rand2 */                                     \
  RATE(GpSimdStep, gpsimd_step, kPlain)            /* GpSimd, step of a documented formula */      \
  RATE(PartitionReduce, partition_reduce, kPlain)  /* GpSimd, tensor_partition_reduce */

#define NEURON_SIM_ENUMERATOR(name, key, mode) k##name,
/// The kind of work of an elementwise step.
enum class RateClass : uint8_t { NEURON_SIM_RATES(NEURON_SIM_ENUMERATOR) };
#undef NEURON_SIM_ENUMERATOR

enum class RateMode : uint8_t { kPlain, kFast };

/// One row of the table.
struct RateRow {
  const char* key;
  RateMode mode;
};
#define NEURON_SIM_ROW(name, key, mode) RateRow{#key, RateMode::mode},
/// In the order of RateClass.
inline constexpr std::array kRateRows = {NEURON_SIM_RATES(NEURON_SIM_ROW)};
#undef NEURON_SIM_ROW
#undef NEURON_SIM_RATES

/// Cycles per element of an architecture.
struct Rates {
  std::array<double, kRateRows.size()> cycles{};  ///< in the order of RateClass
  double& operator[](RateClass rate) { return cycles[static_cast<size_t>(rate)]; }
  double operator[](RateClass rate) const { return cycles[static_cast<size_t>(rate)]; }
};

}  // namespace neuron_sim
