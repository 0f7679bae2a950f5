"""The experiments of the source papers, run again: our figure beside the published one, with a verdict for each cell."""
