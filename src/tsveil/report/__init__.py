"""The report of a release: one HTML page that works without a network."""
