#pragma once
// Reuses the HBM of one device as PyTorch's CUDA allocator does: what a program has used stays
// reserved, in segments that are split into blocks and merged again.

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>

#include "device/base/units.h"
#include "device/memory/hbm.h"
#include "device/memory/memory_recorder.h"

namespace neuron_sim {

/// What a device's memory is used for. Bytes; a block is what one tensor's storage has.
struct MemoryStatistics {
  HbmCounter blocks;           ///< handed out
  HbmCounter active_blocks;    ///< and those freed that another stream still uses
  HbmCounter segments;         ///< taken from HBM
  HbmCounter bytes;            ///< of handed out blocks, each a multiple of 512
  HbmCounter active_bytes;     ///< of active blocks
  HbmCounter reserved_bytes;   ///< of segments
  HbmCounter requested_bytes;  ///< of handed out blocks before rounding
  int64_t retries = 0;         ///< allocations that had to give back cached segments first
  int64_t failures = 0;        ///< out of memory
  int64_t split_blocks = 0, split_bytes = 0;  ///< free parts of segments that are in use
  Bytes limit{};                              ///< HBM of the device
};

/// The caching allocator of one device. A block is reused by its own stream at once (a stream runs
/// in order) and by no other; one that another stream has used too (record_use) when that stream
/// has finished what it had been given when the block was freed. Time is simulated. Thread safe.
class CachingAllocator {
 public:
  using StreamId = int64_t;
  static constexpr int64_t kRounding = 512;
  static constexpr int64_t kSmallBlock = int64_t{1} << 20;  ///< these share small segments
  static constexpr int64_t kSmallSegment = int64_t{2} << 20;
  static constexpr int64_t kLargeSegment = int64_t{20} << 20;  ///< for blocks below half of it
  static constexpr int64_t kSegmentRounding = int64_t{2} << 20;

  /// Where the program stands in simulated time, and how it waits until a later time.
  struct Clock {
    std::function<Picoseconds()> now;
    std::function<void(Picoseconds)> wait_until;
  };
  /// The end of everything that a stream has been given.
  using EndOfStream = std::function<Picoseconds(StreamId)>;

  /// `hbm` must outlive the allocator.
  CachingAllocator(Hbm& hbm, int device, Clock clock, EndOfStream end_of_stream);

  /// A device pointer to `bytes` bytes for work on `stream`; nullptr for none. When HBM is full
  /// the program waits for other streams' uses and cached segments are given back. KernelError
  /// (kOutOfMemory) with a summary of the memory when that does not help.
  void* allocate(Bytes bytes, StreamId stream);
  /// Frees what allocate returned; nullptr is allowed, anything else is a SimulatorBug.
  void free(void* pointer);
  /// The block of `pointer` (one of allocate) is used by work on `stream`, too.
  void record_use(const void* pointer, StreamId stream);
  /// Gives segments without blocks back to HBM. Waits for other streams' uses.
  void release_cached();

  MemoryStatistics statistics();
  /// All segments, by address.
  std::vector<MemorySegment> segments();
  /// Tells `recorder` what happens from now on; nullptr: nobody. It must live for ever.
  void set_recorder(MemoryRecorder* recorder) { recorder_ = recorder; }
  void reset_peak();
  void reset_accumulated();

  void lock_for_fork() { mutex_.lock(); }
  void unlock_after_fork() { mutex_.unlock(); }

 private:
  struct Block;
  struct ByStreamAndSize {
    bool operator()(const Block* left, const Block* right) const;
  };
  using Pool = std::set<Block*, ByStreamAndSize>;
  using Used = std::multimap<Picoseconds, Block*>;
  struct Block {
    std::byte* start = nullptr;
    int64_t size = 0, requested = 0;
    StreamId stream = 0;
    bool free = true;
    std::set<StreamId> users;                    ///< streams beside its own
    Block *previous = nullptr, *next = nullptr;  ///< in the segment
    Pool* pool = nullptr;                        ///< where it goes when it is free
    /// Its places in a pool and in used_ while it is not there: what frees it allocates nothing,
    /// because it is called by destructors.
    Pool::node_type in_pool;
    Used::node_type in_used;
  };

  /// Small blocks have their own segments: one that lives long does not hold a large segment.
  Pool& pool_for(int64_t size) { return size <= kSmallBlock ? small_ : large_; }
  static std::unique_ptr<Block> made_block();
  static Block* taken(Pool& pool, Pool::iterator position);
  Block* take_recent(int64_t size, StreamId stream);
  void settle();
  Block* find_free(int64_t size, StreamId stream);
  Block* new_segment(int64_t size, Pool& pool, StreamId stream);
  Block* reserve(int64_t bytes, int64_t size, StreamId stream);
  void split(Block* block, int64_t size);
  void give_to_pool(Block* block);
  void merge(Block* block, Block* neighbour);
  void reclaim(Picoseconds now);
  void release_segments();
  void wait_for_users();
  void count_active(const Block& block, bool active);
  void prepare_record() const;
  void record(MemoryAction action, const void* address, int64_t size, StreamId stream) const;
  [[noreturn]] void fail_out_of_memory(int64_t bytes, StreamId stream);

  Hbm& hbm_;
  int device_;
  Clock clock_;
  EndOfStream end_of_stream_;
  std::mutex mutex_;
  std::unordered_map<const void*, std::unique_ptr<Block>> blocks_;  ///< all, by start
  Pool small_, large_;
  /// The block that was freed last, free but in no pool: the next one often has its size.
  Block* recent_ = nullptr;
  Used used_;  ///< freed, but used by another stream until then
  MemoryStatistics statistics_;
  std::atomic<MemoryRecorder*> recorder_{nullptr};
};

}  // namespace neuron_sim
