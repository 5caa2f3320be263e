#include "device/instruction/checks.h"

#include <algorithm>
#include <string>

#include "device/base/errors.h"

namespace neuron_sim::checks {
namespace {

/// ` (instruction 'tensor_tensor', operand 'data1', architecture trn2)`
std::string where(std::string_view instruction, std::string_view operand,
                  const Architecture& architecture) {
  return text(" (instruction '", instruction, "', operand '", operand, "', architecture ",
              architecture.name, ")");
}

/// `data1[128, 512]`: the operand's name with its shape, as the vendor names parameters.
std::string parameter(std::string_view operand, const View& view) {
  std::string result = text(operand, "[");
  for (int i = 0; i < view.rank(); ++i) result += text(i == 0 ? "" : ", ", view.size(i));
  return result + "]";
}

template <typename Item>
std::string join(std::initializer_list<Item> items, std::string_view separator) {
  std::string result;
  for (const Item& item : items) result += text(result.empty() ? "" : separator, name(item));
  return result;
}

/// Elements of a partition in memory: one that a broadcast dimension repeats counts once.
int64_t stored_elements(const View& view) {
  int64_t count = 1;
  for (int i = 1; i < view.rank(); ++i) {
    if (view.dimension(i).stride != 0) count *= view.size(i);
  }
  return count;
}

int64_t element_limit(const View& view, const Architecture& architecture) {
  return view.memory() == MemoryKind::kPsum ? architecture.limits.vector_psum_elements
                                            : architecture.limits.vector_sbuf_elements;
}

}  // namespace

void partitions(std::string_view instruction, std::string_view operand, const View& view,
                const Architecture& architecture) {
  const int64_t limit = architecture.limits.partitions;
  if (view.partitions() > limit) {
    fail(text("number of partitions ", view.partitions(), " exceed architecture limitation of ",
              limit, ".", where(instruction, operand, architecture)));
  }
  if (view.partitions() < 1) {
    fail(text("number of partitions ", view.partitions(), " of '", parameter(operand, view),
              "' must be at least 1.", where(instruction, operand, architecture)));
  }
}

void free_size(std::string_view instruction, std::string_view operand, const View& view,
               const Architecture& architecture) {
  const int64_t rank_limit = architecture.limits.free_dimensions + 1;
  if (view.rank() > rank_limit) {
    fail(text("parameter '", parameter(operand, view), "' of '", instruction,
              "' exceed max supported number of dimensions of ", rank_limit, ".",
              where(instruction, operand, architecture)));
  }
  const int64_t limit = element_limit(view, architecture);
  const int64_t elements = stored_elements(view);
  if (elements > limit) {
    fail(text("number of elements per partition ", elements, " in '", parameter(operand, view),
              "' of '", instruction, "' exceed architecture limitation of ", limit, " in ",
              name(view.memory()), ".", where(instruction, operand, architecture)));
  }
  if (view.free_elements() < 1) {
    fail(text("number of elements per partition ", view.free_elements(), " in '",
              parameter(operand, view), "' of '", instruction, "' must be at least 1.",
              where(instruction, operand, architecture)));
  }
}

void memory(std::string_view instruction, std::string_view operand, const View& view,
            std::initializer_list<MemoryKind> allowed) {
  if (std::find(allowed.begin(), allowed.end(), view.memory()) != allowed.end()) return;
  if (!view.present()) {
    fail(text("Expected operand '", operand, "' of '", instruction, "' to be in address space '",
              join(allowed, "|"), "', but it is missing."));
  }
  fail(text("Expected operand '", operand, "' of '", instruction, "' to be in address space '",
            join(allowed, "|"), "', but got a tile in '", name(view.memory()), "' instead."));
}

void same_partitions(std::string_view instruction, std::string_view first_name, const View& first,
                     std::string_view second_name, const View& second) {
  if (first.partitions() == second.partitions()) return;
  fail(text("number of partitions (dimension 0 size of a tile) mismatch in parameters (",
            parameter(first_name, first), ", ", parameter(second_name, second), ") of '",
            instruction, "'"));
}

void same_free_elements(std::string_view instruction, std::string_view first_name,
                        const View& first, std::string_view second_name, const View& second) {
  if (first.free_elements() == second.free_elements()) return;
  fail(text("number of elements per partition mismatch in parameters (",
            parameter(first_name, first), ", ", parameter(second_name, second), ") of '",
            instruction, "'"));
}

void start_partition(std::string_view instruction, std::string_view operand, const View& view,
                     const Architecture& architecture) {
  if (!view.partition().is_constant()) return;
  const int64_t limit = architecture.limits.partitions;
  const int64_t start = view.partition().constant();
  const int64_t count = view.partitions();
  // A read port serves a quadrant, a half or all partitions
  // (docs/hardware_facts.md#start-partition).
  int64_t multiple = limit;
  if (count <= limit / 2) multiple = limit / 2;
  if (count <= limit / 4) multiple = limit / 4;
  if (start % multiple == 0 && start + count <= limit) return;
  fail(text("start partition ", start, " of ", count, " partitions must be a multiple of ",
            multiple, " within ", limit, " partitions.",
            where(instruction, operand, architecture)));
}

void engine(std::string_view instruction, EngineKind engine,
            std::initializer_list<EngineKind> allowed, const Architecture& architecture) {
  if (std::find(allowed.begin(), allowed.end(), engine) != allowed.end()) return;
  fail(text("instruction '", instruction, "' cannot run on the ", name(engine),
            " engine; architecture ", architecture.name, " has it on: ", join(allowed, ", "), "."));
}

void generation(std::string_view instruction, int64_t minimum, const Architecture& architecture) {
  if (architecture.generation >= minimum) return;
  fail(text("instruction '", instruction, "' needs NeuronCore-v", minimum,
            " or newer; architecture ", architecture.name, " is a ", architecture.neuron_core, "."),
       ErrorKind::kNotImplemented);
}

void no_psum_on_gpsimd(std::string_view instruction, std::string_view operand, const View& view,
                       EngineKind engine) {
  if (engine != EngineKind::kGpSimd || view.memory() != MemoryKind::kPsum) return;
  fail(text("Expected operand '", operand, "' of '", instruction,
            "' to be in address space 'sbuf', but got a tile in 'psum' instead. The GpSimd engine"
            " cannot access PSUM."));
}

void movable_operand(std::string_view instruction, std::string_view operand, const View& view,
                     EngineKind engine, const Architecture& architecture) {
  memory(instruction, operand, view, {MemoryKind::kPsum, MemoryKind::kSbuf});
  partitions(instruction, operand, view, architecture);
  free_size(instruction, operand, view, architecture);
  start_partition(instruction, operand, view, architecture);
  no_psum_on_gpsimd(instruction, operand, view, engine);
}

void compute_operand(std::string_view instruction, std::string_view operand, const View& view,
                     EngineKind engine, const Architecture& architecture) {
  movable_operand(instruction, operand, view, engine, architecture);
  if (is_packed(view.dtype())) {
    dtype_error(instruction, operand, view, "a dtype with one value per element");
  }
}

void source_and_dst(std::string_view instruction, std::string_view source_name, const View& source,
                    const View& dst, EngineKind engine, const Architecture& architecture) {
  compute_operand(instruction, source_name, source, engine, architecture);
  compute_operand(instruction, "dst", dst, engine, architecture);
  same_partitions(instruction, "dst", dst, source_name, source);
  same_free_elements(instruction, "dst", dst, source_name, source);
}

void not_both_in_psum(std::string_view instruction, std::string_view first_name, const View& first,
                      std::string_view second_name, const View& second,
                      const Architecture& architecture) {
  if (first.memory() != MemoryKind::kPsum || second.memory() != MemoryKind::kPsum) return;
  fail(text("operands '", first_name, "' and '", second_name, "' of '", instruction,
            "' are both in PSUM; at most one input may be (architecture ", architecture.name,
            ")."));
}

void per_partition(std::string_view instruction, std::string_view operand, const View& view,
                   const View& data) {
  same_partitions(instruction, "data", data, operand, view);
  if (view.free_elements() == 1) return;
  fail(text("operand '", parameter(operand, view), "' of '", instruction,
            "' must have one element per partition, but it has ", view.free_elements(), "."));
}

void dtype_error(std::string_view instruction, std::string_view operand, const View& view,
                 std::string_view allowed) {
  fail(text("dtype ", name(view.dtype()), " of operand '", operand, "' of '", instruction,
            "' is not supported; expected ", allowed, "."),
       ErrorKind::kType);
}

}  // namespace neuron_sim::checks
