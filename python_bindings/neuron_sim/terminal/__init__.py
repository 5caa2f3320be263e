"""Output for people in a terminal: tables, progress bars, completion of words, suggestions."""
