"""Protection methods, one file each; the registry lists them."""
