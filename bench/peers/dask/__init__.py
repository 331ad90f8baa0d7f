"""Dask dataframe, on threads: the big tables lazily, all in one `compute`; what is small by then in pandas.

It cuts files into blocks at line ends and knows nothing of quotes, so that a file with line ends in quoted cells must
be read whole, as one block.
"""
