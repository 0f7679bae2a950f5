"""Small pure functions on tables of records: normalisation, statistics of series, projections, aggregation. Nothing here knows data sets, files or methods."""
