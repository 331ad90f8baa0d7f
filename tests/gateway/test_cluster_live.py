"""The logs of processes, as the page shows them."""

from __future__ import annotations

from pathlib import Path

from cauce.gateway.cluster_live import LOG_BYTES, _end_of


def test_of_a_long_log_the_end_is_shown_from_a_whole_line_on(tmp_path: Path) -> None:
    log = tmp_path / "worker-1.log"
    assert _end_of(log) == ""
    log.write_text("short\n")
    assert _end_of(log) == "short\n"
    lines = [f"line {number}\n" for number in range(20_000)]
    log.write_text("".join(lines))
    end = _end_of(log)
    assert len(end) <= LOG_BYTES
    assert "".join(lines).endswith(end)
    assert end.startswith("line ")
