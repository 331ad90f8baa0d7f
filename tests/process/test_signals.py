from __future__ import annotations

import signal

import pytest

from cauce.process.signals import sigterm_as_interrupt


def test_sigterm_interrupts_the_block_and_the_handler_is_restored() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), sigterm_as_interrupt():
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) == before
