#pragma once
// How large and small a value of an architecture file may be.

#include "device/base/bounds.h"

namespace neuron_sim {

/// Both ends are allowed. Far more than any chip has, and little enough that no sum or product of
/// the simulator overflows, no memory is out of the host's reach and nothing is divided by 0.
struct Range {
  double least = 0;
  double most = 0;
};

namespace ranges {

inline constexpr double kKibibyte = 1024;
inline constexpr double kMebibyte = 1024 * kKibibyte;
inline constexpr double kTebibyte = kMebibyte * kMebibyte;

inline constexpr Range kCount{1, 65536};
inline constexpr Range kPartitions{32, 4096};
inline constexpr Range kGroup{1, 4096};          ///< of partitions, rows or columns
inline constexpr Range kColumns{32, 65536};      ///< of a moving operand
inline constexpr Range kElements{1, kMebibyte};  ///< of one instruction, per partition
inline constexpr Range kBanks{1, 1024};
inline constexpr Range kBankBytes{256, kMebibyte};
inline constexpr Range kSbufBytes{kKibibyte, 64 * kMebibyte};  ///< per partition
inline constexpr Range kHbmBytes{32 * kMebibyte, 4 * kTebibyte};
inline constexpr Range kRowBytes{1, 1024 * kMebibyte};  ///< of a row or packet of a DMA
inline constexpr Range kBufferBytes{0, 4 * kTebibyte};  ///< of a collective
// Arrays of the simulator hold so many.
inline constexpr Range kDimensions{1, kMaximumFreeDimensions};
inline constexpr Range kRegisters{1, kMaximumRegisters};
inline constexpr Range kLogicalCores{1, kMaximumCores};

inline constexpr Range kPairs{1, 16};  ///< of instructions that make one matmul
inline constexpr Range kDmaEngines{1, 1024};
inline constexpr Range kClock{0.01, 1000};     ///< GHz
inline constexpr Range kRate{1e-4, 1e4};       ///< cycles per element, and factors on times
inline constexpr Range kCycles{0, 1e6};        ///< of one instruction
inline constexpr Range kDuration{0, 1e8};      ///< ns: up to 0.1 s
inline constexpr Range kWindow{1, 1e8};        ///< ns: times are divided by it
inline constexpr Range kBandwidth{1e-3, 1e6};  ///< bytes per ns
inline constexpr Range kShare{0, 1};           ///< of a whole; flags

/// Limit of the bytes of all partitions of a memory together, which the host reserves.
inline constexpr double kMemoryBytes = 16 * 1024 * kMebibyte;

}  // namespace ranges
}  // namespace neuron_sim
