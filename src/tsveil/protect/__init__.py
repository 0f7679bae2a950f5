"""Protection methods, one file each, and how they are run in memory and in chunks. Nothing here reads or writes files, or runs an attack."""
