"""The parts of a job over HTTP once it has ended: listed with their digests, and compared with what is sent again."""

from __future__ import annotations

import hashlib

from cauce.api.http import CONTENT_DIGEST
from tests.service.conftest import Case
from tests.service.running import Running


def test_the_parts_of_a_job_that_has_ended_are_compared(service: Running, case: Case, done: str) -> None:
    piece = case.pieces[0]
    listing = f"/v1/jobs/{done}/tables/{piece.table}/parts"
    path = f"{listing}/{piece.seq}"
    headers = {name: value for name, value in piece.headers.items() if name != CONTENT_DIGEST}
    assert service.ask("PUT", path, piece.body, headers).status == 200
    other = piece.body[:-2] + bytes([piece.body[-2] ^ 1]) + piece.body[-1:]
    reply = service.ask("PUT", path, other, headers)
    assert reply.what == (409, "part-differs")
    assert f"{len(piece.body):,} bytes as before, but with other content" in str(reply.json()["detail"])
    listed = service.get(listing).json()
    mine = [each for each in case.pieces if each.table == piece.table]
    assert listed["complete"] == len(mine)
    assert [each["content"] for each in listed["parts"]] == [  # type: ignore[attr-defined]
        hashlib.sha256(each.body).hexdigest() for each in mine
    ]
    for wrong in ("from=x", "limit=0", "limit=10001"):
        assert service.get(f"{listing}?{wrong}").what == (400, "bad-request")
