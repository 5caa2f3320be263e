#include "device/analysis/tile_table.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

constexpr size_t kColumns = 8;
constexpr std::array<std::string_view, kColumns> kHeader = {"tile",  "shape", "dtype", "bytes",
                                                            "count", "sum",   "lines", "made at"};
constexpr size_t kFirstNumber = 3, kEndOfNumbers = 6;  // aligned to the right
using Cells = std::array<std::string, kColumns>;

/// Tiles that are alike.
struct Row {
  const Tile* tile = nullptr;
  int32_t source_line = -1;
  int64_t pitch = 0, tiles = 0, live = 0;
  Lifetime life;
};

/// By tensor, pitch, dtype, partitions and the line that made them.
using Key = std::tuple<std::string, int64_t, Dtype, int32_t, int32_t>;

std::vector<Row> rows_of(const TilesAt& all) {
  std::map<Key, Row> rows;
  for (const size_t i : all.used) {
    const UnplacedTile& tile = all.tiles[i];
    const Tile& first = all.program.tiles[static_cast<size_t>(tile.first)];
    const Lifetime& life = all.lifetimes.of[i];
    Row& row =
        rows[{tensor_of(first.label), tile.pitch, first.dtype, first.partitions, tile.source_line}];
    if (row.tile == nullptr) row.tile = &first;
    row.source_line = tile.source_line;
    row.pitch = tile.pitch;
    row.tiles += tile.count;
    row.live += life.first <= all.position && all.position <= life.last ? tile.count : 0;
    row.life.first = std::min(row.life.first, life.first);
    row.life.last = std::max(row.life.last, life.last);
  }
  std::vector<Row> result;
  result.reserve(rows.size());
  for (const auto& [key, row] : rows) result.push_back(row);
  std::stable_sort(result.begin(), result.end(), [](const Row& a, const Row& b) {
    return std::tuple(-a.pitch * a.live, a.life.first) <
           std::tuple(-b.pitch * b.live, b.life.first);
  });
  return result;
}

std::string line_at(const Program& program, int32_t source_line) {
  return source_line < 0 ? "" : program.source_lines[static_cast<size_t>(source_line)];
}

/// The line of the instruction at a position, or of the first (last) one inside the loop that
/// begins (ends) there.
std::string line_near(const TilesAt& all, uint32_t position, int step) {
  const std::vector<uint32_t>& instructions = all.lifetimes.instructions;
  int64_t at = position;
  while (at >= 0 && at < static_cast<int64_t>(instructions.size())) {
    const uint32_t index = instructions[static_cast<size_t>(at)];
    if (index != UINT32_MAX)
      return line_at(all.program, all.program.instructions[index].source_line);
    at += step;
  }
  return "";
}

std::string file_of(const std::string& line) { return line.substr(0, line.rfind(':')); }

/// "12" for "kernels.py:12" beside another line of that file, else "kernels.py:12".
std::string short_line(const std::string& line, const std::string& beside) {
  if (line.find(':') == std::string::npos) return line;
  if (file_of(line) == file_of(beside)) return line.substr(line.rfind(':') + 1);
  return line.substr(line.rfind('/') + 1);  // of no directory: npos + 1 is 0
}

std::string lines_of(const TilesAt& all, const Lifetime& life, const std::string& made_at) {
  const std::string first = line_near(all, life.first, 1), last = line_near(all, life.last, -1);
  if (first == last || last.empty()) return short_line(first, made_at);
  if (first.empty()) return short_line(last, made_at);
  return text(short_line(first, made_at), "-", short_line(last, first));
}

Cells cells_of(const TilesAt& all, const Row& row) {
  const Tile& tile = *row.tile;
  const std::string made_at = line_at(all.program, row.source_line);
  const std::string count =
      row.live == row.tiles ? text(row.live) : text(row.live, " of ", row.tiles);
  return {row.tiles > 1 ? tensor_of(tile.label) : tile.label,
          text("[", tile.partitions, ", ", tile.bytes / itemsize(tile.dtype), "]"),
          std::string(name(tile.dtype)),
          text(row.pitch),
          count,
          text(row.pitch * row.live),
          lines_of(all, row.life, made_at),
          made_at};
}

/// Without the header of a column that is empty: a finished program has forgotten some lines.
std::string aligned(std::vector<Cells> table) {
  for (size_t i = 0; i < kColumns; ++i) {
    const bool is_empty = std::all_of(table.begin() + 1, table.end(),
                                      [&](const Cells& cells) { return cells[i].empty(); });
    if (is_empty) table[0][i].clear();
  }

  std::array<size_t, kColumns> widths{};
  for (const Cells& cells : table) {
    for (size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], cells[i].size());
  }
  std::string result;
  for (const Cells& cells : table) {
    std::string line;
    for (size_t i = 0; i < kColumns; ++i) {
      const std::string space(widths[i] - cells[i].size(), ' ');
      const bool is_number = kFirstNumber <= i && i < kEndOfNumbers;
      line += "  " + (is_number ? space + cells[i] : cells[i] + space);
    }
    result += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return result;
}

}  // namespace

int64_t TilesAt::live_bytes() const {
  int64_t live = placed_by_hand;
  for (const size_t i : used) {
    const Lifetime& life = lifetimes.of[i];
    if (life.first <= position && position <= life.last) live += tiles[i].pitch * tiles[i].count;
  }
  return live;
}

std::string TilesAt::source_line() const {
  const uint32_t index = lifetimes.instructions[position];
  return index == UINT32_MAX ? "" : line_at(program, program.instructions[index].source_line);
}

std::string TilesAt::place() const {
  const uint32_t index = lifetimes.instructions[position];
  if (index == UINT32_MAX) return "a loop";
  const std::string line = source_line();
  return text("'", program.instructions[index].type->name, "'",
              line.empty() ? "" : " (" + line + ")");
}

std::string tile_table(const TilesAt& tiles, int64_t capacity, TableRows rows) {
  std::vector<Cells> table(1);
  std::copy(kHeader.begin(), kHeader.end(), table[0].begin());
  for (const Row& row : rows_of(tiles)) {
    if (row.live > 0 || rows == TableRows::kAll) table.push_back(cells_of(tiles, row));
  }
  std::string result = aligned(std::move(table));
  if (tiles.placed_by_hand > 0) result += text("  placed by hand: ", tiles.placed_by_hand, "\n");
  return result + text("  sum: ", tiles.live_bytes(), " of ", capacity, " bytes per partition\n");
}

}  // namespace neuron_sim
