"""Dask dataframe, on threads: big tables lazily, in one `compute`; small intermediate results in pandas.

It splits files into blocks at line ends, even within quotes. So a file with line ends in quoted cells must
be read whole, as one block.
"""
