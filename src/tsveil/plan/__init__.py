"""Plans, as they stand in TOML files, and what is done with them. No step is done here: each stands in a package of its own."""
