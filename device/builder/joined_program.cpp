#include "device/builder/joined_program.h"

#include <algorithm>
#include <utility>

#include "device/base/errors.h"
#include "device/builder/finish_program.h"
#include "device/program/engine_state_tile.h"

namespace neuron_sim {
namespace {

template <typename Element>
void append_pool(std::vector<Element>& pool, const std::vector<Element>& more) {
  pool.insert(pool.end(), more.begin(), more.end());
}

}  // namespace

/// The sizes of the pools before a program is appended.
struct JoinedProgram::Firsts {
  explicit Firsts(const Program& program)
      : instructions(static_cast<uint32_t>(program.instructions.size())),
        operands(static_cast<uint32_t>(program.operands.size())),
        attributes(static_cast<uint32_t>(program.attributes.size())),
        demands(static_cast<uint32_t>(program.demands.size())),
        loops(static_cast<uint32_t>(program.loops.size())) {}

  void shift(Block& block) const {
    for (Node& node : block) node.index += node.kind == Node::Kind::kLoop ? loops : instructions;
  }
  uint32_t instructions, operands, attributes, demands, loops;
};

JoinedProgram::JoinedProgram(std::string kernel, const Architecture& architecture)
    : program_(std::make_shared<Program>()) {
  program_->kernel = std::move(kernel);
  program_->architecture = &architecture;
  program_->cores.emplace_back();
  for (int i = 0; i < kEngineStateCount; ++i) {
    program_->tiles.push_back(engine_state_tile(static_cast<EngineState>(i), architecture));
  }
}

TileId JoinedProgram::tensor(const std::string& label, int64_t elements, Dtype dtype,
                             bool is_argument) {
  const auto id = static_cast<TileId>(program_->tiles.size());
  Tile tile;
  tile.label = label;
  tile.memory = MemoryKind::kHbm;
  tile.dtype = dtype;
  tile.bytes = elements * itemsize(dtype);
  if (is_argument) {
    tile.argument = static_cast<int32_t>(program_->arguments.size());
    program_->arguments.push_back({label, dtype, {elements}, tile.bytes, false, false});
  } else {
    tile.scratch = static_cast<int32_t>(program_->scratch.size());
    program_->scratch.push_back(id);
  }
  program_->tiles.push_back(std::move(tile));
  return id;
}

void JoinedProgram::append_tiles(const Program& program, const std::vector<ArgumentPlace>& places) {
  const auto first_constant = static_cast<int32_t>(program_->constants.size());
  append_pool(program_->constants, program.constants);
  tiles_.clear();
  for (size_t i = 0; i < program.tiles.size(); ++i) {
    const Tile& tile = program.tiles[i];
    const auto id = static_cast<TileId>(program_->tiles.size());
    if (i < kEngineStateCount || tile.argument >= 0) {
      const bool is_argument = tile.argument >= 0;
      tiles_.push_back(is_argument ? places[static_cast<size_t>(tile.argument)].tensor
                                   : static_cast<TileId>(i));
      continue;
    }
    tiles_.push_back(id);
    Tile& copy = program_->tiles.emplace_back(tile);
    copy.hazard_group = -1;
    copy.widened = false;
    if (tile.constant >= 0) copy.constant += first_constant;
    if (tile.scratch < 0) continue;
    copy.scratch = static_cast<int32_t>(program_->scratch.size());
    program_->scratch.push_back(id);
  }
}

void JoinedProgram::append_operands(const Program& program,
                                    const std::vector<ArgumentPlace>& places) {
  const auto first_term = static_cast<uint32_t>(program_->terms.size());
  append_pool(program_->terms, program.terms);
  program_->operands.reserve(program_->operands.size() + program.operands.size());
  for (const Operand& operand : program.operands) {
    Operand& copy = program_->operands.emplace_back(operand);
    copy.first_term += first_term;
    if (operand.tile == kNoTile) continue;
    const Tile& tile = program.tiles[static_cast<size_t>(operand.tile)];
    copy.tile = tiles_[static_cast<size_t>(operand.tile)];
    if (tile.argument < 0) continue;
    require(copy.tile != kNoTile, "a place for every argument that is read or written");
    const int64_t shift = places[static_cast<size_t>(tile.argument)].byte_offset;
    copy.offset += shift;
    copy.region.low += shift;
  }
}

void JoinedProgram::append_source_lines(const Program& program, const std::string& source) {
  source_lines_.clear();
  const auto add = [&](const std::string& line) {
    source_lines_.push_back(static_cast<int32_t>(program_->source_lines.size()));
    program_->source_lines.push_back(line);
  };
  const std::string name = source.substr(0, source.find(", "));  // without a line of its own
  for (const std::string& line : program.source_lines) {
    add(source.empty() ? line : text(name, ", ", line));
  }
  if (source.empty()) {
    source_lines_.push_back(-1);
  } else {
    add(source);
  }
}

void JoinedProgram::append_instructions(const Program& program, const Firsts& firsts) {
  const auto line_of = [&](int32_t line) {
    return line < 0 ? source_lines_.back() : source_lines_[static_cast<size_t>(line)];
  };
  for (const Instruction& instruction : program.instructions) {
    Instruction& copy = program_->instructions.emplace_back(instruction);
    copy.first_operand += firsts.operands;
    copy.first_attribute += firsts.attributes;
    copy.demand += firsts.demands;
    copy.source_line = line_of(instruction.source_line);
  }
  for (const Loop& loop : program.loops) {
    Loop& copy = program_->loops.emplace_back(loop);
    copy.source_line = line_of(loop.source_line);
    firsts.shift(copy.body);
  }
  Block block = program.cores.front();
  firsts.shift(block);
  append_pool(program_->cores.front(), block);
  for (const Edge& edge : program.edges) {
    program_->edges.push_back(
        {edge.consumer + firsts.instructions, edge.producer + firsts.instructions});
  }
}

void JoinedProgram::append(const Program& program, const std::vector<ArgumentPlace>& places,
                           const std::string& source) {
  require(program.cores.size() == 1 && !program.has_collectives && program.overflow.empty() &&
              places.size() == program.arguments.size(),
          "programs that are joined have one core, one rank and a place for each argument");
  const Firsts firsts(*program_);
  append_tiles(program, places);
  append_operands(program, places);
  append_source_lines(program, source);
  append_instructions(program, firsts);
  append_pool(program_->attributes, program.attributes);
  append_pool(program_->demands, program.demands);
  program_->sbuf_peak = std::max(program_->sbuf_peak, program.sbuf_peak);
  program_->psum_peak = std::max(program_->psum_peak, program.psum_peak);
  program_->uses_registers = program_->uses_registers || program.uses_registers;
}

std::shared_ptr<const Program> JoinedProgram::finish() {
  finish_program(*program_);
  return std::move(program_);
}

}  // namespace neuron_sim
