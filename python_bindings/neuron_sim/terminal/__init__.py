"""What commands share: options, JSON, tables, progress bars, suggestions, exit codes."""
