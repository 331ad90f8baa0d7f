"""A file that is to be written, as a value; whether others may read it is part of it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class File:
    path: str
    """Below the folder that is written."""
    content: str | bytes = field(repr=False)
    private: bool = False
    executable: bool = False

    @property
    def mode(self) -> int:
        if self.private:
            return 0o600
        return 0o755 if self.executable else 0o644

    @property
    def data(self) -> bytes:
        return self.content if isinstance(self.content, bytes) else self.content.encode()
