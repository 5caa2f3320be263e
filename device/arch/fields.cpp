#include "device/arch/fields.h"

#include <array>
#include <type_traits>

namespace neuron_sim {

namespace {

using namespace ranges;  // NOLINT(google-build-using-namespace): the table below is of them

void assign(int64_t& member, double value) { member = static_cast<int64_t>(value); }
void assign(double& member, double value) { member = value; }
void assign(bool& member, double value) { member = value != 0; }
void assign(Bytes& member, double value) { member = {static_cast<int64_t>(value)}; }
void assign(Gigahertz& member, double value) { member = {value}; }
void assign(Picoseconds& member, double value) { member = from_nanoseconds(value); }

double number(int64_t member) { return static_cast<double>(member); }
double number(double member) { return member; }
double number(bool member) { return member ? 1 : 0; }
double number(Bytes member) { return static_cast<double>(member.count); }
double number(Gigahertz member) { return member.value; }
double number(Picoseconds member) { return member.nanoseconds(); }

template <typename Member>
constexpr Form form_of() {
  if (std::is_same_v<Member, bool>) return Form::kBoolean;
  const bool whole = std::is_same_v<Member, int64_t> || std::is_same_v<Member, Bytes>;
  return whole ? Form::kInteger : Form::kNumber;
}

/// `access` is a function from Architecture& to the member.
template <typename Access>
Field field(std::string key, const char* unit, const Range& range, Access access) {
  using Member = std::remove_reference_t<decltype(access(std::declval<Architecture&>()))>;
  return {std::move(key),
          unit,
          form_of<Member>(),
          range,
          [access](Architecture& target, double value) { assign(access(target), value); },
          [access](const Architecture& source) {
            // The accessor only forms a reference; nothing is written through it.
            return number(access(const_cast<Architecture&>(source)));
          }};
}

/// The fields of one section: keys are the section's name, a dot and the member's name.
template <typename Section>
class SectionFields {
 public:
  SectionFields(std::vector<Field>& fields, std::string name, Section Architecture::*section)
      : fields_(fields), name_(std::move(name)), section_(section) {}

  template <typename Member>
  void add(const char* key, const char* unit, const Range& range, Member Section::*member) {
    fields_.push_back(field(name_ + "." + key, unit, range,
                            [section = section_, member](Architecture& architecture) -> Member& {
                              return architecture.*section.*member;
                            }));
  }

