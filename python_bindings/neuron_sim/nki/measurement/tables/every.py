"""All tables of a run."""

from __future__ import annotations

from collections.abc import Callable

from neuron_sim.nki.measurement.tables import dma, instructions, memory, run
from neuron_sim.nki.measurement.tables.columns import Columns
from neuron_sim.nki.measurement.tables.run_profile import RunProfile

_TABLES: dict[str, Callable[[RunProfile], Columns]] = {
    "ActiveTime": instructions.active_time_table,
    "DmaPacket": dma.packet_table,
    "DmaPacketAggregated": dma.transfer_table,
    "DmaQueuesInfo": dma.queue_table,
    "DmaUsage": dma.usage_table,
    "ExecutionInfo": run.execution_table,
    "Flow": instructions.flow_table,
    "HbmUsage": dma.hbm_usage_table,
    "Instruction": instructions.instruction_table,
    "Metadata": run.metadata_table,
    "NeffHeader": run.neff_table,
    "OpcodeSummary": instructions.opcode_table,
    "PendingDma": dma.pending_table,
    "PsumUsage": memory.psum_usage_table,
    "SbufAllocation": memory.sbuf_allocation_table,
    "SbufUsage": memory.sbuf_usage_table,
    "SchemaFields": run.schema_table,
    "SemaphoreUpdate": instructions.semaphore_table,
    "Summary": run.summary_table,
    "TensorInfo": run.tensor_table,
}


def tables_of(profile: RunProfile) -> dict[str, Columns]:
    """The columns that have values, by table of the schema."""
    return {name: table(profile) for name, table in _TABLES.items()}
