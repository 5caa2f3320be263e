"""Host speed: each row of docs/performance.md, measured beside torch in one run (rows.py)."""
