#include "device/observe/last_writer.h"

#include "device/analysis/access_runs.h"
#include "device/program/cursor.h"

namespace neuron_sim {
namespace {

class WriterWalk : public WalkWithoutData {
 public:
  WriterWalk(const Program& program, size_t argument, int64_t byte)
      : program_(program), argument_(static_cast<int32_t>(argument)), byte_(byte) {}

  void meet(const Meeting& meeting) { visit_meeting(meeting, *this); }
  void instruction(uint32_t index, const int64_t* variables) {
    static constexpr int64_t kNoRegisters[64] = {};
    for (const Operand& operand : program_.operands_of(program_.instructions[index])) {
      const bool is_written = operand.memory == MemoryKind::kHbm && operand.writes();
      if (!is_written || program_.tiles[static_cast<size_t>(operand.tile)].argument != argument_) {
        continue;
      }
      const bool is_known = !operand.indirect && operand.register_index < 0;
      if (is_known && !covers(operand, locate(program_, operand, variables, kNoRegisters))) {
        continue;
      }
      if (is_known && !operand.reads()) writers.clear();
      if (writers.empty() || writers.back() != index) writers.push_back(index);
    }
  }

  std::vector<uint32_t> writers;

 private:
  bool covers(const Operand& operand, const Location& location) const {
    bool is_covered = false;
    for (int64_t p = 0; p < operand.partitions && !is_covered; ++p) {
      each_free_run(operand, location.offset + p * operand.partition_stride,
                    [&](int64_t begin, int64_t length) {
                      is_covered = is_covered || (begin <= byte_ && byte_ < begin + length);
                    });
    }
    return is_covered;
  }

  const Program& program_;
  int32_t argument_;
  int64_t byte_;
};

}  // namespace

std::vector<uint32_t> last_writers(const Program& program, size_t argument, int64_t byte) {
  WriterWalk walk(program, argument, byte);
  Cursor<WriterWalk>(program, walk).walk();
  return walk.writers;
}

}  // namespace neuron_sim
