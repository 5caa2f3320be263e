#pragma once
// Checks that many instructions share, with the vendor's error texts (nki/language.md section 8).

#include <initializer_list>
#include <string_view>

#include "device/instruction/instruction_type.h"

namespace neuron_sim::checks {

/// `number of partitions 256 exceed architecture limitation of 128.` with instruction and operand.
void partitions(std::string_view instruction, std::string_view operand, const View& view,
                const Architecture& architecture);
/// Elements per partition within the SBUF or PSUM limit; rank within the access pattern limit.
void free_size(std::string_view instruction, std::string_view operand, const View& view,
               const Architecture& architecture);
/// `Expected operand 'src' of 'load' to be in address space 'hbm', but got a tile in 'sbuf'
/// instead.`
void memory(std::string_view instruction, std::string_view operand, const View& view,
            std::initializer_list<MemoryKind> allowed);
/// `number of partitions (dimension 0 size of a tile) mismatch in parameters (data1[128, 512],
/// data2[1, 512]) of 'tensor_tensor'`
void same_partitions(std::string_view instruction, std::string_view first_name, const View& first,
                     std::string_view second_name, const View& second);
void same_free_elements(std::string_view instruction, std::string_view first_name,
                        const View& first, std::string_view second_name, const View& second);
/// The start partition rule: 64 < P <= 128 starts at 0; 32 < P <= 64 at 0 or 64; P <= 32 at a
/// multiple of 32. Only for constant start partitions; varying ones are checked at run time.
void start_partition(std::string_view instruction, std::string_view operand, const View& view,
                     const Architecture& architecture);
/// One of the engines, else an error that lists them.
void engine(std::string_view instruction, EngineKind engine,
            std::initializer_list<EngineKind> allowed, const Architecture& architecture);
/// KernelError (kNotImplemented) on a generation before `minimum`, the first that has the
/// instruction (3 is NeuronCore-v3).
void generation(std::string_view instruction, int64_t minimum, const Architecture& architecture);
/// GpSimd cannot access PSUM.
void no_psum_on_gpsimd(std::string_view instruction, std::string_view operand, const View& view,
                       EngineKind engine);
/// All of the above that a Vector/Scalar/GpSimd operand needs, for instructions that move bits.
void movable_operand(std::string_view instruction, std::string_view operand, const View& view,
                     EngineKind engine, const Architecture& architecture);
/// What movable_operand() checks, for instructions that compute: no packed dtypes.
void compute_operand(std::string_view instruction, std::string_view operand, const View& view,
                     EngineKind engine, const Architecture& architecture);
/// `source` and `dst` as operands of a compute engine, with the same partitions and elements per
/// partition.
void source_and_dst(std::string_view instruction, std::string_view source_name, const View& source,
                    const View& dst, EngineKind engine, const Architecture& architecture);
/// Two inputs are not both in PSUM (docs/hardware_facts.md#two-psum-inputs).
void not_both_in_psum(std::string_view instruction, std::string_view first_name, const View& first,
                      std::string_view second_name, const View& second,
                      const Architecture& architecture);
/// A [P, 1] operand with the partitions of `data`.
void per_partition(std::string_view instruction, std::string_view operand, const View& view,
                   const View& data);
[[noreturn]] void dtype_error(std::string_view instruction, std::string_view operand,
                              const View& view, std::string_view allowed);

}  // namespace neuron_sim::checks
