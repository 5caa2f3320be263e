#pragma once
// The wire format of protocol buffers, as far as a writer of traces needs it:
// https://protobuf.dev/programming-guides/encoding/

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace neuron_sim {

/// A message under construction: fields in the order in which they are added.
class ProtobufMessage {
 public:
  void integer(int field, uint64_t value) {
    varint(static_cast<uint64_t>(field) << 3U);
    varint(value);
  }
  void fixed(int field, uint64_t value) {
    varint((static_cast<uint64_t>(field) << 3U) | 1U);
    for (unsigned shift = 0; shift < 64; shift += 8) {
      bytes_.push_back(static_cast<char>((value >> shift) & 0xFFU));
    }
  }
  void number(int field, double value) { fixed(field, std::bit_cast<uint64_t>(value)); }
  void string(int field, std::string_view value) {
    varint((static_cast<uint64_t>(field) << 3U) | 2U);
    varint(value.size());
    bytes_ += value;
  }
  void message(int field, const ProtobufMessage& value) { string(field, value.bytes_); }
  /// Fields that were encoded before.
  void append(std::string_view encoded) { bytes_ += encoded; }
  void clear() { bytes_.clear(); }
  const std::string& bytes() const { return bytes_; }

 private:
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7U) {
      bytes_.push_back(static_cast<char>((value & 0x7FU) | 0x80U));
    }
    bytes_.push_back(static_cast<char>(value));
  }

  std::string bytes_;
};

}  // namespace neuron_sim
