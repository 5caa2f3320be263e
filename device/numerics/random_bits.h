#pragma once
// The random number generators of the Vector and GpSimd engines: one per lane (partition), whose
// state is an array of 32-bit words.

#include <cstdint>

namespace neuron_sim {

/// Which generator an engine has.
enum class RandomGenerator : uint8_t {
  kLinearFeedback,  ///< Vector before NeuronCore-v4: words 0 to 3 of 24, the others are not used
  kXorwow,          ///< GpSimd: 6 words
  kFourXorwow,      ///< Vector of NeuronCore-v4: 4 x 6 words, which take turns
};

/// Words of state per lane.
inline constexpr int kVectorRandomWords = 24;
inline constexpr int kGpSimdRandomWords = 6;

/// The next `count` numbers of 32 bits of one lane; advances `state` by as many.
///
/// kXorwow is Marsaglia's xorwow ("Xorshift RNGs", 2003): words x, y, z, w, v and the counter d,
/// which steps by 362437 (documented: the algorithm and 6 words on GpSimd, 24 on Vector; assumed:
/// the order of the words). kFourXorwow: four such states one after the other; number i of a call
/// comes from state i mod 4, as the engine makes four numbers per lane and cycle (documented)
/// (which number goes where is assumed). kLinearFeedback is "based on a linear feedback shift
/// register" (documented); its polynomial is not public. Assumed: L'Ecuyer's combination of four
/// such registers, of 31, 29, 28 and 25 bits ("Tables of maximally equidistributed combined LFSR
/// generators", 1999), period 2^113.
void random_bits(RandomGenerator generator, uint32_t* state, uint32_t* bits, int64_t count);

/// The state of a lane after set_rng_seed: word i is the upper half of number lane * words + i of
/// the SplitMix64 sequence that starts at seed * 2^32, with bit 7 set, which no generator's state
/// may lack entirely. `words` is 24 (Vector) or 6 (GpSimd, whose numbers follow those of Vector's
/// 128 lanes). Assumed: that a seed gives every lane its own state is not documented.
void seed_random_state(uint32_t seed, int64_t lane, uint32_t* state, int words);

}  // namespace neuron_sim
