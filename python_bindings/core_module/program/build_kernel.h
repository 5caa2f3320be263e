#pragma once
// Kernels by name, for timing without data.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device/numerics/dtype.h"
#include "device/program/program.h"

namespace neuron_sim {

/// Options of a kernel by name; numbers are written as text.
using KernelOptions = std::map<std::string, std::string>;

/// Builds the program of a kernel for dense inputs of these shapes. KernelError for unknown
/// kernels, dtypes, options and numbers, for shapes the kernel rejects, and for empty outputs.
std::shared_ptr<const Program> build_kernel(const std::string& kernel,
                                            const std::vector<std::vector<int64_t>>& shapes,
                                            const std::string& dtype,
                                            const std::string& architecture,
                                            const KernelOptions& options);

/// The dtype of that name; KernelError with all names when there is none.
Dtype dtype_of_name(const std::string& name_of_dtype);

/// The kernels build_kernel knows.
std::vector<std::string> kernel_names();

}  // namespace neuron_sim
