"""Tables of one row per run, argument or field."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuron_sim._build import VERSION as PACKAGE_VERSION
from neuron_sim.nki.measurement.tables.columns import Columns
from neuron_sim.nki.measurement.tables.dma import transfer_table
from neuron_sim.nki.measurement.tables.run_profile import RunProfile
from neuron_sim.nki.measurement.tables.schema import SCHEMA, VERSION
from neuron_sim.nki.measurement.tables.summary import summary_of
from neuron_sim.timeline.peaks import dma_bandwidth, hbm_bandwidth

_TENSOR_COLUMNS = (
    "variable_name", "type", "shape", "size", "load_to_sbuf_avg_size_bytes",
    "load_to_sbuf_total_size_bytes", "load_to_sbuf_dma_count", "load_to_sbuf_repeat_factor",
)  # fmt: skip


def summary_table(profile: RunProfile) -> Columns:
    """Summary: those of our metrics that the schema has."""
    summary = summary_of(profile)
    return {field.name: [summary[field.name]] for field in SCHEMA["Summary"]
            if field.name in summary}  # fmt: skip


def metadata_table(profile: RunProfile) -> Columns:
    """Metadata: the chip, as its architecture describes it."""
    facts = profile.header["facts"]
    described = {name: {"value": value} for name, value in facts.items()}
    lanes, columns = int(facts["limits.partitions"]), int(facts["limits.stationary_free"])
    cores = profile.header["cores"]
    row = {
        "profile_schema_version": VERSION,
        "num_physical_cores": cores,
        "vnc_enabled": cores > 1,
        "first_hw_timestamp": 0,
        "last_hw_timestamp": profile.header["phases"]["total_time"][1] // 1000,
        "dma_ddr_bandwidth": dma_bandwidth(described),
        "num_dma_engines_per_neuroncore": int(facts["dma.engines"]),
        "hbm_ddr_bandwidth": hbm_bandwidth(described),
        "tensor_engine_num_rows": lanes,
        "tensor_engine_num_cols": columns,
        "neuroncore_clock_freq": facts["clocks.sync"],
        "instance_type": profile.header["instance_type"],
        "explorer_version": PACKAGE_VERSION,
        "neuroncore_idx": 0,
        "neuron_device_idx": 0,
        "profile_name": profile.kernel,
        "is_simulation": True,
    }
    for engine in ("tensor", "vector", "scalar", "gpsimd"):
        row[f"{engine}_engine_clock_freq"] = facts[f"clocks.{engine}"]
        if engine != "tensor":
            row[f"{engine}_engine_num_channels"] = lanes
    return {name: [value] for name, value in row.items()}


def neff_table(profile: RunProfile) -> Columns:
    """NeffHeader: the program."""
    cores = profile.header["cores"]
    return {
        "network_name": [profile.kernel],
        "hash": [profile.header["program"]],
        "neuroncore_count": [cores],
        "logical_neuroncore_count": [1],
        "pcore_count_per_lnc": [cores],
    }


def execution_table(profile: RunProfile) -> Columns:
    """ExecutionInfo: when the body runs."""
    start, end = profile.header["phases"]["body"]
    return {
        "execution_index": [0],
        "neff_name": [profile.kernel],
        "execution_start_ts": [start // 1000],
        "execution_end_ts": [end // 1000],
    }


def tensor_table(profile: RunProfile) -> Columns:
    """TensorInfo: arguments, and how often they are loaded to SBUF."""
    transfers = transfer_table(profile)
    to_sbuf = np.array(transfers["dest"], object) == "[SB]"
    table: dict[str, list[Any]] = {name: [] for name in _TENSOR_COLUMNS}
    for argument in profile.header["arguments"]:
        ours = to_sbuf & (np.array(transfers["variable"], object) == argument["label"])
        count, loaded = int(ours.sum()), int(np.array(transfers["read_bytes"])[ours].sum())
        row = (
            argument["label"], "IN" if argument["read"] else "OUT",
            " ".join(map(str, argument["shape"])), argument["bytes"],
            loaded // count if count else 0, loaded, count,
            loaded / argument["bytes"] if argument["bytes"] else 0.0,
        )  # fmt: skip
        for name, value in zip(_TENSOR_COLUMNS, row, strict=True):
            table[name].append(value)
    return {**table}


def schema_table(_profile: RunProfile) -> Columns:
    """SchemaFields: the columns of all these tables."""
    rows = [(table, field) for table, fields in SCHEMA.items() for field in fields]
    kinds = {"int32": "integer", "int64": "integer", "float": "number", "double": "number"}
    return {
        "table_name": [table for table, _ in rows],
        "field_name": [field.name for _, field in rows],
        "field_type": [kinds.get(field.type, field.type) for _, field in rows],
        "field_format": [field.type if field.type in kinds else None for _, field in rows],
        "field_required": [field.required for _, field in rows],
        "field_unit": [field.unit or None for _, field in rows],
    }
