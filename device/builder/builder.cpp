#include "device/builder/builder.h"

#include <algorithm>

#include "device/base/errors.h"
#include "device/builder/finish_program.h"
#include "device/builder/order_by_edges.h"

namespace neuron_sim {
namespace {

std::vector<int64_t> dense_strides(const std::vector<int64_t>& shape, int64_t element) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = element;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

int64_t product(const std::vector<int64_t>& shape, size_t first) {
  int64_t result = 1;
  for (size_t i = first; i < shape.size(); ++i) result *= shape[i];
  return result;
}

/// A dense HBM tensor; [elements] when it has no dimension or more than an access pattern.
View whole_tensor(TileId id, Dtype dtype, const std::vector<int64_t>& shape,
                  const std::string& label) {
  if (shape.empty() || shape.size() > static_cast<size_t>(kMaximumRank)) {
    return View(MemoryKind::kHbm, id, dtype, {product(shape, 0)}, {itemsize(dtype)}, label);
  }
  return View(MemoryKind::kHbm, id, dtype, shape, dense_strides(shape, itemsize(dtype)), label);
}

}  // namespace

Builder::Builder(std::string kernel, const Architecture& architecture, TilePlacement placement)
    : architecture_(architecture), program_(std::make_shared<Program>()), placement_(placement) {
  program_->kernel = std::move(kernel);
  program_->architecture = &architecture;
  add_core();
}

View Builder::argument(const std::string& label, const std::vector<int64_t>& shape, Dtype dtype,
                       const std::vector<int64_t>& strides) {
  const int64_t element = itemsize(dtype);
  std::vector<int64_t> byte_strides = dense_strides(shape, element);
  int64_t last = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!strides.empty()) byte_strides[i] = strides[i] * element;
    last += (std::max<int64_t>(shape[i], 1) - 1) * byte_strides[i];
  }
  Tile tile;
  tile.label = label;
  tile.memory = MemoryKind::kHbm;
  tile.dtype = dtype;
  tile.bytes = product(shape, 0) == 0 ? 0 : last + element;
  tile.argument = static_cast<int32_t>(program_->arguments.size());
  program_->arguments.push_back({label, dtype, shape, tile.bytes, false, false});
  program_->tiles.push_back(std::move(tile));
  const auto id = static_cast<TileId>(program_->tiles.size() - 1);
  if (strides.empty()) return whole_tensor(id, dtype, shape, label);
  return View(MemoryKind::kHbm, id, dtype, shape, byte_strides, label);
}

View Builder::constant(const std::string& label, const std::vector<int64_t>& shape, Dtype dtype,
                       std::vector<std::byte> contents) {
  Tile tile;
  tile.label = label;
  tile.memory = MemoryKind::kHbm;
  tile.dtype = dtype;
  tile.bytes = product(shape, 0) * itemsize(dtype);
  require(tile.bytes == static_cast<int64_t>(contents.size()), "constant has its shape's bytes");
  tile.constant = static_cast<int32_t>(program_->constants.size());
  program_->constants.push_back(std::move(contents));
  program_->tiles.push_back(std::move(tile));
  const auto id = static_cast<TileId>(program_->tiles.size() - 1);
  return whole_tensor(id, dtype, shape, label);
}

View Builder::scratch(const std::string& label, const std::vector<int64_t>& shape, Dtype dtype) {
  const auto id = static_cast<TileId>(program_->tiles.size());
  View view = whole_tensor(id, dtype, shape, label);
  Tile tile;
  tile.label = label;
  tile.memory = MemoryKind::kHbm;
  tile.dtype = dtype;
  tile.bytes = product(shape, 0) * itemsize(dtype);
  tile.scratch = static_cast<int32_t>(program_->scratch.size());
  program_->scratch.push_back(id);
  program_->tiles.push_back(std::move(tile));
  return view;
}

void Builder::check_tile(MemoryKind memory, const std::string& label,
                         const std::vector<int64_t>& shape, Dtype dtype) const {
  if (shape.size() < 2 || shape.size() > static_cast<size_t>(kMaximumRank)) {
    fail(text("tile '", label, "' has ", shape.size(), " dimensions; a tile has 2 to ",
              kMaximumRank, " (partition and free dimensions)."));
  }
  for (const int64_t size : shape) {
    if (size < 1) fail(text("tile '", label, "' has a dimension of size ", size, "."));
  }
  if (shape[0] > limits().partitions) {
    fail(text("number of partitions ", shape[0], " exceed architecture limitation of ",
              limits().partitions, ". (tile '", label, "' in ", name(memory), ", architecture ",
              architecture_.name, ")"));
  }
  const int64_t bytes = product(shape, 1) * itemsize(dtype);
  const int64_t largest_tile = memory == MemoryKind::kPsum
                                   ? limits().psum_bank.count * limits().psum_banks
                                   : limits().sbuf_usable.count;
  if (bytes > largest_tile) {
    fail(text("tile '", label, "' needs ", bytes, " bytes per partition, ", name(memory), " has ",
              largest_tile, " on ", architecture_.name, "."),
         ErrorKind::kOutOfMemory);
  }
}

