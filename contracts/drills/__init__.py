"""BREAKS: starts, kills and pauses real worker processes, counts what is in the target, and fills the grid."""
