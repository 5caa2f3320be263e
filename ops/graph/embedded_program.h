#pragma once
// Finished programs, as a front end of its own makes them (NKI), among the kernels of a graph.

#include <optional>
#include <string>
#include <vector>

#include "device/program/program.h"
#include "ops/graph/kernels/graph_kernel.h"

namespace neuron_sim {

/// Why a program cannot become part of a larger one and compute the same bytes there: the end of a
/// sentence that begins with "it"; empty when it can.
std::string embedding_objection(const Program& program);
/// Whether an address in an argument comes from a register: its bounds are those of the tensor.
bool addresses_arguments_by_register(const Program& program);
/// Per argument: whether the program is known to write all of it.
std::vector<bool> written_whole(const Program& program);
/// A kernel that is `program` on these tensors, one per argument, dense. Its operands are the
/// arguments that it reads or writes in part, its results those that it writes.
GraphKernel embedded_kernel(std::shared_ptr<const Program> program,
                            const std::vector<GraphTensor>& tensors);
/// Per argument of GraphKernel::program: its tensor; empty for one that it neither reads nor
/// writes.
std::vector<std::optional<GraphTensor>> argument_tensors(const GraphKernel& kernel);

}  // namespace neuron_sim
