"""A release and its folder: written whole or not at all, and opened again. How records are protected or measured is not decided here."""
