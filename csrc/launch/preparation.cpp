#include "csrc/launch/preparation.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "csrc/runtime/runtime.h"
#include "device/runtime/devices.h"
#include "device/runtime/launch.h"
#include "device/runtime/timing_only.h"

namespace neuron_sim {
namespace {

/// A hash of bytes that differs when any one word does; four chains, so that memory is the limit.
uint64_t fingerprint(const HostBytes& bytes) {
  const std::byte *begin = bytes.begin, *const end = bytes.end;
  constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15;  // odd, so that multiplying loses nothing
  std::array<uint64_t, 4> chains{1, 2, 3, 4};
  std::array<uint64_t, 4> words{};
  const auto mix = [&] {
    for (size_t i = 0; i < chains.size(); ++i) {
      const uint64_t mixed = (chains[i] ^ words[i]) * kMultiplier;
      chains[i] = mixed ^ (mixed >> 32);
    }
  };
  for (; end - begin >= static_cast<std::ptrdiff_t>(sizeof words); begin += sizeof words) {
    std::memcpy(words.data(), begin, sizeof words);
    mix();
  }
  words.fill(0);
  std::memcpy(words.data(), begin, static_cast<size_t>(end - begin));
  mix();
  uint64_t result = 0;
  for (const uint64_t chain : chains) result = (result ^ chain) * kMultiplier;
  return result;
}

/// A CPU tensor over the elements of `tensor`, one of each that is repeated.
at::Tensor elements_of(const GraphTensor& tensor, std::byte* memory) {
  std::vector<int64_t> sizes = tensor.shape;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (tensor.strides[i] == 0) sizes[i] = 1;
  }
  const int size = itemsize(tensor.dtype);
  const at::ScalarType type = size == 1 ? at::kByte : size == 2 ? at::kShort : at::kInt;
  return at::from_blob(memory + tensor.byte_offset, sizes, tensor.strides, at::dtype(type));
}

}  // namespace

void Preparation::read(const std::vector<GraphTensor>& constants, Addresses address) {
  for (const GraphTensor& constant : constants) {
    const Range range{constant.memory, constant.byte_offset, constant.end()};
    if (std::find(constants_.begin(), constants_.end(), range) != constants_.end()) continue;
    constants_.push_back(range);
    if (timing_only()) continue;
    fingerprints_.push_back(fingerprint(range.at(address(range.memory))));
  }
}

void Preparation::make(size_t memory, const c10::Storage& storage) { (*made_)[memory] = storage; }

void Preparation::run(const std::shared_ptr<const Kernel>& kernel,
                      const std::vector<GraphArgument>& arguments, Addresses address) {
  steps_.emplace_back(Computation{kernel, arguments});
  perform(steps_.back(), address);
}

void Preparation::run(const ArrangedConstant& constant, Addresses address) {
  steps_.emplace_back(constant);
  perform(steps_.back(), address);
}

void Preparation::perform(const Step& step, Addresses address) const {
  if (timing_only()) return;
  if (const auto* arranged = std::get_if<ArrangedConstant>(&step)) {
    const at::AutoDispatchBelowADInplaceOrView no_autograd;
    const at::Tensor source = elements_of(arranged->source, address(arranged->source.memory));
    elements_of(arranged->arranged, address(arranged->arranged.memory)).copy_(source);
    return;
  }
  const auto& computation = std::get<Computation>(step);
  std::vector<std::byte*> addresses;
  for (const GraphArgument& argument : computation.arguments) {
    addresses.push_back(address(argument.memory) + argument.byte_offset);
  }
  compute(device_.index(), computation.kernel, addresses);
}

bool Preparation::take_written(size_t i, const HostBytes& bytes) const {
  std::unique_ptr<WriteWatch>& watch = watches_[i];
  if (watch == nullptr || watch->bytes() != bytes) watch = std::make_unique<WriteWatch>(bytes);
  return watch->take_written();
}

std::shared_ptr<const Preparation::Storages> Preparation::contents(Addresses address) const {
  const std::lock_guard lock(mutex_);
  if (timing_only()) return made_;
  std::vector<uint64_t> found = fingerprints_;
  watches_.resize(constants_.size());
  for (size_t i = 0; i < constants_.size(); ++i) {
    const HostBytes bytes = constants_[i].at(address(constants_[i].memory));
    if (take_written(i, bytes)) found[i] = fingerprint(bytes);
  }
  if (found == fingerprints_) return made_;
  const auto made = std::make_shared<Storages>();
  for (const auto& [memory, storage] : *made_) {
    const auto options = at::TensorOptions().dtype(at::kByte).device(device_);
    const auto bytes = static_cast<int64_t>(storage.nbytes());
    (*made)[memory] = at::empty({bytes}, options).storage();
  }
  const auto place = [&](size_t memory) {
    const auto at = made->find(memory);
    if (at == made->end()) return address(memory);
    return static_cast<std::byte*>(hbm().backing(at->second.mutable_data()));
  };
  for (const Step& step : steps_) perform(step, place);
  made_ = made;
  fingerprints_ = std::move(found);
  return made_;
}

}  // namespace neuron_sim
