#pragma once
// The element types of a NeuronCore and their conversions.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace neuron_sim {

/// Element types a NeuronCore memory can hold. float8_e4m3 is the IEEE-like one of generations
/// 2 and 3 (bias 7, has infinities, largest finite 240), not e4m3fn.
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
  kFloat32
};
inline constexpr int kDtypeCount = 13;

/// Bytes of one element in memory.
int itemsize(Dtype dtype);
/// The vendor's name: "bool_", "int8", ..., "float8_e4m3", "bfloat16", "tfloat32", "float32".
std::string_view name(Dtype dtype);
/// The dtype of that name; also accepts "bool". Empty when unknown.
std::optional<Dtype> parse_dtype(std::string_view name);
bool is_float(Dtype dtype);
bool is_integer(Dtype dtype);  ///< integers and bool
/// True for the floating types narrower than fp32 that TensorE widens exactly (fp8, fp16, bf16).
bool is_low_precision(Dtype dtype);

/// Widens `count` elements of `dtype`, `stride` bytes apart, to fp32. int32 and uint32 beyond 2^24
/// round to nearest even, as the engines do. tf32 drops its 13 low mantissa bits (they are zero
/// when it was stored through store_floats).
void load_floats(const std::byte* source, Dtype dtype, int64_t stride, float* target,
                 int64_t count);

/// Rounds `count` fp32 values once, to nearest even, into elements of `dtype`, `stride` bytes
/// apart. Floats: overflow becomes infinity (e4m3 and e5m2 too), NaN stays NaN. Integers: round to
/// nearest even, saturate; NaN becomes 0. bool: 0 stays 0, anything else (NaN too) becomes 1.
void store_floats(const float* source, std::byte* target, Dtype dtype, int64_t stride,
                  int64_t count);

/// Integer elements, exactly (values of uint32 stay non-negative); for GpSimd integer arithmetic,
/// bitwise operations and iota. `dtype` must be an integer type.
void load_integers(const std::byte* source, Dtype dtype, int64_t stride, int64_t* target,
                   int64_t count);
/// Stores integers modulo 2^bits (two's complement wrap-around); bool stores value != 0.
void store_integers(const int64_t* source, std::byte* target, Dtype dtype, int64_t stride,
                    int64_t count);

/// What uninitialised memory reads as: NaN for floats, 4 for integers (the vendor's simulator),
/// 1 for bool. Writes `count` elements, `stride` bytes apart.
void fill_uninitialised(std::byte* target, Dtype dtype, int64_t stride, int64_t count);

}  // namespace neuron_sim
