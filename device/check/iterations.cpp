#include "device/check/iterations.h"

#include <algorithm>
#include <utility>

namespace neuron_sim {
namespace {

void note_depths(const Program& program, const Block& block, size_t depth,
                 std::vector<size_t>& depths) {
  for (const Node& node : block) {
    if (node.kind == Node::Kind::kLoop) {
      note_depths(program, program.loops[node.index].body, depth + 1, depths);
    } else {
      depths[node.index] = depth;
    }
  }
}

}  // namespace

std::vector<size_t> loop_depths(const Program& program) {
  std::vector<size_t> depths(program.instructions.size());
  for (const Block& block : program.cores) note_depths(program, block, 0, depths);
  return depths;
}

IterationOrder::IterationOrder(const Program& program, std::vector<IterationMark> marks)
    : program_(program), marks_(std::move(marks)), contexts_(1) {
  if (marks_.empty()) return;
  ranges_.resize(program.loops.size());
  paths_.resize(program.instructions.size());
  depths_ = loop_depths(program);
  for (const Block& block : program.cores) {
    range_of(block);
    std::vector<uint32_t> loops;
    add_steps(block, loops);
  }
}

IterationOrder::Range IterationOrder::range_of(const Block& block) {
  Range all;
  for (const Node& node : block) {
    Range range{node.index, node.index + 1};
    if (node.kind == Node::Kind::kLoop) {
      range = range_of(program_.loops[node.index].body);
      ranges_[node.index] = range;
    }
    all = {std::min(all.first, range.first), std::max(all.end, range.end)};
  }
  return all;
}

void IterationOrder::add_steps(const Block& block, std::vector<uint32_t>& loops) {
  for (const Node& node : block) {
    if (node.kind != Node::Kind::kLoop) {
      paths_[node.index] = steps_of(node.index, loops);
      continue;
    }
    loops.push_back(node.index);
    add_steps(program_.loops[node.index].body, loops);
    loops.pop_back();
  }
}

int32_t IterationOrder::mark_of(const Loop& loop, uint32_t instruction) const {
  const auto found = std::find_if(marks_.begin(), marks_.end(), [&](const IterationMark& mark) {
    return mark.level == loop.level && mark.first <= instruction && instruction < mark.end;
  });
  return found == marks_.end() ? -1 : static_cast<int32_t>(found - marks_.begin());
}

std::vector<IterationOrder::Step> IterationOrder::steps_of(
    uint32_t instruction, const std::vector<uint32_t>& loops) const {
  struct Entry {
    Step step;
    Range range;
  };
  std::vector<Entry> entries;
  entries.reserve(loops.size() + 1);
  for (size_t i = 0; i < marks_.size(); ++i) {
    const IterationMark& mark = marks_[i];
    if (mark.level >= 0 || instruction < mark.first || mark.end <= instruction) continue;
    entries.push_back({{UINT32_MAX, -1, static_cast<int32_t>(i)}, {mark.first, mark.end}});
  }
  for (const uint32_t index : loops) {
    const Loop& loop = program_.loops[index];
    entries.push_back({{index, loop.level, mark_of(loop, instruction)}, ranges_[index]});
  }
  // What contains more is outside.
  const auto is_outside = [](const Entry& a, const Entry& b) {
    return std::pair(a.range.first, ~a.range.end) < std::pair(b.range.first, ~b.range.end);
  };
  if (entries.size() > 1) std::stable_sort(entries.begin(), entries.end(), is_outside);
  std::vector<Step> steps;
  steps.reserve(entries.size());
  for (const Entry& entry : entries) steps.push_back(entry.step);
  return steps;
}

const IterationMark* IterationOrder::mark_at(uint32_t instruction, int64_t group) const {
  const auto found = std::find_if(marks_.begin(), marks_.end(), [&](const IterationMark& mark) {
    return mark.level < 0 && mark.group == group && mark.first <= instruction &&
           instruction < mark.end;
  });
  return found == marks_.end() ? nullptr : &*found;
}

void IterationOrder::begin(const Loop& loop, int64_t iteration) {
  if (marks_.empty()) return;
  auto& open = open_[loop.core];
  const auto level = static_cast<size_t>(loop.level);
  open[level] = static_cast<uint32_t>(contexts_.size());
  contexts_.push_back({level == 0 ? 0 : open[level - 1], iteration});
}

uint32_t IterationOrder::context(uint32_t instruction) const {
  if (marks_.empty() || depths_[instruction] == 0) return 0;
  return open_[program_.instructions[instruction].core][depths_[instruction] - 1];
}

std::vector<int64_t> IterationOrder::iterations(uint32_t context, size_t depth) const {
  std::vector<int64_t> result(depth);
  for (size_t level = depth; level > 0; --level) {
    result[level - 1] = contexts_[context].iteration;
    context = contexts_[context].parent;
  }
  return result;
}

const IterationMark* IterationOrder::unordered(uint32_t instruction, uint32_t context,
                                               uint32_t other, uint32_t other_context) const {
  if (marks_.empty()) return nullptr;
  const std::vector<Step>&a = paths_[instruction], &b = paths_[other];
  const auto at_a = iterations(context, depths_[instruction]);
  const auto at_b = iterations(other_context, depths_[other]);
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const IterationMark* mark = a[i].mark < 0 ? nullptr : &marks_[static_cast<size_t>(a[i].mark)];
    if (a[i].loop != UINT32_MAX || b[i].loop != UINT32_MAX) {
      if (a[i].loop != b[i].loop) return nullptr;
      const auto level = static_cast<size_t>(a[i].level);
      if (at_a[level] != at_b[level]) return mark;
      continue;
    }
    const IterationMark& theirs = marks_[static_cast<size_t>(b[i].mark)];
    if (mark->group != theirs.group) return nullptr;
    if (mark->iteration != theirs.iteration) return mark;
  }
  return nullptr;
}

}  // namespace neuron_sim
