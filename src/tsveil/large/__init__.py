"""Data sets larger than memory: a folder of Parquet files in, a release in a folder out, on any engine."""
