// findings() against an interpreter that keeps one flag per byte and walks the program itself.

#include <map>
#include <set>

#include "tests/device/check/check_programs.h"
#include "tests/device/program/random_program.h"

namespace neuron_sim {
namespace {

/// A byte of a memory.
using Byte = std::tuple<TileId, int64_t, int64_t>;  // tile, partition of the tile, byte of it

class ByteInterpreter {
 public:
  explicit ByteInterpreter(const Program& program) : program_(program) {
    for (const Tile& tile : program.tiles) {
      defined_.emplace_back(static_cast<size_t>(tile.partitions * tile.bytes));
    }
  }

  /// "rule/instruction/operand/tile/[indices]/partition/byte" of what is wrong, in program order.
  std::vector<std::string> run() {
    walk(program_.cores[0]);
    std::vector<std::string> revealed;
    for (const auto& [line, is_revealed] : found_) {
      if (is_revealed) revealed.push_back(line);
    }
    return revealed;
  }

 private:
  void walk(const Block& block) {
    for (const Node& node : block) {
      if (node.kind == Node::Kind::kInstruction) {
        step(node.index);
        continue;
      }
      const Loop& loop = program_.loops[node.index];
      const auto level = static_cast<size_t>(loop.level);
      indices_.push_back(0);
      for (int64_t i = 0; i < loop.trip_count; ++i) {
        variables_[level] = indices_.back() = i;
        walk(loop.body);
      }
      indices_.pop_back();
    }
  }

  /// The bytes of every element of an on-chip operand, in order.
  std::vector<std::vector<Byte>> elements(const Operand& operand) const {
    const Location at = locate(program_, operand, variables_.data(), nullptr);
    const Tile& tile = program_.tiles[static_cast<size_t>(at.tile)];
    std::vector<std::vector<Byte>> result;
    for (int64_t p = 0; p < operand.partitions; ++p) {
      std::vector<int64_t> offsets{at.offset - tile.address};
      for (int8_t d = 0; d < operand.rank; ++d) {
        const Dimension& dimension = operand.free[static_cast<size_t>(d)];
        std::vector<int64_t> next;
        for (const int64_t offset : offsets) {
          for (int64_t i = 0; i < dimension.size; ++i)
            next.push_back(offset + i * dimension.stride);
        }
        offsets = next;
      }
      for (const int64_t offset : offsets) {
        std::vector<Byte> bytes;
        for (int64_t b = 0; b < itemsize(operand.dtype); ++b) {
          bytes.emplace_back(at.tile, at.partition - tile.start_partition + p, offset + b);
        }
        result.push_back(bytes);
      }
    }
    return result;
  }

  /// 1: defined. 0: undefined. More: undefined because of what causes_[flag - 2] suspects.
  size_t& flag(const Byte& byte) {
    const auto& [tile, partition, offset] = byte;
    const Tile& of = program_.tiles[static_cast<size_t>(tile)];
    return defined_[static_cast<size_t>(tile)][static_cast<size_t>(partition * of.bytes + offset)];
  }

  void report(const char* rule, uint32_t index, size_t operand, const Byte& byte) {
    reveal(suspect(rule, index, operand, byte));
  }

  void reveal(size_t suspect) { found_[suspect].second = true; }

  /// What is wrong as soon as something uses it.
  size_t suspect(const char* rule, uint32_t index, size_t operand, const Byte& byte) {
    const auto& [tile, partition, offset] = byte;
    const auto [known, is_new] = known_.try_emplace({rule, index, operand, tile}, found_.size());
    if (!is_new) return known->second;
    std::string line = text(rule, "/", operand_name(program_, index, operand), "/",
                            program_.tiles[static_cast<size_t>(tile)].label, "/");
    for (const int64_t i : indices_) line += text(i, ",");
    found_.emplace_back(line + (rule[0] == 'p' ? "" : text("/", partition, "/", offset)), false);
    return found_.size() - 1;
  }

