"""Kernels over columns of fixed width: packing, hashing, scattering by partition, grouping by sorted keys."""
