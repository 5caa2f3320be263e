#pragma once
// A View is an access pattern on a tile or an HBM tensor: the operand of an instruction.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "device/base/bounds.h"
#include "device/numerics/dtype.h"
#include "device/operand/affine.h"

namespace neuron_sim {

enum class MemoryKind : uint8_t {
  kNone,         ///< an absent optional operand
  kHbm,          ///< device memory; reached by DMA only
  kSbuf,         ///< state buffer
  kPsum,         ///< partial sum buffer
  kAccumulator,  ///< reduction registers of the Scalar and Vector engines (EngineState)
  kRandomState,  ///< random number state of the Vector and GpSimd engines (EngineState)
};
/// "hbm", "sbuf", "psum", as the vendor's error texts name them.
const char* name(MemoryKind memory);

/// Index of a tile (SBUF, PSUM) or HBM tensor in its Program.
using TileId = int32_t;
inline constexpr TileId kNoTile = -1;

struct Dimension {
  int64_t size = 1;
  int64_t stride = 0;  ///< bytes; for dimension 0 on chip: partitions (0 broadcasts, else 1)
};

/// [partitions, free...] elements of `dtype`. On chip dimension 0 counts partitions; in HBM it is
/// an ordinary strided dimension. All methods return a new View and check bounds (KernelError).
class View {
 public:
  View();  ///< an absent operand
  /// The whole of a tile or tensor: dense free dimensions (on chip), or given strides (HBM).
  View(MemoryKind memory, TileId tile, Dtype dtype, std::vector<int64_t> shape,
       std::vector<int64_t> strides, std::string label);
  // Out of line: a View is large, and nearly every file of device/, ops/ and csrc/ copies some.
  View(const View&);
  View(View&&) noexcept;
  View& operator=(const View&);
  View& operator=(View&&) noexcept;
  ~View();

  bool present() const { return memory_ != MemoryKind::kNone; }
  MemoryKind memory() const { return memory_; }
  Dtype dtype() const { return dtype_; }
  TileId tile() const { return tile_; }
  int ring() const { return ring_; }
  const Affine& ring_index() const { return ring_index_; }
  const Affine& partition() const { return partition_; }  ///< first partition (on chip)
  const Affine& offset() const { return offset_; }        ///< bytes from the start of the tile
  int rank() const { return rank_; }
  const Dimension& dimension(int index) const { return dimensions_[static_cast<size_t>(index)]; }
  int64_t size(int index) const { return dimension(index).size; }
  std::vector<int64_t> shape() const;
  int64_t partitions() const { return rank_ == 0 ? 0 : dimensions_[0].size; }
  /// Elements per partition (product of the free dimensions).
  int64_t free_elements() const;
  const std::string& label() const { return label_; }
  /// `a_tile[128, 512]`, the form the vendor's messages use.
  std::string describe() const;

  /// Elements start, start + step, ... (`size` of them) of one dimension; start may use loop
  /// variables. The partition dimension on chip has step 1.
  View slice(int dimension, const Affine& start, int64_t size, int64_t step = 1) const;
  /// One index of a dimension, which disappears (not dimension 0 on chip).
  View select(int dimension, const Affine& index) const;
  /// A dimension of size 1 repeated `size` times (stride 0).
  View broadcast(int dimension, int64_t size) const;
  /// Splits a dimension into [outer, inner].
  View split(int dimension, int64_t outer, int64_t inner) const;
  /// Merges dimensions first and first+1; their strides must allow it.
  View merge(int first) const;
  /// A new dimension of size 1 before `dimension`.
  View expand(int dimension) const;
  /// Dimensions reordered; on chip dimension 0 must stay.
  View permute(const std::vector<int>& order) const;
  /// All free dimensions merged as far as strides allow; [P, F] when dense.
  View flatten() const;
  /// The bytes as elements of another dtype. When its size differs, the last dimension (not the
  /// partition dimension) is contiguous and scales; its bytes, and all strides and offsets, are
  /// whole elements of the new dtype.
  View reinterpret(Dtype dtype) const;
  /// Any pattern on the storage of this view: the whole tile (of a ring: the same one) or tensor.
  /// `dimensions`: sizes, and steps in elements of the view's dtype, not negative; dimension 0 on
  /// chip counts partitions, with step 1 or 0. `offset`: first element (on chip: within the
  /// partitions); `partition`: the first one (on chip). Constants are checked here, loop variables
  /// by the Builder.
  View pattern(const std::vector<Dimension>& dimensions, const Affine& offset,
               const Affine& partition = 0) const;
  /// The arguments of pattern() for this view: steps and offset in elements.
  std::vector<int64_t> element_strides() const;
  Affine element_offset() const;
  /// Elements of the storage, on chip per partition.
  int64_t storage_elements() const;
  /// Partitions of the storage; 1 in HBM.
  int64_t storage_partitions() const { return storage_partitions_; }
  /// This view moved by that many partitions (on chip) and bytes; bounds are not checked.
  View moved_by(int64_t partitions, int64_t bytes) const;

  /// Use the tile `index mod count` of the ring of `count` tiles starting at this one.
  View in_ring(const Affine& index, int count) const;
  /// The tile `index` (modulo the ring's size) of a ring that the builder allocated.
  View turn(const Affine& index) const { return in_ring(index, ring_); }
  /// Adds register * scale bytes to the address, at run time. Bounds are checked at run time.
  View at_register(int register_index, int64_t scale) const;
  int register_index() const { return register_; }
  int64_t register_scale() const { return register_scale_; }
  /// Dimension 0 of this HBM view is addressed by the index tile operand of the instruction:
  /// row p of the operand is row index[p] of the tensor, whose dimension 0 has `rows` rows.
  View indirect(int64_t rows) const;
  /// An indirect view of `partitions` rows, which may be more than the tensor has.
  View indirect(int64_t rows, int64_t partitions) const;
  bool is_indirect() const { return index_rows_ >= 0; }
  int64_t index_rows() const { return index_rows_; }

 private:
  void check_dimension(int dimension, const char* what) const;
  bool is_on_chip() const { return memory_ != MemoryKind::kHbm; }
  void check_pattern(const std::vector<Dimension>& dimensions, const Affine& offset,
                     const Affine& partition) const;
  bool scales_to(int64_t bytes) const;

  MemoryKind memory_ = MemoryKind::kNone;
  Dtype dtype_ = Dtype::kFloat32;
  TileId tile_ = kNoTile;
  int ring_ = 1;
  int rank_ = 0;
  int register_ = -1;
  int64_t register_scale_ = 0;
  int64_t index_rows_ = -1;
  int64_t storage_bytes_ = 0;  ///< on chip per partition
  int64_t storage_partitions_ = 1;
  Affine ring_index_, partition_, offset_;
  std::array<Dimension, kMaximumRank + 1> dimensions_{};
  std::string label_;
};

}  // namespace neuron_sim