  void step(uint32_t index) {
    const Instruction& instruction = program_.instructions[index];
    const auto operands = program_.operands_of(instruction);
    const bool product = instruction.type->name == "nc_matmul";
    const bool stores = operands[0].memory == MemoryKind::kHbm;
    std::vector<std::vector<Byte>> dst;
    if (!stores) dst = elements(operands[0]);
    check_overlap(index, dst);
    std::vector<bool> undefined(dst.size());
    std::set<size_t> causes;
    std::set<std::pair<size_t, size_t>> lines;
    for (size_t i = 0; i < operands.size(); ++i) {
      const bool on_chip = operands[i].present() && operands[i].memory != MemoryKind::kHbm;
      if (!on_chip || !operands[i].reads()) continue;
      const auto source = elements(operands[i]);
      bool suspected = false;
      for (size_t e = 0; e < source.size(); ++e) {
        for (const Byte& byte : source[e]) {
          if (flag(byte) == 1) continue;
          static const std::set<size_t> kNone;
          const std::set<size_t>& known = flag(byte) == 0 ? kNone : causes_[flag(byte) - 2];
          if (stores) {
            for (const size_t cause : known) reveal(cause);
            if (known.empty()) report("uninitialised-read", index, i, byte);
          } else if (product && i == 0 && known.empty()) {
            report("psum-accumulate-without-start", index, i, byte);
          } else {
            causes.insert(known.begin(), known.end());
            if (product && known.empty() && !std::exchange(suspected, true)) {
              causes.insert(suspect("uninitialised-read", index, i, byte));
            }
            mark(undefined, operands, product ? i : 0, e, lines);
          }
        }
      }
    }
    if (!causes.empty()) causes_.push_back(causes);
    for (size_t e = 0; e < dst.size(); ++e) {
      const size_t bad = causes.empty() ? 0 : causes_.size() + 1;
      for (const Byte& byte : dst[e]) flag(byte) = undefined[e] ? bad : 1;
    }
  }

  /// Element `e` of an operand, 1 and 2 of a product, makes elements of dst undefined: a row or a
  /// column, which are entered in `lines`.
  static void mark(std::vector<bool>& undefined, std::span<const Operand> operands, size_t operand,
                   size_t e, std::set<std::pair<size_t, size_t>>& lines) {
    if (operand == 0) {
      undefined[e] = true;
      return;
    }
    const auto rows = static_cast<size_t>(operands[0].partitions);
    const size_t columns = undefined.size() / rows;
    const bool in_row = operand == 1;
    const size_t line = e % (in_row ? rows : columns);
    if (!lines.insert({operand, line}).second) return;
    for (size_t i = 0; i < undefined.size(); ++i) {
      if ((in_row ? i / columns : i % columns) == line) undefined[i] = true;
    }
  }

  void check_overlap(uint32_t index, const std::vector<std::vector<Byte>>& dst) {
    const auto operands = program_.operands_of(program_.instructions[index]);
    std::set<Byte> written;
    for (const auto& element : dst) written.insert(element.begin(), element.end());
    for (size_t i = 1; i < operands.size(); ++i) {
      if (!operands[i].present() || operands[i].memory == MemoryKind::kHbm) continue;
      const auto source = elements(operands[i]);
      if (source == dst || source.size() != dst.size() || dst.size() < 2) continue;
      for (const auto& element : source) {
        for (const Byte& byte : element) {
          if (written.contains(byte)) return report("partial-overlap", index, i, byte);
        }
      }
    }
  }

  const Program& program_;
  using Key = std::tuple<std::string, uint32_t, size_t, TileId>;

  std::vector<std::vector<size_t>> defined_;
  std::vector<std::set<size_t>> causes_;
  std::array<int64_t, kMaximumLoopDepth> variables_{};
  std::vector<int64_t> indices_;
  std::map<Key, size_t> known_;
  std::vector<std::pair<std::string, bool>> found_;  // whether it is revealed
};

/// What findings() says about undefined bytes and overlaps, in the oracle's form. The oracle does
/// not tell which byte of an overlap is the first.
std::vector<std::string> told(const std::vector<Finding>& findings) {
  std::vector<std::string> result;
  for (const Finding& finding : findings) {
    const bool undefined = finding.rule == Rule::kUninitialisedRead;
    if (!undefined && finding.rule != Rule::kPsumAccumulateWithoutStart &&
        finding.rule != Rule::kPartialOverlap) {
      continue;
    }
    std::string line =
        text(entry_of(finding.rule).name, "/", finding.operand, "/", finding.tile, "/");
    for (const int64_t i : finding.index) line += text(i, ",");
    if (undefined) {
      line += text("/", finding.place.partitions->begin, "/", finding.place.bytes->begin);
    }
    result.push_back(line);
  }
  return result;
}

TEST(RandomDefinedness, AgreesWithAnInterpreterByteByByte) {
  size_t undefined = 0;
  for (uint64_t seed = 0; seed < 24; ++seed) {
    const RandomProgramOptions options{.longest_loop = 3,
                                       .blocks = 8,
                                       .statements = 5,
                                       .moving_windows = 40,
                                       .undefined_reads = seed % 3 != 0};
    const auto program = RandomProgram(seed, trn2(), options).build();
    const std::vector<std::string> expected = ByteInterpreter(*program).run();
    undefined += expected.size();
    ASSERT_EQ(told(findings(*program)), expected) << "seed " << seed << "\n" << listing(*program);
  }
  EXPECT_GT(undefined, 20u);  // the programs are wrong often enough to tell
}

}  // namespace
}  // namespace neuron_sim
