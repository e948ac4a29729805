"""One migration that needs a table of the contracts for itself alone, for a moment."""
