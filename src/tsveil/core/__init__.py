"""What every other package may use: errors, parameters, the registry, random numbers, progress. It knows nothing of data or methods."""
