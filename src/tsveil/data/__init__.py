"""Files and frames in, `Dataset` out, and back again."""
