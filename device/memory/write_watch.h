#pragma once
// Which bytes of HBM were written: so that what was computed from a constant need not read it again
// to see that it is unchanged.

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace neuron_sim {

/// Host addresses [begin, end) of bytes.
struct HostBytes {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
  bool operator==(const HostBytes&) const = default;
  bool overlaps(const HostBytes& other) const { return begin < other.end && other.begin < end; }
};

/// Watches bytes while it lives. Thread safe, like all functions here.
class WriteWatch {
 public:
  explicit WriteWatch(const HostBytes& bytes);
  WriteWatch(const WriteWatch&) = delete;
  ~WriteWatch();

  const HostBytes& bytes() const { return bytes_; }
  /// Whether they may have been written since the last call (true for the first), or may be at any
  /// time because an OpenForWriting holds them.
  bool take_written();

 private:
  friend void note_write(const HostBytes& bytes);
  HostBytes bytes_;
  std::atomic<bool> written_ = true;
};

/// Reports that these bytes were written. To be called after the write: a reader that looks between
/// the two must look again. Nearly free while nothing is watched.
void note_write(const HostBytes& bytes);

/// Bytes that code without note_write() may write while this lives, such as CPU kernels.
class OpenForWriting {
 public:
  explicit OpenForWriting(const HostBytes& bytes);
  OpenForWriting(const OpenForWriting&) = delete;
  ~OpenForWriting();

 private:
  HostBytes bytes_;
};

}  // namespace neuron_sim
