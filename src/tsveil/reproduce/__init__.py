"""The experiments of the source papers, run again: our figure beside the published one, with a verdict for each cell. Nothing else in tsveil depends on what is here, apart from the command line."""
