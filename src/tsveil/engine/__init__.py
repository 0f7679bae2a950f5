"""Where work runs."""
