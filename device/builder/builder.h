#pragma once
// Builds a Program: cores, tensors, tiles, counted loops, registers and instructions. Everything is
// checked when it is emitted; a failed emit leaves the builder as it was.

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/analysis/place_tiles.h"
#include "device/builder/accumulation.h"
#include "device/memory/tile_allocator.h"
#include "device/program/program.h"

namespace neuron_sim {

/// When tiles of sbuf() and psum() get their addresses.
enum class TilePlacement : uint8_t {
  kScoped,     ///< when they are allocated, first fit; their scope's end releases them
  kAutomatic,  ///< by finish(), from their lifetimes (place_tiles.h); scopes release nothing
};

/// Vocabulary of NKI: allocate a tile, load, compute, store, loop.
class Builder {
 public:
  Builder(std::string kernel, const Architecture& architecture,
          TilePlacement placement = TilePlacement::kScoped);
  Builder(Builder&&) = default;
  Builder(const Builder&) = delete;

  const Architecture& architecture() const { return architecture_; }
  const Limits& limits() const { return architecture_.limits; }

  /// The next argument of the kernel: an HBM tensor; strides in elements. Dense when empty. A dense
  /// tensor without dimensions, or with more than an access pattern has, becomes [elements].
  View argument(const std::string& label, const std::vector<int64_t>& shape, Dtype dtype,
                const std::vector<int64_t>& strides = {});
  /// An HBM tensor with contents that belong to the program (dense).
  View constant(const std::string& label, const std::vector<int64_t>& shape, Dtype dtype,
                std::vector<std::byte> contents);

  /// An HBM tensor private to the kernel (dense) that lives as long as a run: intermediate results.
  /// Unwritten bytes read like fresh on-chip memory: NaN in floats, 4 in integers.
  View scratch(const std::string& label, const std::vector<int64_t>& shape, Dtype dtype);

  /// Tile [partitions, free...] in SBUF, `ring` of them; use `tile.turn(index)` in loops.
  View sbuf(const std::string& label, const std::vector<int64_t>& shape, Dtype dtype, int ring = 1);
  /// Tile [partitions, free...] in PSUM, `ring` of them; every tile starts at a bank.
  View psum(const std::string& label, const std::vector<int64_t>& shape,
            Dtype dtype = Dtype::kFloat32, int ring = 1);
  /// Direct and modulo allocation: tile i lies at address + (i mod ring) * bytes per partition;
  /// PSUM: ring tiles follow in whole banks. May overlap other tiles: then they serialise.
  View place(MemoryKind memory, const std::string& label, const std::vector<int64_t>& shape,
             Dtype dtype, int64_t address, int start_partition = 0, int ring = 1);

  /// Tiles allocated inside `body` are released at its end.
  void scope(const std::function<void()>& body);
  /// Emits a counted loop; `body` gets its variable (0 .. trip_count - 1). Opens a scope. Nothing
  /// is emitted when trip_count is 0; a single iteration is emitted without a loop.
  void loop(int64_t trip_count, const std::function<void(Affine)>& body);
  /// Emits a loop whose trip count is in a register of `engine`, at most `bound`.
  void loop_register(EngineKind engine, int register_index, int64_t bound,
                     const std::function<void(Affine)>& body);
  /// What `body` emits belongs to that core of the logical core: its block, SBUF, PSUM, registers
  /// and engine states; HBM tensors are shared. Outside any core() everything belongs to core 0. A
  /// core may be opened again; its tiles live until the scope around core() ends. KernelError
  /// inside a loop, inside another core(), and for more cores than limits.logical_cores.
  void core(int index, const std::function<void()>& body);

  /// Loops, scopes and cores for front ends whose bodies are not functions: each open needs its
  /// close, the innermost first (KernelError otherwise, and by finish() when one is missing). The
  /// variable of a loop of one trip is the constant 0; a loop of no trips cannot be opened.
  Affine open_loop(int64_t trip_count);
  Affine open_loop_register(EngineKind engine, int register_index, int64_t bound);
  void close_loop();
  /// A loop whose trip count is known only at run time. Its variable is a register that the loop
  /// writes; registers of these loops are virtual: instructions that write them name no engine.
  /// open_range: the register runs from `start` to `stop` (exclusive) in steps of `step` > 0.
  void open_range(int register_index, const RegisterValue& start, const RegisterValue& stop,
                  int64_t step);
  /// Runs while the register is not zero, tested before each iteration.
  void open_while(int register_index);
  void open_scope();
  void close_scope();
  void open_core(int index);
  void close_core();

  /// Values that an index takes over the trips of the open loops.
  struct Bounds {
    int64_t smallest, largest;
  };
  /// KernelError when `index` uses the variable of a loop that is closed.
  Bounds bounds(const Affine& index) const;

  /// A fresh register of the sequencers of the core.
  int allocate_register();

