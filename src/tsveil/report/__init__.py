"""Pages for people: the report of a release in its public and private version, comparisons, maps of studies and their pictures.

A page only shows what was measured; nothing is protected, attacked or measured here, and nothing is loaded from the network.
"""
