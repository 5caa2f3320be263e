"""A run as the tables of the vendor's neuron-explorer: names, types and units of its public schema.

`tables_of` makes them; neuron_sim.nki.measurement.parquet writes them. Which columns have values,
and which are null because the model has none, is in docs/profile_fields.md.
"""

from neuron_sim.nki.measurement.tables.every import tables_of
from neuron_sim.nki.measurement.tables.schema import SCHEMA, Field

__all__ = ["SCHEMA", "Field", "tables_of"]
