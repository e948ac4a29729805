"""CHANGES, for workers and those who look after them: owning, stepping, writing, reconciling, rolling back."""
