"""The audit of a checkpoint against the limits of memory, disk and hashing."""
