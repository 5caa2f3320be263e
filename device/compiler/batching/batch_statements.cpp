#include "device/compiler/batching/batch_statements.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "device/compiler/batching/stack_instances.h"
#include "device/compiler/line/dependences.h"
#include "device/compiler/line/loop_runs.h"
#include "device/compiler/tiles/split_room.h"

namespace neuron_sim {
namespace {

/// Where the body of a loop is cut: before and after statements up to `last`.
struct Cut {
  uint32_t last = 0;
  std::vector<uint32_t> members;  ///< instances of the one statement to batch; or none
  int64_t most = std::numeric_limits<int64_t>::max();  ///< members that may become one instruction
};

/// Statements of a cut.
struct Span {
  uint32_t first = 0, last = 0;
};

/// Splits one run.
class LoopSplit {
 public:
  LoopSplit(StraightLine& line, const BatchRule& rule, std::optional<Dependences>& dependences,
            SplitRoom& room, TileMerges& merges, InstanceStack& stack, LoopRun run, size_t level)
      : line_(line),
        rule_(rule),
        dependences_(dependences),
        room_(room),
        merges_(merges),
        stack_(stack),
        run_(run),
        level_(level) {}

  /// Whether there is something to batch; sets the block size.
  bool plan() {
    find_candidates();
    if (!cuts_.empty() && !rule_.joins_psum) room_.note(run_);
    while (!cuts_.empty()) {
      choose_block();
      if (block_ < 2) return false;
      if (drop_forbidden() || !stack_cuts()) continue;
      merges_.keep();
      return true;
    }
    return false;
  }

  /// Appends the instances in their new order.
  void append(std::vector<StraightInstruction>& order) {
    struct Entry {
      int64_t block;
      size_t piece;
      uint32_t position;
    };
    std::vector<Entry> entries;
    for (uint32_t i = run_.begin; i < run_.end; ++i) {
      const size_t piece = piece_of(at(i).statement);
      if (batch_of_[i - run_.begin] != kGone) entries.push_back({block_of(at(i)), piece, i});
    }
    std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return std::tie(a.block, a.piece) < std::tie(b.block, b.piece);
    });
    for (const Entry& entry : entries) {
      const uint32_t batch = batch_of_[entry.position - run_.begin];
      order.push_back(batch == kAlone ? at(entry.position) : batches_[batch]);
      order.back().nest = nest_in_piece(order.back().nest, entry.piece);
    }
    line_.loops += static_cast<uint32_t>(2 * cuts_.size() + 1);
  }

 private:
  static constexpr uint32_t kAlone = UINT32_MAX, kGone = UINT32_MAX - 1;

  const StraightInstruction& at(uint32_t instance) const { return line_.instructions[instance]; }
  const Nest& nest(uint32_t instance) const { return line_.nest_of(at(instance)); }
  /// The loop nest of an instance after the split, which gives each piece of the body its own loop.
  uint32_t nest_in_piece(uint32_t nest, size_t piece) {
    const auto [entry, fresh] =
        nests_.try_emplace({nest, piece}, static_cast<uint32_t>(line_.nests.size()));
    if (fresh) {
      line_.nests.push_back(Nest(line_.nests[nest]));
      line_.nests.back().loops[level_] = line_.loops + static_cast<uint32_t>(piece);
    }
    return entry->second;
  }
  int64_t block_of(const StraightInstruction& instance) const {
    return block_ == trips_
               ? 0
               : (line_.nest_of(instance).iteration[level_] - first_iteration_) / block_;
  }
  /// Pieces of the body: before, at, and after each cut.
  size_t piece_of(uint32_t statement) const { return pieces_[statement - first_statement_]; }

  void find_candidates() {
    first_iteration_ = nest(run_.begin).iteration[level_];
    first_statement_ = at(run_.begin).statement;
    uint32_t last_statement = first_statement_;
    for (uint32_t i = run_.begin; i < run_.end; ++i) {
      const int64_t iteration = nest(i).iteration[level_];
      first_iteration_ = std::min(first_iteration_, iteration);
      trips_ = std::max(trips_, iteration + 1);
      first_statement_ = std::min(first_statement_, at(i).statement);
      last_statement = std::max(last_statement, at(i).statement);
    }
    trips_ -= first_iteration_;
    pieces_.resize(last_statement - first_statement_ + 1);
    if (rule_.most) find_members();
    if (rule_.around_sums) find_sums();
  }

