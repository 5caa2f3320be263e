#include "device/analysis/register_write.h"

#include <algorithm>

#include "device/isa/sequencing/register_alloc.h"
#include "device/isa/sequencing/register_load.h"
#include "device/isa/sequencing/register_move.h"

namespace neuron_sim {

std::optional<RegisterWrite> register_write(const Program& program,
                                            const Instruction& instruction) {
  const auto attributes = program.attributes_of(instruction);
  RegisterWrite write;
  write.is_virtual = !instruction.engine_given;
  if (instruction.type == &kRegisterMove) {  // dst, src, src_register
    write.register_index = static_cast<int16_t>(attributes[2].integer());
    write.source = write.register_index >= 0 ? RegisterWrite::Source::kRegister
                                             : RegisterWrite::Source::kConstant;
    write.constant = attributes[1].integer();
  } else if (instruction.type == &kRegisterAlloc) {  // dst, x_constant, has_constant
    const bool loads = has_operand(program.operands_of(instruction), 0);
    if (!loads && !attributes[2].flag()) return std::nullopt;
    if (!loads) write.source = RegisterWrite::Source::kConstant;
    write.constant = attributes[1].integer();
  } else if (instruction.type != &kRegisterLoad) {  // dst
    return std::nullopt;
  }
  write.dst = static_cast<int16_t>(attributes[0].integer());
  return write;
}

bool writes_register(const Program& program, const Block& block, int64_t register_index) {
  return std::any_of(block.begin(), block.end(), [&](const Node& node) {
    if (node.kind == Node::Kind::kLoop) {
      const Loop& loop = program.loops[node.index];
      const bool counts = loop.kind == LoopKind::kRange && loop.register_index == register_index;
      return counts || writes_register(program, loop.body, register_index);
    }
    const auto write = register_write(program, program.instructions[node.index]);
    return write && write->dst == register_index;
  });
}

}  // namespace neuron_sim
