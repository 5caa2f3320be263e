#pragma once
// Programs that run one after the other, as one program.

#include <memory>
#include <string>
#include <vector>

#include "device/program/program.h"

namespace neuron_sim {

/// Where an argument of a joined program lies.
struct ArgumentPlace {
  TileId tensor = kNoTile;  ///< of the whole program; kNoTile: nothing reads or writes it
  int64_t byte_offset = 0;
};

/// Builds a program of one core from whole programs of one core, whose instructions, tiles on chip
/// and loops stay as they are: a tile that lies where an earlier program had one waits for it.
class JoinedProgram {
 public:
  JoinedProgram(std::string kernel, const Architecture& architecture);

  /// An HBM tensor of [elements]: an argument, or scratch, which the joined programs may share.
  TileId tensor(const std::string& label, int64_t elements, Dtype dtype, bool is_argument);
  /// Appends a program. `places`: one per argument of it. `source`: "name, line", what its
  /// instructions compute; the source lines that they have replace the line. Empty: these stay as
  /// they are.
  void append(const Program& program, const std::vector<ArgumentPlace>& places,
              const std::string& source);
  /// The program; this object is spent afterwards.
  std::shared_ptr<const Program> finish();

 private:
  struct Firsts;
  void append_tiles(const Program& program, const std::vector<ArgumentPlace>& places);
  void append_operands(const Program& program, const std::vector<ArgumentPlace>& places);
  void append_instructions(const Program& program, const Firsts& firsts);
  void append_source_lines(const Program& program, const std::string& source);

  std::shared_ptr<Program> program_;
  std::vector<TileId> tiles_;          ///< per tile of the program that is appended
  std::vector<int32_t> source_lines_;  ///< the same for its source lines, the last for none
};

}  // namespace neuron_sim