  /// Finds statements whose instances may become one.
  void find_members() {
    std::vector<Cut*> known(pieces_.size());  // by statement
    for (uint32_t i = run_.begin; i < run_.end; ++i) {
      const StraightInstruction& instance = at(i);
      const bool innermost = static_cast<size_t>(nest(i).depth) == level_ + 1;
      if (!innermost || !instance.instruction.type->is_stackable) continue;
      const int64_t most = rule_.most(line_, instance);
      Cut*& cut = known[instance.statement - first_statement_];
      if (cut == nullptr && most < 2) continue;
      if (cut == nullptr) {
        cut = &cuts_[instance.statement];
        cut->members.reserve(static_cast<size_t>(std::min<int64_t>(trips_, run_.end - run_.begin)));
      }
      cut->last = instance.statement;
      cut->members.push_back(i);
      cut->most = std::min(cut->most, most);
    }
    std::erase_if(cuts_, [&](const auto& entry) {
      const std::vector<uint32_t>& members = entry.second.members;
      const bool short_of = !rule_.partly && rule_.most(line_, at(members.front())) < trips_;
      return members.size() < 2 || short_of;
    });
  }

  /// Finds inner loops of only products that add to PSUM.
  void find_sums() {
    struct Inner {
      uint32_t first = 0, last = 0;
      bool only_products = true, adds = false;
    };
    std::map<uint32_t, Inner> loops;
    for (uint32_t i = run_.begin; i < run_.end; ++i) {
      const StraightInstruction& instance = at(i);
      if (static_cast<size_t>(nest(i).depth) <= level_ + 1) continue;
      const uint32_t statement = instance.statement;
      auto [entry, fresh] =
          loops.try_emplace(nest(i).loops[level_ + 1], Inner{statement, statement});
      Inner& inner = entry->second;
      inner.first = std::min(inner.first, statement);
      inner.last = std::max(inner.last, statement);
      const StraightOperand& dst = line_.operands_of(instance)[0];
      inner.only_products &= instance.instruction.engine == EngineKind::kTensor &&
                             static_cast<size_t>(nest(i).depth) == level_ + 2;
      inner.adds |= dst.memory == MemoryKind::kPsum && dst.reads();
    }
    for (const auto& [loop, inner] : loops) {
      if (inner.only_products && inner.adds) cuts_[inner.first] = {inner.last, {}};
    }
  }

  void choose_block() {
    block_ = trips_;
    spans_.clear();
    for (const auto& [statement, cut] : cuts_) {
      spans_.push_back({statement, cut.last});
      block_ = std::min(block_, cut.most);
    }
    number_pieces();
    if (rule_.joins_psum) return;
    const int64_t fit = room_.iterations(trips_, 2 * cuts_.size() + 1,
                                         [&](uint32_t statement) { return piece_of(statement); });
    if (fit < block_) block_ = rule_.partly ? fit : 0;
  }

  void number_pieces() {
    auto span = spans_.begin();
    for (size_t i = 0, begun = 0; i < pieces_.size(); ++i) {
      const uint32_t statement = first_statement_ + static_cast<uint32_t>(i);
      for (; span != spans_.end() && span->first <= statement; ++span) ++begun;
      const bool inside = begun > 0 && statement <= std::prev(span)->last;
      pieces_[i] = 2 * begun - (inside ? 1 : 0);
    }
  }

  /// Drops cuts that a dependence forbids: one from an iteration to a later one of the block, from
  /// a statement at or after the cut to one at or before it.
  bool drop_forbidden() {
    if (!dependences_) dependences_.emplace(line_);
    const size_t before = cuts_.size();
    uint32_t longest = 0;
    for (const Span& span : spans_) longest = std::max(longest, span.last - span.first);
    for (uint32_t i = run_.begin; i < run_.end && !cuts_.empty(); ++i) {
      const uint32_t low = at(i).statement;
      for (const uint32_t source : dependences_->of(i)) {
        const uint32_t high = at(source).statement;
        if (source < run_.begin || high < low || at(source).nest == at(i).nest) continue;
        if (block_of(at(source)) != block_of(at(i))) continue;
        if (nest(source).iteration[level_] == nest(i).iteration[level_]) continue;
        for (auto entry = cuts_.lower_bound(low - std::min(low, longest));
             entry != cuts_.end() && entry->first <= high;) {
          const Cut& cut = entry->second;
          const bool around = cut.members.empty() && entry->first <= low && high <= cut.last;
          entry = low <= cut.last && !around ? cuts_.erase(entry) : std::next(entry);
        }
      }
    }
    return cuts_.size() < before;
  }

