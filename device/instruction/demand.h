#pragma once
// The hardware resources an instruction needs; never a time.

#include <array>
#include <cstddef>
#include <cstdint>

#include "device/arch/rates.h"

namespace neuron_sim {

/// Which unit does a step.
enum class Unit : uint8_t {
  kLoadStationary,  ///< TensorE: weights into the array
  kMultiplyMoving,  ///< TensorE: stream the moving operand
  kElementwise,     ///< Vector, Scalar or GpSimd: a pipeline of elements
  kDma,             ///< a transfer by the 16 DMA engines
  kSequencer,       ///< register instructions: the sequencer of the engine
  kBarrier,         ///< the semaphores between the two cores of a logical core
  kGpSimdDma,       ///< the DMA of GpSimd itself, between the two cores
  kCollective,      ///< the collectives' own processors and the links between ranks
};

/// Precision of TensorE operands.
enum class MatmulClass : uint8_t { k16bit, kFp32, kFp32Transpose, kFp32OneZero };

/// Rows and columns of the PE array that a matmul occupies; all of it while `rows` is 0.
struct ArrayTile {
  int16_t row = 0, rows = 0;
  int16_t column = 0, columns = 0;
};

/// How DMA descriptors are made.
enum class DescriptorKind : uint8_t { kStatic, kHardware, kSoftware };

/// Work of the DMA engines in transit; fractions of a copy's throughput are architecture data.
enum class TransferClass : uint8_t { kCopy, kTransposeHbm, kTransposeSbuf, kCompute };

/// One step of an instruction on one unit.
struct Step {
  Unit unit = Unit::kElementwise;
  RateClass rate = RateClass::kOneInput;
  MatmulClass matmul = MatmulClass::k16bit;
  DescriptorKind descriptors = DescriptorKind::kStatic;
  TransferClass transfer = TransferClass::kCopy;
  bool source_psum = false;        ///< the main source is in PSUM
  bool pointer_operand = false;    ///< reads a per-partition scalar operand
  bool strided = false;            ///< innermost stride of an operand exceeds 16 bytes
  bool reduces = false;            ///< fewer results than elements
  bool reads_accumulator = false;  ///< reduction registers are read at the end
  bool dynamic_address = false;    ///< an address comes from data in memory
  bool store = false;              ///< DMA: the source is on chip
  bool transpose = false;          ///< TensorE: moves bits; may run in the background
  ArrayTile array{};               ///< TensorE: where
  int8_t table = -1;               ///< activation table, -1 none
  int64_t elements = 0;            ///< per partition; columns for TensorE; descriptors for DMA
  int64_t starts = 1;              ///< ISA instructions that one call becomes (nc_n_gather)
  int64_t bytes = 0;               ///< DMA: bytes per descriptor
  int64_t fragments = 0;           ///< DMA: contiguous runs per descriptor (1 = contiguous)
  int64_t padded_bytes = 0;        ///< DMA: bytes per descriptor that count for time; 0: `bytes`
  int64_t partial_words = 0;       ///< DMA: HBM words that it writes in part
  int64_t loaded_run = 0;          ///< DMA: bytes in a row that a partition gets of HBM; 0: no load
};

/// At most two steps: nc_matmul loads stationary, then multiplies moving.
struct Demand {
  std::array<Step, 2> steps{};
  int count = 0;
  int64_t multiply_accumulates = 0;  ///< of a matrix product; 0 for everything else
  void add(const Step& step) { steps[static_cast<size_t>(count++)] = step; }
};

}  // namespace neuron_sim
