#pragma once
// The hardware is data: every size, limit, clock, rate, latency and feature of one NeuronCore
// generation, read from a TOML file. No code asks which architecture it runs on; it asks for a
// limit, a rate or a feature.

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "device/arch/rates.h"
#include "device/base/units.h"

namespace neuron_sim {

/// One value of an architecture file with where it comes from.
struct Fact {
  double value = 0;       ///< booleans are 0 or 1
  std::string unit;       ///< "bytes", "GHz", "cycles", "ns", "bytes/ns", "1" for counts and flags
  std::string source;     ///< document, trace or reasoning
  std::string certainty;  ///< documented, measured, fitted, assumed or derived
  std::vector<int64_t> generations;  ///< that the source speaks of, beside its file's own
};

/// Sizes and bounds; exceeding one is a KernelError.
struct Limits {
  int64_t partitions = 0;             ///< SBUF and PSUM partitions (128)
  int64_t stationary_free = 0;        ///< columns of a stationary operand of nc_matmul (128)
  int64_t moving_free = 0;            ///< columns of a moving operand of nc_matmul (512)
  int64_t psum_banks = 0;             ///< 8
  Bytes psum_bank{};                  ///< bytes per bank and partition (2048)
  Bytes sbuf_partition{};             ///< bytes per partition in hardware
  Bytes sbuf_usable{};                ///< of those, what a kernel may allocate
  Bytes hbm{};                        ///< HBM capacity of the device
  int64_t cores = 0;                  ///< NeuronCores per device
  int64_t vector_sbuf_elements = 0;   ///< elements per partition of one instruction in SBUF (65536)
  int64_t vector_psum_elements = 0;   ///< elements per partition of one instruction in PSUM (4096)
  int64_t free_dimensions = 0;        ///< dimensions of a free access pattern (4)
  int64_t registers = 0;              ///< 32-bit registers per sequencer (64)
  int64_t max8_minimum_elements = 0;  ///< 8
  int64_t max8_maximum_elements = 0;  ///< 16384
  int64_t vector_transpose = 0;       ///< edge of an nc_transpose on the Vector engine (32)
  int64_t bn_stats_elements = 0;      ///< elements per partition of bn_stats (512)
  int64_t gpsimd_core_partitions = 0;  ///< partitions that one GpSimd core serves (16)
  int64_t local_gather_indices = 0;    ///< indices of local_gather per GpSimd core (4096)
  int64_t topk_minimum_elements = 0;   ///< elements per snake of topk (8)
  int64_t topk_maximum_elements = 0;   ///< 65535
  int64_t topk_results = 0;            ///< results per snake of topk (32767)
  int64_t logical_cores = 0;           ///< physical cores that one program can use (1, 2: LNC2)
  int64_t gpsimd_dma_elements = 0;     ///< elements per partition of a sendrecv by gpsimd_dma (256)
  int64_t array_tile = 0;              ///< fewest rows or columns of a tile of the PE array (32)
  int64_t moving_free_mx = 0;          ///< columns of a moving operand of nc_matmul_mx, fp32 dst
};

/// What the generation can do.
struct Features {
  bool exact_transpose = false;         ///< nc_transpose on TensorE is bit exact, dst dtype = data
  bool scalar_constant_bias = false;    ///< activation accepts a constant bias
  bool hardware_descriptors = false;    ///< hardware DGE on Sync and Scalar queues
  bool scalar_tensor_ops = false;       ///< tensor_scalar and exact tensor_copy on ScalarE
  bool clock_gating = false;            ///< PE clock halves when idle
  bool hidden_weight_load = false;      ///< LoadStationary overlaps the previous multiply
  bool scalar_unary_operators = false;  ///< tensor_scalar of abs, rsqrt, reciprocal on ScalarE
  bool dma_transpose = false;     ///< the DMA engines transpose blocks of 2- and 4-byte elements
  bool dma_priority = false;      ///< transfers have a quality of service
  bool reciprocal_bias = false;   ///< reciprocal on ScalarE accepts a bias
  bool vector_xorwow = false;     ///< random numbers of VectorE are those of XORWOW
  bool sub_version_1 = false;     ///< the silicon revision that get_nc_sub_version calls 1
  bool double_row = false;        ///< nc_matmul on pairs of fp8 values
  bool bfloat16_psum = false;     ///< nc_matmul stores to and accumulates in bf16 PSUM tiles
  bool microscaling = false;      ///< float8_e4m3fn, and MX operands (packed, with scales)
  bool shared_sbuf_port = false;  ///< Vector and GpSimd cannot access SBUF at the same time
  bool shared_psum_port = false;  ///< Vector and Scalar cannot access PSUM at the same time
  bool fast_mode_ports = false;   ///< fast modes of Vector take GpSimd's SBUF port as well
  bool background_transpose = false;  ///< a TensorE transpose may overlap another multiply
};

/// Engine clocks.
struct Clocks {
  Gigahertz tensor{}, tensor_cold{}, vector{}, scalar{}, gpsimd{}, sync{};
};

/// TensorE: cycles are of the PE clock.
struct TensorTiming {
  double minimum_columns = 0;        ///< shortest multiply, in columns (64)
  double columns_init = 0;           ///< added to every pass (64 on generation 2, else 0)
  double passes_fp32 = 0;            ///< cycles per column for fp32 operands (4)
  double passes_fp32_transpose = 0;  ///< cycles per column for an fp32 transpose (2)
  double passes_fp32_onezero = 0;    ///< cycles per column, one operand of ones and zeros (2)
  int64_t fp32_pairs = 0;  ///< LoadStationary and MultiplyMoving each, per fp32 matmul (2)
  int64_t fp32_transpose_pairs = 0;  ///< pairs per fp32 transpose (1; 2 on generation 2)
  double load_cycles_16bit = 0;      ///< LoadStationary of 128 columns, 16-bit and narrower (32)
  double load_cycles_16bit_strided = 0;   ///< LoadStationary, 16-bit, innermost stride > 16 bytes
  double load_cycles_fp32 = 0;            ///< LoadStationary, fp32: one of the fp32_pairs (256)
  double load_cycles_fp32_transpose = 0;  ///< LoadStationary, one of the fp32_transpose_pairs
  double strided_load_factor = 0;         ///< fp32 with a stationary innermost stride > 16 bytes
  Picoseconds load_latency{};             ///< end of a load to its completion, fixed part
  double load_latency_cycles = 0;         ///< end of a load to its completion, clocked part
  Picoseconds load_advance{};    ///< cold clock: weights come sooner after a pause of the loads
  Picoseconds issue_overhead{};  ///< added to each multiply when warm (2.5 ns)
  Picoseconds load_issue{};      ///< start of a multiply to the earliest start of a LoadStationary
  Picoseconds load_queue{};      ///< LoadStationary to the earliest wait instruction after it
  Picoseconds multiply_issue{};  ///< start of a load to the earliest start of its multiply
  Picoseconds multiply_issue_event{};  ///< multiply_issue when a wait instruction held the load up
  Picoseconds drain{};                 ///< multiply's next slot to result visible, fixed part
  double drain_cycles = 0;             ///< multiply's next slot to result visible, clocked part
  Picoseconds gate_window{};           ///< clock gating looks at windows of this length
  double gate_up = 0;                  ///< cold to warm when the busy share is at least this
  double gate_down = 0;                ///< warm to cold when the busy share is below this
};

/// Vector, Scalar or GpSimd: interval = (elements * rate + overhead cycles), result visible after
/// elements * rate + latency.
struct EngineTiming {
  double minimum_cycles = 0;          ///< MIN_II
  double overhead_sbuf = 0;           ///< cycles added to the interval, source in SBUF
  double overhead_psum = 0;           ///< cycles added to the interval, source in PSUM
  double pointer_overhead = 0;        ///< cycles when a per-partition operand is read
  double function_overhead = 0;       ///< ScalarE: further cycles for a table function
  double function_overhead_sbuf = 0;  ///< ScalarE: and for a table function with SBUF source
  Picoseconds latency{};              ///< fixed part of start to result visible
  Picoseconds psum_latency{};         ///< added for a source in PSUM
  Picoseconds write_latency{};        ///< added when there is a result per element (no reduction)
  Picoseconds pointer_latency{};
  Picoseconds function_latency{};
  Picoseconds function_latency_sbuf{};  ///< ScalarE: and for a table function with SBUF source
  double accumulator_read = 0;          ///< cycles to read the reduction registers (64)
  Picoseconds table_load{};             ///< ScalarE: loading an activation table
  double stride_factor = 0;             ///< rate factor when the innermost stride exceeds 16 bytes
  double dynamic_minimum_cycles = 0;    ///< MIN_II when an address comes from data
};

/// DMA: triggers, descriptors, 16 engines.
struct DmaTiming {
  int64_t engines = 0;                    ///< DMA engines per core (16)
  double bytes_per_nanosecond = 0;        ///< one engine
  double bytes_per_nanosecond_store = 0;  ///< one engine that stores
  Picoseconds packet{};                   ///< fixed time per packet
  Picoseconds packet_store{};             ///< fixed time per packet of a store, per row
  int64_t small_row = 0;  ///< loaded rows of fewer bytes take small_row_packet or more
  Picoseconds small_row_packet{};
  int64_t software_packet = 0;          ///< bytes that software descriptors pack rows into (4096)
  double hbm_bytes_per_nanosecond = 0;  ///< HBM bandwidth of a core, shared by its engines
  Picoseconds hardware_trigger{};       ///< issuing engine blocked: fixed part
  Picoseconds hardware_trigger_element{};  ///< issuing engine blocked: per descriptor, at most 128
  Picoseconds hardware_trigger_gap{};      ///< part of the trigger after the instruction ends
  Picoseconds hardware_first_load{};       ///< trigger start to first packet, HBM source
  Picoseconds hardware_first_store{};      ///< trigger start to first packet, SBUF source
  Picoseconds software_trigger{};          ///< GpSimd blocked: fixed part
  Picoseconds software_trigger_element{};  ///< GpSimd blocked: per descriptor
  Picoseconds software_instruction{};      ///< the instruction itself, after the generation
  Picoseconds software_first_load{};       ///< end of generation to first packet
  Picoseconds software_first_store{};
  Picoseconds static_trigger{};  ///< descriptors prepared by the compiler
  Picoseconds static_first_load{};
  Picoseconds static_first_store{};
  Picoseconds engine_skew{};    ///< start of engine i+1 after engine i
  Picoseconds complete_load{};  ///< last packet to semaphore visible
  Picoseconds complete_store{};
  Picoseconds load_stall{};                  ///< HBM's first answer to a load: fixed part
  Picoseconds load_stall_kibibyte{};         ///< HBM's first answer to a load: per KiB
  Picoseconds load_stall_maximum{};          ///< HBM's first answer to a load: at most
  Picoseconds load_stall_queued_hardware{};  ///< at most, after a load of the same queue
  Picoseconds load_stall_queued_software{};
  Picoseconds load_stall_queued_static{};
  /// Per element when the innermost run is one element, and per word of HBM that is written in
  /// part (its controller reads, changes and writes the word); in turn for all DMA engines.
  Picoseconds element_scatter{};
  double host_bytes_per_nanosecond = 0;  ///< host link, each direction
  Picoseconds host_latency{};            ///< fixed time of one host copy
  double transpose_hbm = 0;   ///< throughput of an HBM to SBUF transpose, as a share of a copy's
  double transpose_sbuf = 0;  ///< throughput of an SBUF to SBUF transpose, as a share of a copy's
  double compute = 0;  ///< throughput of adding to what is overwritten, as a share of a copy's
};

/// Semaphore wake-ups, [producer][consumer] in the order of EngineKind (tensor, vector, scalar,
/// gpsimd, sync), then DMA as a producer.
struct SemaphoreTiming {
  std::array<std::array<Picoseconds, 5>, 6> wake{};
  Picoseconds same_engine{};                ///< read after write on one engine, after the latency
  std::array<Picoseconds, 5> extra_wait{};  ///< a second wait of one instruction: delays it
  std::array<Picoseconds, 5> extra_wait_shown{};  ///< duration of the EVENT_SEMAPHORE that does it
  int64_t queue_set = 0;  ///< semaphores of a DMA queue: its limit of outstanding transfers
};

/// What the two physical cores of a logical core exchange (core_barrier, sendrecv). No public
/// figures exist: all assumed.
struct PeerTiming {
  Picoseconds signal{};                    ///< the engine writes a semaphore of the other core
  Picoseconds latency{};                   ///< end of that write to the other core seeing it
  Picoseconds gpsimd_latency{};            ///< fixed time of a transfer by the DMA of GpSimd
  double gpsimd_bytes_per_nanosecond = 0;  ///< its rate
};

/// Collectives between ranks (device/timeline/collective_time.h). A rank is a logical core.
struct CollectiveTiming {
  Picoseconds trigger{};                    ///< the engine hands a collective to their processors
  Picoseconds hop_latency{};                ///< one step of an algorithm within an instance
  Picoseconds instance_latency{};           ///< one step between instances
  double link_bytes_per_nanosecond = 0;     ///< from a chip to the others of its instance
  double network_bytes_per_nanosecond = 0;  ///< from a chip to other instances
  int64_t instance_chips = 0;               ///< chips that the links join
  Bytes mesh{};                             ///< buffers below use the mesh algorithm
  Bytes recursive{};  ///< buffers up to this recursive doubling and halving, larger ones a ring
};

/// Launch overheads for the three published notions of latency.
struct LaunchTiming {
  Picoseconds benchmark{};           ///< nc_latency minus kernel body
  Picoseconds benchmark_software{};  ///< so much more when GpSimd generates descriptors
  Picoseconds profile{};             ///< profiler total_time minus kernel body
  Picoseconds second_core{};  ///< so much more in the first execution of a program of two cores
  Picoseconds software_descriptors{};  ///< GpSimd generates none before, from the body's start on
};

/// One NeuronCore generation. Immutable; equal content is the same object (interned), so the
/// address identifies the architecture in cache keys.
class Architecture {
 public:
  std::string name;         ///< "trn2", or the stem of a user's file
  std::string neuron_core;  ///< "NeuronCore-v3"
  int64_t generation = 0;   ///< 2, 3, 4 (gen2, gen3, gen4)
  Limits limits;
  Features features;
  Clocks clocks;
  TensorTiming tensor;
  EngineTiming vector, scalar, gpsimd, sync;
  Rates rates;
  DmaTiming dma;
  SemaphoreTiming semaphore;
  PeerTiming peer;
  CollectiveTiming collective;
  LaunchTiming launch;

