#pragma once
// One opcode per instruction; order and names are those of the one list in device/isa/list.cpp.

#include <cstdint>

namespace neuron_sim {

enum class Opcode : uint8_t {
  kDmaCopy,
  kNcMatmul,
  kNcTranspose,
  kTensorTensor,
  kTensorScalar,
  kActivation,
  kTensorReduce,
  kTensorCopy,
  kMemset,
  kReciprocal,
  kIota,
  kMax8,
  kNcFindIndex8,
  kRegisterMove,
  kRegisterLoad,
};

}  // namespace neuron_sim
