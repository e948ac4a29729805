"""The label of the museum once more, each time in another framework; every program may be killed at any moment."""