 private:
  std::vector<Field>& fields_;
  std::string name_;
  Section Architecture::*section_;
};

void add_limits(std::vector<Field>& fields) {
  SectionFields limits(fields, "limits", &Architecture::limits);
  limits.add("partitions", "1", kPartitions, &Limits::partitions);
  limits.add("stationary_free", "1", kPartitions, &Limits::stationary_free);
  limits.add("moving_free", "1", kColumns, &Limits::moving_free);
  limits.add("psum_banks", "1", kBanks, &Limits::psum_banks);
  limits.add("psum_bank", "bytes", kBankBytes, &Limits::psum_bank);
  limits.add("sbuf_partition", "bytes", kSbufBytes, &Limits::sbuf_partition);
  limits.add("sbuf_usable", "bytes", kSbufBytes, &Limits::sbuf_usable);
  limits.add("hbm", "bytes", kHbmBytes, &Limits::hbm);
  limits.add("cores", "1", kCount, &Limits::cores);
  limits.add("vector_sbuf_elements", "1", kElements, &Limits::vector_sbuf_elements);
  limits.add("vector_psum_elements", "1", kElements, &Limits::vector_psum_elements);
  limits.add("free_dimensions", "1", kDimensions, &Limits::free_dimensions);
  limits.add("registers", "1", kRegisters, &Limits::registers);
  limits.add("max8_minimum_elements", "1", kElements, &Limits::max8_minimum_elements);
  limits.add("max8_maximum_elements", "1", kElements, &Limits::max8_maximum_elements);
  limits.add("vector_transpose", "1", kGroup, &Limits::vector_transpose);
  limits.add("bn_stats_elements", "1", kElements, &Limits::bn_stats_elements);
  limits.add("gpsimd_core_partitions", "1", kGroup, &Limits::gpsimd_core_partitions);
  limits.add("local_gather_indices", "1", kElements, &Limits::local_gather_indices);
  limits.add("topk_minimum_elements", "1", kElements, &Limits::topk_minimum_elements);
  limits.add("topk_maximum_elements", "1", kElements, &Limits::topk_maximum_elements);
  limits.add("topk_results", "1", kElements, &Limits::topk_results);
  limits.add("logical_cores", "1", kLogicalCores, &Limits::logical_cores);
  limits.add("gpsimd_dma_elements", "1", kElements, &Limits::gpsimd_dma_elements);
  limits.add("array_tile", "1", kGroup, &Limits::array_tile);
  limits.add("moving_free_mx", "1", kColumns, &Limits::moving_free_mx);
}

void add_features(std::vector<Field>& fields) {
  SectionFields features(fields, "features", &Architecture::features);
  features.add("exact_transpose", "1", kShare, &Features::exact_transpose);
  features.add("scalar_constant_bias", "1", kShare, &Features::scalar_constant_bias);
  features.add("hardware_descriptors", "1", kShare, &Features::hardware_descriptors);
  features.add("scalar_tensor_ops", "1", kShare, &Features::scalar_tensor_ops);
  features.add("clock_gating", "1", kShare, &Features::clock_gating);
  features.add("hidden_weight_load", "1", kShare, &Features::hidden_weight_load);
  features.add("scalar_unary_operators", "1", kShare, &Features::scalar_unary_operators);
  features.add("dma_transpose", "1", kShare, &Features::dma_transpose);
  features.add("dma_priority", "1", kShare, &Features::dma_priority);
  features.add("reciprocal_bias", "1", kShare, &Features::reciprocal_bias);
  features.add("vector_xorwow", "1", kShare, &Features::vector_xorwow);
  features.add("sub_version_1", "1", kShare, &Features::sub_version_1);
  features.add("double_row", "1", kShare, &Features::double_row);
  features.add("bfloat16_psum", "1", kShare, &Features::bfloat16_psum);
  features.add("microscaling", "1", kShare, &Features::microscaling);
  features.add("shared_sbuf_port", "1", kShare, &Features::shared_sbuf_port);
  features.add("shared_psum_port", "1", kShare, &Features::shared_psum_port);
  features.add("fast_mode_ports", "1", kShare, &Features::fast_mode_ports);
  features.add("background_transpose", "1", kShare, &Features::background_transpose);
}

void add_clocks(std::vector<Field>& fields) {
  SectionFields clocks(fields, "clocks", &Architecture::clocks);
  clocks.add("tensor", "GHz", kClock, &Clocks::tensor);
  clocks.add("tensor_cold", "GHz", kClock, &Clocks::tensor_cold);
  clocks.add("vector", "GHz", kClock, &Clocks::vector);
  clocks.add("scalar", "GHz", kClock, &Clocks::scalar);
  clocks.add("gpsimd", "GHz", kClock, &Clocks::gpsimd);
  clocks.add("sync", "GHz", kClock, &Clocks::sync);
}

void add_tensor(std::vector<Field>& fields) {
  SectionFields tensor(fields, "tensor", &Architecture::tensor);
  tensor.add("minimum_columns", "1", kCycles, &TensorTiming::minimum_columns);
  tensor.add("columns_init", "1", kCycles, &TensorTiming::columns_init);
  tensor.add("passes_fp32", "cycles", kRate, &TensorTiming::passes_fp32);
  tensor.add("passes_fp32_transpose", "cycles", kRate, &TensorTiming::passes_fp32_transpose);
  tensor.add("passes_fp32_onezero", "cycles", kRate, &TensorTiming::passes_fp32_onezero);
  tensor.add("fp32_pairs", "1", kPairs, &TensorTiming::fp32_pairs);
  tensor.add("fp32_transpose_pairs", "1", kPairs, &TensorTiming::fp32_transpose_pairs);
  tensor.add("load_cycles_16bit", "cycles", kRate, &TensorTiming::load_cycles_16bit);
  tensor.add("load_cycles_16bit_strided", "cycles", kRate,
             &TensorTiming::load_cycles_16bit_strided);
  tensor.add("load_cycles_fp32", "cycles", kRate, &TensorTiming::load_cycles_fp32);
  tensor.add("load_cycles_fp32_transpose", "cycles", kRate,
             &TensorTiming::load_cycles_fp32_transpose);
  tensor.add("strided_load_factor", "1", kRate, &TensorTiming::strided_load_factor);
  tensor.add("load_latency", "ns", kDuration, &TensorTiming::load_latency);
  tensor.add("load_latency_cycles", "cycles", kCycles, &TensorTiming::load_latency_cycles);
  tensor.add("load_advance", "ns", kDuration, &TensorTiming::load_advance);
  tensor.add("issue_overhead", "ns", kDuration, &TensorTiming::issue_overhead);
  tensor.add("load_issue", "ns", kDuration, &TensorTiming::load_issue);
  tensor.add("load_queue", "ns", kDuration, &TensorTiming::load_queue);
  tensor.add("multiply_issue", "ns", kDuration, &TensorTiming::multiply_issue);
  tensor.add("multiply_issue_event", "ns", kDuration, &TensorTiming::multiply_issue_event);
  tensor.add("drain", "ns", kDuration, &TensorTiming::drain);
  tensor.add("drain_cycles", "cycles", kCycles, &TensorTiming::drain_cycles);
  tensor.add("gate_window", "ns", kWindow, &TensorTiming::gate_window);
  tensor.add("gate_up", "1", kShare, &TensorTiming::gate_up);
  tensor.add("gate_down", "1", kShare, &TensorTiming::gate_down);
}

void add_engine(std::vector<Field>& fields, std::string_view name,
                EngineTiming Architecture::*section) {
  SectionFields engine(fields, std::string(name), section);
  engine.add("minimum_cycles", "cycles", kCycles, &EngineTiming::minimum_cycles);
  engine.add("overhead_sbuf", "cycles", kCycles, &EngineTiming::overhead_sbuf);
  engine.add("overhead_psum", "cycles", kCycles, &EngineTiming::overhead_psum);
  engine.add("pointer_overhead", "cycles", kCycles, &EngineTiming::pointer_overhead);
  engine.add("function_overhead", "cycles", kCycles, &EngineTiming::function_overhead);
  engine.add("function_overhead_sbuf", "cycles", kCycles, &EngineTiming::function_overhead_sbuf);
  engine.add("latency", "ns", kDuration, &EngineTiming::latency);
  engine.add("psum_latency", "ns", kDuration, &EngineTiming::psum_latency);
  engine.add("write_latency", "ns", kDuration, &EngineTiming::write_latency);
  engine.add("pointer_latency", "ns", kDuration, &EngineTiming::pointer_latency);
  engine.add("function_latency", "ns", kDuration, &EngineTiming::function_latency);
  engine.add("function_latency_sbuf", "ns", kDuration, &EngineTiming::function_latency_sbuf);
  engine.add("accumulator_read", "cycles", kCycles, &EngineTiming::accumulator_read);
  engine.add("table_load", "ns", kDuration, &EngineTiming::table_load);
  engine.add("stride_factor", "1", kRate, &EngineTiming::stride_factor);
  engine.add("dynamic_minimum_cycles", "cycles", kCycles, &EngineTiming::dynamic_minimum_cycles);
}

void add_rates(std::vector<Field>& fields) {
  for (size_t i = 0; i < kRateRows.size(); ++i) {
    fields.push_back(
        field(std::string("rates.") + kRateRows[i].key, "cycles", kRate,
              [i](Architecture& target) -> double& { return target.rates.cycles[i]; }));
  }
}

void add_dma(std::vector<Field>& fields) {
  SectionFields dma(fields, "dma", &Architecture::dma);
  const auto duration = [&](const char* key, Picoseconds DmaTiming::*member) {
    dma.add(key, "ns", kDuration, member);
  };
  dma.add("engines", "1", kDmaEngines, &DmaTiming::engines);
  dma.add("bytes_per_nanosecond", "bytes/ns", kBandwidth, &DmaTiming::bytes_per_nanosecond);
  dma.add("bytes_per_nanosecond_store", "bytes/ns", kBandwidth,
          &DmaTiming::bytes_per_nanosecond_store);
  duration("packet", &DmaTiming::packet);
  duration("packet_store", &DmaTiming::packet_store);
  dma.add("small_row", "bytes", kRowBytes, &DmaTiming::small_row);
  duration("small_row_packet", &DmaTiming::small_row_packet);
  dma.add("hbm_bytes_per_nanosecond", "bytes/ns", kBandwidth, &DmaTiming::hbm_bytes_per_nanosecond);
  dma.add("software_packet", "bytes", kRowBytes, &DmaTiming::software_packet);
  duration("hardware_trigger", &DmaTiming::hardware_trigger);
  duration("hardware_trigger_element", &DmaTiming::hardware_trigger_element);
  duration("hardware_trigger_gap", &DmaTiming::hardware_trigger_gap);
  duration("hardware_first_load", &DmaTiming::hardware_first_load);
  duration("hardware_first_store", &DmaTiming::hardware_first_store);
  duration("software_trigger", &DmaTiming::software_trigger);
  duration("software_trigger_element", &DmaTiming::software_trigger_element);
  duration("software_instruction", &DmaTiming::software_instruction);
  duration("software_first_load", &DmaTiming::software_first_load);
  duration("software_first_store", &DmaTiming::software_first_store);
  duration("static_trigger", &DmaTiming::static_trigger);
  duration("static_first_load", &DmaTiming::static_first_load);
  duration("static_first_store", &DmaTiming::static_first_store);
  duration("engine_skew", &DmaTiming::engine_skew);
  duration("complete_load", &DmaTiming::complete_load);
  duration("complete_store", &DmaTiming::complete_store);
  duration("load_stall", &DmaTiming::load_stall);
  duration("load_stall_kibibyte", &DmaTiming::load_stall_kibibyte);
  duration("load_stall_maximum", &DmaTiming::load_stall_maximum);
  duration("load_stall_queued_hardware", &DmaTiming::load_stall_queued_hardware);
  duration("load_stall_queued_software", &DmaTiming::load_stall_queued_software);
  duration("load_stall_queued_static", &DmaTiming::load_stall_queued_static);
  duration("element_scatter", &DmaTiming::element_scatter);
  dma.add("host_bytes_per_nanosecond", "bytes/ns", kBandwidth,
          &DmaTiming::host_bytes_per_nanosecond);
  duration("host_latency", &DmaTiming::host_latency);
  dma.add("transpose_hbm", "1", kRate, &DmaTiming::transpose_hbm);
  dma.add("transpose_sbuf", "1", kRate, &DmaTiming::transpose_sbuf);
  dma.add("compute", "1", kRate, &DmaTiming::compute);
}

void add_semaphore(std::vector<Field>& fields) {
  // In the order of EngineKind; DMA only wakes others.
  constexpr std::array<const char*, 6> kNames = {"tensor", "vector", "scalar",
                                                 "gpsimd", "sync",   "dma"};
  const std::string section = "semaphore.";
  for (size_t producer = 0; producer < 6; ++producer) {
    for (size_t consumer = 0; consumer < 5; ++consumer) {
      fields.push_back(field(section + "wake." + kNames[producer] + "." + kNames[consumer], "ns",
                             kDuration, [=](Architecture& target) -> Picoseconds& {
                               return target.semaphore.wake[producer][consumer];
                             }));
    }
  }
  fields.push_back(
      field(section + "same_engine", "ns", kDuration,
            [](Architecture& target) -> Picoseconds& { return target.semaphore.same_engine; }));
  fields.push_back(field(section + "queue_set", "1", kCount, [](Architecture& target) -> int64_t& {
    return target.semaphore.queue_set;
  }));
  for (size_t engine = 0; engine < 5; ++engine) {
    fields.push_back(field(
        section + "extra_wait." + kNames[engine], "ns", kDuration,
        [=](Architecture& target) -> Picoseconds& { return target.semaphore.extra_wait[engine]; }));
    fields.push_back(field(section + "extra_wait_shown." + kNames[engine], "ns", kDuration,
                           [=](Architecture& target) -> Picoseconds& {
                             return target.semaphore.extra_wait_shown[engine];
                           }));
  }
}

void add_peer(std::vector<Field>& fields) {
  SectionFields peer(fields, "peer", &Architecture::peer);
  peer.add("signal", "ns", kDuration, &PeerTiming::signal);
  peer.add("latency", "ns", kDuration, &PeerTiming::latency);
  peer.add("gpsimd_latency", "ns", kDuration, &PeerTiming::gpsimd_latency);
  peer.add("gpsimd_bytes_per_nanosecond", "bytes/ns", kBandwidth,
           &PeerTiming::gpsimd_bytes_per_nanosecond);
}

void add_collective(std::vector<Field>& fields) {
  SectionFields collective(fields, "collective", &Architecture::collective);
  collective.add("trigger", "ns", kDuration, &CollectiveTiming::trigger);
  collective.add("hop_latency", "ns", kDuration, &CollectiveTiming::hop_latency);
  collective.add("instance_latency", "ns", kDuration, &CollectiveTiming::instance_latency);
  collective.add("link_bytes_per_nanosecond", "bytes/ns", kBandwidth,
                 &CollectiveTiming::link_bytes_per_nanosecond);
  collective.add("network_bytes_per_nanosecond", "bytes/ns", kBandwidth,
                 &CollectiveTiming::network_bytes_per_nanosecond);
  collective.add("instance_chips", "1", kCount, &CollectiveTiming::instance_chips);
  collective.add("mesh", "bytes", kBufferBytes, &CollectiveTiming::mesh);
  collective.add("recursive", "bytes", kBufferBytes, &CollectiveTiming::recursive);
}

std::vector<Field> all_fields() {
  std::vector<Field> fields;
  add_limits(fields);
  add_features(fields);
  add_clocks(fields);
  add_tensor(fields);
  constexpr std::array kEngines = {&Architecture::vector, &Architecture::scalar,
                                   &Architecture::gpsimd, &Architecture::sync};
  for (size_t i = 0; i < kEngines.size(); ++i) add_engine(fields, kEngineSections[i], kEngines[i]);
  add_rates(fields);
  add_dma(fields);
  add_semaphore(fields);
  add_peer(fields);
  add_collective(fields);
  SectionFields launch(fields, "launch", &Architecture::launch);
  launch.add("benchmark", "ns", kDuration, &LaunchTiming::benchmark);
  launch.add("benchmark_software", "ns", kDuration, &LaunchTiming::benchmark_software);
  launch.add("profile", "ns", kDuration, &LaunchTiming::profile);
  launch.add("second_core", "ns", kDuration, &LaunchTiming::second_core);
  launch.add("software_descriptors", "ns", kDuration, &LaunchTiming::software_descriptors);
  return fields;
}

}  // namespace

const std::vector<Field>& architecture_fields() {
  static const std::vector<Field> fields = all_fields();
  return fields;
}

const std::vector<Field>& file_fields() {
  static const std::vector<Field> fields = [] {
    std::vector<Field> all = architecture_fields();
    add_engine(all, kAllEngines, &Architecture::vector);
    return all;
  }();
  return fields;
}

}  // namespace neuron_sim