View Builder::add_tile(MemoryKind memory, const std::string& label,
                       const std::vector<int64_t>& shape, Dtype dtype, int64_t address,
                       int start_partition, int ring, int64_t pitch) {
  const auto first = static_cast<TileId>(program_->tiles.size());
  for (int i = 0; i < ring; ++i) {
    Tile tile;
    tile.label = label;
    tile.memory = memory;
    tile.dtype = dtype;
    tile.start_partition = start_partition;
    tile.partitions = static_cast<int32_t>(shape[0]);
    tile.address = address + i * pitch;
    tile.bytes = product(shape, 1) * itemsize(dtype);
    tile.core = static_cast<uint8_t>(core_);
    program_->tiles.push_back(std::move(tile));
  }
  if (ring > 1) rings_[first] = {pitch, ring};
  if (memory == MemoryKind::kPsum) accumulation_.allocated(first, open_loops_.size());
  std::vector<int64_t> strides = dense_strides(shape, itemsize(dtype));
  strides[0] = 1;
  View whole(memory, first, dtype, shape, std::move(strides), label);
  if (ring > 1) return whole.in_ring(0, ring);
  return whole;
}

View Builder::allocate_tile(TileAllocator& allocator, MemoryKind memory, const std::string& label,
                            const std::vector<int64_t>& shape, Dtype dtype, int ring) {
  check_tile(memory, label, shape, dtype);
  require(ring >= 1, "a ring has at least one tile");
  const int64_t bytes = product(shape, 1) * itemsize(dtype);
  const int64_t pitch = allocator.pitch(bytes);
  if (placement_ == TilePlacement::kAutomatic) {
    View tile = add_tile(memory, label, shape, dtype, 0, 0, ring, pitch);
    unplaced_.push_back({tile.tile(), ring, pitch, loop_path(), source_line_});
    return tile;
  }
  const int64_t address = allocator.allocate(label, bytes, ring);
  allocated_.emplace_back(&allocator, address);
  return add_tile(memory, label, shape, dtype, address, 0, ring, pitch);
}

View Builder::sbuf(const std::string& label, const std::vector<int64_t>& shape, Dtype dtype,
                   int ring) {
  return allocate_tile(here().sbuf, MemoryKind::kSbuf, label, shape, dtype, ring);
}

View Builder::psum(const std::string& label, const std::vector<int64_t>& shape, Dtype dtype,
                   int ring) {
  return allocate_tile(here().psum, MemoryKind::kPsum, label, shape, dtype, ring);
}

View Builder::place(MemoryKind memory, const std::string& label, const std::vector<int64_t>& shape,
                    Dtype dtype, int64_t address, int start_partition, int ring) {
  check_tile(memory, label, shape, dtype);
  const bool in_psum = memory == MemoryKind::kPsum;
  const int64_t bytes = product(shape, 1) * itemsize(dtype);
  const TileAllocator& allocator = in_psum ? here().psum : here().sbuf;
  const int64_t pitch = in_psum ? allocator.pitch(bytes) : bytes;
  allocator.check_direct(label, address, pitch, ring);
  if (start_partition < 0 || start_partition + shape[0] > limits().partitions) {
    fail(text("direct allocation of '", label, "': partitions [", start_partition, ", ",
              start_partition + shape[0], ") exceed architecture limitation of ",
              limits().partitions, "."));
  }
  View tile = add_tile(memory, label, shape, dtype, address, start_partition, ring, pitch);
  const auto first = static_cast<size_t>(tile.tile());
  for (size_t i = 0; i < static_cast<size_t>(ring); ++i) program_->tiles[first + i].placed = true;
  return tile;
}

int Builder::allocate_register() {
  int& next = here().next_register;
  if (next >= limits().registers) {
    fail(text("kernel '", program_->kernel, "' allocates more than the ", limits().registers,
              " registers of a sequencer on ", architecture_.name, "."),
         ErrorKind::kOutOfMemory);
  }
  return next++;
}

std::shared_ptr<const Program> Builder::finish(Overflow overflow) {
  if (!frames_.empty()) {
    const bool loop = frames_.back().kind == Frame::Kind::kLoop;
    fail(text("kernel '", program_->kernel, "' ends inside ", describe(frames_.back()),
              loop ? "; a counted loop is left at the end of its body only." : "."));
  }
  for (const auto& core : cores_) {
    program_->sbuf_peak = std::max(program_->sbuf_peak, core->sbuf.peak());
    program_->psum_peak = std::max(program_->psum_peak, core->psum.peak());
  }
  order_by_edges(*program_);
  place_tiles(*program_, unplaced_, overflow);
  finish_program(*program_);
  return std::move(program_);
}

}  // namespace neuron_sim
