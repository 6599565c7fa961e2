"""One incident over many ranks: who was first, who is odd, who is behind, and what no signature knows."""

from engine.evidence.ranks.incident import incident

__all__ = ["incident"]
