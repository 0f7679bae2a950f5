"""Files and frames are read here into a `Dataset`, checked, and written back. Nothing here knows how data are protected, attacked or measured."""