  /// Stacks the members of all cuts and drops the cuts where that is impossible. False when the
  /// block is another one without them, so that all is to be stacked anew.
  bool stack_cuts() {
    batches_.clear();
    batch_of_.assign(run_.end - run_.begin, kAlone);
    const int64_t block = block_;
    for (auto entry = cuts_.begin(); entry != cuts_.end();) {
      if (stack_blocks(entry->second.members)) {
        ++entry;
        continue;
      }
      entry = cuts_.erase(entry);
      choose_block();
      if (block_ == block) continue;
      merges_.drop();
      return false;
    }
    return true;
  }

  /// One instruction per block of members. False when a block cannot be stacked: then none is.
  bool stack_blocks(const std::vector<uint32_t>& members) {
    const size_t merged = merges_.pending();
    std::vector<std::pair<std::span<const uint32_t>, StraightInstruction>> batches;
    for (size_t begin = 0; begin < members.size();) {
      size_t end = begin + 1;
      while (end < members.size() && block_of(at(members[end])) == block_of(at(members[begin]))) {
        ++end;
      }
      if (end > begin + 1) {
        const std::span<const uint32_t> block(members.data() + begin, end - begin);
        const auto batch = stack_.stacked(block);
        if (!batch) {
          merges_.drop(merged);
          return false;
        }
        batches.emplace_back(block, *batch);
      }
      begin = end;
    }
    for (const auto& [block, batch] : batches) {
      for (const uint32_t member : block) batch_of_[member - run_.begin] = kGone;
      batch_of_[block.front() - run_.begin] = static_cast<uint32_t>(batches_.size());
      batches_.push_back(batch);
    }
    return true;
  }

  StraightLine& line_;
  const BatchRule& rule_;
  std::optional<Dependences>& dependences_;  ///< of the line; derived when asked for
  SplitRoom& room_;
  TileMerges& merges_;
  InstanceStack& stack_;
  LoopRun run_;
  size_t level_;
  int64_t first_iteration_ = 0;
  int64_t trips_ = 0;
  int64_t block_ = 0;                                      ///< iterations that are split together
  std::map<std::pair<uint32_t, size_t>, uint32_t> nests_;  ///< by nest before, piece
  std::map<uint32_t, Cut> cuts_;                           ///< by first statement
  std::vector<Span> spans_;  ///< of the cuts, when the block was chosen
  uint32_t first_statement_ = 0;
  std::vector<size_t> pieces_;  ///< by statement, from the first one
  std::vector<StraightInstruction> batches_;
  /// By position in the run: the batch that comes there, kAlone for what is in none, kGone for what
  /// comes with an earlier one.
  std::vector<uint32_t> batch_of_;
};

/// Whether a loop of this level may be split.
bool has_candidates(const StraightLine& line, const BatchRule& rule, size_t level) {
  const auto is_candidate = [&](const StraightInstruction& instance) {
    const auto depth = static_cast<size_t>(line.nest_of(instance).depth);
    if (rule.around_sums && depth == level + 2) return true;
    return depth == level + 1 && rule.most && instance.instruction.type->is_stackable &&
           rule.most(line, instance) >= 2;
  };
  return std::any_of(line.instructions.begin(), line.instructions.end(), is_candidate);
}

/// False, and the line is unchanged, when nothing was split.
bool split_level(StraightLine& line, const BatchRule& rule, size_t level,
                 std::optional<Dependences>& dependences) {
  if (!has_candidates(line, rule, level)) return false;
  const std::vector<LoopRun> runs = runs_at(line, level);
  SplitRoom room(line);
  TileMerges merges;
  InstanceStack stack(line, rule.joins_psum, merges);
  std::vector<StraightInstruction> order;
  uint32_t done = 0;
  const auto copy_until = [&](uint32_t end) {
    order.insert(order.end(), line.instructions.begin() + done, line.instructions.begin() + end);
    done = end;
  };
  for (const LoopRun& run : runs) {
    LoopSplit split(line, rule, dependences, room, merges, stack, run, level);
    if (!split.plan()) continue;
    if (order.empty()) order.reserve(line.instructions.size());
    copy_until(run.begin);
    split.append(order);
    done = run.end;
  }
  if (done == 0) return false;
  copy_until(static_cast<uint32_t>(line.instructions.size()));
  line.instructions = std::move(order);
  compact_operands(line);
  merges.apply(line);
  return true;
}

}  // namespace

void batch_statements(StraightLine& line, const BatchRule& rule) {
  std::optional<Dependences> dependences;
  const auto deepest =
      std::max_element(line.nests.begin(), line.nests.end(),
                       [](const Nest& a, const Nest& b) { return a.depth < b.depth; });
  const int levels = deepest == line.nests.end() ? 0 : deepest->depth;
  for (size_t level = 0; level < static_cast<size_t>(levels); ++level) {
    if (split_level(line, rule, level, dependences)) dependences.reset();
  }
}

}  // namespace neuron_sim