  /// All values with unit, source and certainty, by dotted key ("limits.partitions").
  const std::map<std::string, Fact>& facts() const { return facts_; }

 private:
  friend class ArchitectureReader;
  std::map<std::string, Fact> facts_;
};

/// The architecture of that name (inf2, trn1, trn2, trn3, aliases gen2, gen3, gen4) or read from
/// that file (a path ending in .toml; read again at each call). A file may name a `base`, a
/// built-in or a sibling file, and list only what differs; a fact that it inherits from a base of
/// another generation is assumed, unless its source speaks of this generation too. The reference
/// stays valid until the process ends; thread-safe. KernelError names the key, the file and what is
/// wrong.
const Architecture& load_architecture(std::string_view name_or_path);

/// "trn1" for "gen2" and so on; any other name unchanged.
std::string without_alias(std::string_view name);

/// The architecture where neither a caller nor the environment names one.
inline constexpr const char* kDefaultArchitecture = "trn2";

/// What NEURON_SIM_ARCH names (a name or a file), else NEURON_PLATFORM_TARGET_OVERRIDE (a name);
/// empty when both are unset or empty. It may not exist.
std::string environment_architecture();

/// environment_architecture(), else kDefaultArchitecture. A file is read once per path.
/// Thread-safe. KernelError names the variable.
const Architecture& default_architecture();

/// {"inf2", "trn1", "trn2", "trn3"}.
std::vector<std::string> builtin_architectures();

}  // namespace neuron_sim
