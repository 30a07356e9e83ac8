"""One torch thread, as on a rank: for models this small, more threads only wait for each other."""

from ..models.conftest import one_thread

__all__ = ["one_thread"]
