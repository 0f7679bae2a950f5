"""Small pure functions on tables of records: normalisation, statistics of series, resampling."""
