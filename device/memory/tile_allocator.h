#pragma once
// Places tiles in SBUF or PSUM while a kernel is built. Automatic placement is first fit; direct
// placement is for those who place tiles by hand and may overlap anything.

#include <cstdint>
#include <map>
#include <string>

#include "device/arch/architecture.h"
#include "device/operand/view.h"

namespace neuron_sim {

/// Byte ranges per partition of one memory. A tile occupies its bytes in every partition.
class TileAllocator {
 public:
  /// `memory` is kSbuf (limits.sbuf_usable bytes, 64-byte steps) or kPsum (whole banks).
  TileAllocator(MemoryKind memory, const Architecture& architecture);

  /// Address of `count` consecutive tiles of `bytes` bytes per partition (each a whole number of
  /// allocation steps). KernelError(kOutOfMemory) lists the live tiles when they do not fit.
  int64_t allocate(const std::string& label, int64_t bytes, int64_t count);
  /// Returns the bytes of an automatic tile.
  void release(int64_t address);
  /// Bytes from tile to tile of a ring.
  int64_t pitch(int64_t bytes) const;
  /// Checks a direct placement: inside the memory, and a bank start in PSUM.
  void check_direct(const std::string& label, int64_t address, int64_t bytes, int64_t count) const;

  int64_t capacity() const { return capacity_; }
  int64_t peak() const { return peak_; }
  int64_t used() const;

 private:
  struct Live {
    int64_t bytes;
    std::string label;
  };
  std::string live_tiles() const;

  MemoryKind memory_;
  const Architecture& architecture_;
  int64_t capacity_;
  int64_t step_;
  int64_t peak_ = 0;
  std::map<int64_t, Live> live_;  // by address
};

}  // namespace neuron_sim
