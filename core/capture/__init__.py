"""Record q, k and mask of every attention call of any model, and route it if asked."""

from core.capture.recorder import capture

__all__ = ["capture"]
