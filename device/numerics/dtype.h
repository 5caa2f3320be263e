#pragma once
// The element types of a NeuronCore and their conversions.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace neuron_sim {

/// Element types a NeuronCore memory can hold. float8_e4m3 is the IEEE-like one of generations
/// 2 and 3 (bias 7, has infinities, largest finite 240); float8_e4m3fn is the OCP one of generation
/// 4 (no infinities, largest 448).
///
/// The packed dtypes hold four values in one element, as one element of an access pattern: their
/// itemsize is that of all four, and a view of n elements has 4 n values. Value j of an fp8 one is
/// byte j, value j of float4_e2m1fn_x4 are bits 4 j to 4 j + 3 of the little-endian 16-bit word
/// (the order of the nibbles is assumed). Only instructions that name them compute with them
/// (device/numerics/packed.h); others move them bit by bit.
enum class Dtype : uint8_t {
  kBool,  ///< one byte, 0 or 1
  kInt8,
  kInt16,
  kInt32,
  kUint8,
  kUint16,
  kUint32,
  kFloat8E4m3,
  kFloat8E5m2,
  kFloat16,
  kBfloat16,
  kTfloat32,  ///< stored in four bytes; 10 mantissa bits are kept
  kFloat32,
  kFloat8E4m3fn,
  kFloat8E8m0fnu,  ///< a power of two, the scale of a group of values; no zero and no sign
  kFloat8E5m2X4,
  kFloat8E4m3fnX4,
  kFloat4E2m1fnX4
};
inline constexpr int kDtypeCount = 18;

/// Bytes of one element in memory.
int itemsize(Dtype dtype);
/// The vendor's name: "bool_", "int8", ..., "float8_e4m3", "bfloat16", "tfloat32", "float32".
std::string_view name(Dtype dtype);
/// The dtype of that name; also accepts "bool". Empty when unknown.
std::optional<Dtype> parse_dtype(std::string_view name);
bool is_float(Dtype dtype);
bool is_integer(Dtype dtype);  ///< integers and bool
bool is_packed(Dtype dtype);   ///< four values per element; neither is_float nor is_integer
/// True for the floating types narrower than fp32 that TensorE widens exactly (fp8, fp16, bf16).
bool is_low_precision(Dtype dtype);

/// Widens `count` elements of `dtype`, `stride` bytes apart, to fp32. int32 and uint32 beyond 2^24
/// round to nearest even, as the engines do. tf32 drops its 13 low mantissa bits (they are zero
/// when it was stored through store_floats). A packed dtype is a KernelError (kType), here and in
/// store_floats: it has no single value.
void load_floats(const std::byte* source, Dtype dtype, int64_t stride, float* target,
                 int64_t count);

/// Rounds `count` fp32 values once, to nearest even, into elements of `dtype`, `stride` bytes
/// apart. Floats: overflow becomes infinity (e4m3 and e5m2 too; NaN in e4m3fn, which has none), NaN
/// stays NaN. e8m0fnu: the nearest power of two, halfway to the larger; zero and negative numbers
/// become NaN. Integers: round to nearest even, saturate; NaN becomes 0. bool: 0 stays 0, anything
/// else (NaN too) becomes 1.
void store_floats(const float* source, std::byte* target, Dtype dtype, int64_t stride,
                  int64_t count);

/// Integer elements, exactly (values of uint32 stay non-negative); for GpSimd integer arithmetic,
/// bitwise operations and iota. `dtype` must be an integer type.
void load_integers(const std::byte* source, Dtype dtype, int64_t stride, int64_t* target,
                   int64_t count);
/// Stores integers modulo 2^bits (two's complement wrap-around); bool stores value != 0.
void store_integers(const int64_t* source, std::byte* target, Dtype dtype, int64_t stride,
                    int64_t count);

/// Contents of uninitialised memory: NaN for floats, 4 for integers (the vendor's simulator), 1 for
/// bool, 0 for float4_e2m1fn_x4, which has no NaN. Writes `count` elements, `stride` bytes apart.
void fill_uninitialised(std::byte* target, Dtype dtype, int64_t stride, int64_t count);

}  // namespace neuron_sim
