"""What an intruder can do: one file per attack, all called as `attack(original, released, known=..., ...) -> Links`."""

from tsveil.attack.series import series

__all__ = ["series"]
