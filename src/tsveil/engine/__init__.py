"""Where work runs: in this process, in other processes of this computer, on Dask or on Spark. No engine knows what the work is, and no result depends on it."""
