#pragma once
// Kernels of random sizes, the same in every run, whose simulated times are on record.

#include <functional>
#include <string>
#include <vector>

#include "ops/contract/tensor_spec.h"

namespace neuron_sim {

struct TimedKernel {
  std::string name;  ///< kernel, operands and options
  std::string architecture;
  std::function<BuiltOp()> build;
};

/// Every kernel of ops/kernels, with operands and options of all kinds.
std::vector<TimedKernel> timed_kernels();

}  // namespace neuron_sim
