"""pandas: needed columns only, with its C engine (faster here than pyarrow's, which cannot read line ends in quotes);
large files are read in chunks, of which only the needed rows are kept.
"""
