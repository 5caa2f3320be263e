#pragma once
// A vector of few values, which need no memory of their own.

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>

namespace neuron_sim::tracing {

/// At most `Capacity` values; those beyond size() are not initialised. Nothing checks the capacity:
/// whoever appends to a vector that may be full asks is_full() first.
template <class Value, size_t Capacity>
class InplaceVector {
 public:
  InplaceVector() = default;
  InplaceVector(std::initializer_list<Value> values) : size_(values.size()) {
    std::copy(values.begin(), values.end(), begin());
  }
  InplaceVector(size_t size, const Value& value) { resize(size, value); }
  InplaceVector(const InplaceVector& other) : size_(other.size_) {
    std::copy_n(other.begin(), size_, begin());
  }
  InplaceVector& operator=(const InplaceVector& other) {
    size_ = other.size_;
    std::copy_n(other.begin(), size_, begin());
    return *this;
  }
  ~InplaceVector() = default;

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  bool is_full() const { return size_ == Capacity; }
  Value* begin() { return values_.data(); }
  Value* end() { return begin() + size_; }
  const Value* begin() const { return values_.data(); }
  const Value* end() const { return begin() + size_; }
  Value& operator[](size_t i) { return values_[i]; }
  const Value& operator[](size_t i) const { return values_[i]; }

  void push_back(const Value& value) { values_[size_++] = value; }
  void resize(size_t size, const Value& value) {
    if (size > size_) std::fill(begin() + size_, begin() + size, value);
    size_ = size;
  }
  void erase(Value* at) {
    std::copy(at + 1, end(), at);
    --size_;
  }
  bool operator==(const InplaceVector& other) const {
    return std::equal(begin(), end(), other.begin(), other.end());
  }

 private:
  size_t size_ = 0;
  std::array<Value, Capacity> values_;
};

}  // namespace neuron_sim::tracing
