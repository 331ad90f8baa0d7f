"""pandas: needed columns only, with its C engine (faster here than pyarrow's, which cannot read line ends in quotes);
files too long to hold are read in chunks, of which the rows that count are kept.
"""