  /// Chooses the engine, checks and appends.
  template <typename Instruction>
  void emit(const Instruction& instruction) {
    append(instruction.draft());
  }
  void append(Draft draft);
  /// The views of an instruction, and those of its repetition.
  struct Substitute {
    const View* before;
    const View* now;
  };
  /// Appends instruction `number` again, at the source line and in the core and loop that it was
  /// emitted in. Its views are replaced by others of the same sizes, so its checks still hold and
  /// are skipped. Returns false, and appends nothing, where only append() can decide. `has_mode`:
  /// it was emitted without accumulate=None.
  bool repeat(uint32_t number, std::span<const Substitute> views, bool has_mode);
  /// Instructions emitted so far; the next one gets this number.
  size_t instruction_count() const { return program_->instructions.size(); }
  /// `consumer` waits for `producer`. With automatic placement finish() moves a consumer that comes
  /// before it (order_by_edges.h). KernelError when either does not exist, when they are on
  /// different cores, when the consumer cannot be moved, and for an edge into or out of a loop on
  /// chip: the producer's loops must enclose the consumer too.
  void add_edge(size_t consumer, size_t producer);
  /// The program so far, and what to call after each instruction that is appended to it.
  std::shared_ptr<const Program> program() const { return program_; }
  void observe(std::function<void()> appended) { appended_ = std::move(appended); }
  /// The user's source line of the instructions that follow (empty: none).
  void set_source_line(const std::string& line);

  /// Ends the kernel: hazard groups, widened tiles, loop periods. The builder is spent afterwards.
  /// `overflow`: of tiles without addresses, with automatic placement.
  std::shared_ptr<const Program> finish(Overflow overflow = Overflow::kRefused);

 private:
  struct OpenLoop {
    uint32_t loop;
    int64_t bound;
  };
  /// An open scope, loop or core, outermost first.
  struct Frame {
    enum class Kind : uint8_t { kScope, kLoop, kCore } kind;
    size_t allocated;      ///< tiles before it
    bool counted = false;  ///< a loop of the program, not one of a single trip
    int64_t trips = 1;     ///< of a loop, at most
    int32_t source_line = -1;
  };
  struct Ring {
    int64_t pitch;
    int count;
  };
  /// Per-core state.
  struct Core {
    explicit Core(const Architecture& architecture);
    TileAllocator sbuf, psum;
    int next_register = 0;
    TileId first_state = 0;  ///< tile of the first EngineState
  };
  void add_core();
  Core& here() { return *cores_[static_cast<size_t>(core_)]; }
  const Core& here() const { return *cores_[static_cast<size_t>(core_)]; }
  /// The tile of a view; a view of an engine state names that of the current core.
  TileId tile_of(const View& view) const;
  void check_core(const Draft& draft, int index) const;
  View add_tile(MemoryKind memory, const std::string& label, const std::vector<int64_t>& shape,
                Dtype dtype, int64_t address, int start_partition, int ring, int64_t pitch);
  View allocate_tile(TileAllocator& allocator, MemoryKind memory, const std::string& label,
                     const std::vector<int64_t>& shape, Dtype dtype, int ring);
  void check_tile(MemoryKind memory, const std::string& label, const std::vector<int64_t>& shape,
                  Dtype dtype) const;
  Affine push_loop(Loop loop);
  void check_register(const char* what, int64_t register_index) const;
  void push_frame(Frame::Kind kind, int64_t trips, bool counted);
  void pop_frame();
  void close(Frame::Kind kind);
  std::string describe(const Frame& frame) const;
  /// Runs `body` inside the frame just opened; closes it and, after an error, everything inside it.
  void run_body(Frame::Kind kind, const std::function<void()>& body);
  Operand store_operand(const Draft& draft, const InstructionType& type, int index);
  void add_terms(const View& view, Operand& operand);
  bool repeats_sum(const Instruction& earlier, std::span<const Substitute> views, bool has_mode);
  void check_addressing(const View& view) const;
  void check_bounds(const Draft& draft, int index) const;
  int64_t smallest(const Affine& affine) const;
  int64_t largest(const Affine& affine) const;
  uint32_t store_demand(const Demand& demand);
  /// The innermost open loop; -1 none.
  int32_t innermost_loop() const {
    return open_loops_.empty() ? -1 : static_cast<int32_t>(open_loops_.back().loop);
  }
  /// Reserves memory for that many more operands, four times as much where there are many: each
  /// move to larger memory touches all of its pages again, while unused pages cost nothing.
  void make_room(size_t count);
  /// Adds an instruction whose operands, attributes and demand are stored to the open block.
  void push(const Instruction& instruction);
  Block& block();
  std::vector<uint32_t> loop_path() const;

  const Architecture& architecture_;
  std::shared_ptr<Program> program_;
  std::vector<std::unique_ptr<Core>> cores_;
  int core_ = 0;
  bool in_core_ = false;
  std::vector<Frame> frames_;
  std::vector<std::pair<TileAllocator*, int64_t>> allocated_;  // to release at scope ends
  std::vector<OpenLoop> open_loops_;
  std::vector<int32_t> loop_of_;    // per instruction: the innermost loop around it; -1 none
  std::vector<int32_t> parent_of_;  // per loop: the loop around it
  std::map<TileId, Ring> rings_;    // by first tile
  TilePlacement placement_;
  std::vector<UnplacedTile> unplaced_;
  AccumulationGroups accumulation_;
  std::unordered_map<std::string, int32_t> source_lines_;  // indices of Program::source_lines
  int32_t source_line_ = -1;
  std::function<void()> appended_;
};

}  // namespace neuron_sim
