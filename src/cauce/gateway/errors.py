"""What the service answers where it cannot do as asked: one tree, each with its HTTP status and a stable code.

ServiceError                  code                   status
├── BadRequest                bad-request            422   names, numbers or choices that cannot be
├── NoSuchJob                 no-such-job            404   also where the job is another owner's
├── NoSuchTable               no-such-table          404
├── NoSuchQuery               no-such-query          404
├── JobExistsOtherwise        job-exists-otherwise   409   the id stands for another job
├── JobOver                   job-over               409   parts for a job that has ended
├── PartDiffers               part-differs           409   another content under the number of a part
├── TableComplete             table-complete         409   a new part for a table that is complete
├── CountDiffers              count-differs          409   complete, or to be completed, with another number
├── PartsMissing              parts-missing          422
├── BadPart                   bad-part               422   cannot be read, lacks columns, or its digest differs
├── PartTooLarge              part-too-large         413
├── UnsupportedFormat         unsupported-format     415
├── TooEarly                  too-early              425   the answer is not complete yet
├── SlowDown                  slow-down              429   the brake: the workers, or the disk, are behind
├── TooManyJobs               too-many-jobs          429
└── Unavailable               unavailable            503   the fabric did not confirm, or is full
"""

from __future__ import annotations

from cauce.errors import CauceError


class ServiceError(CauceError):
    """Root of the tree. `retry_after` is in seconds, where trying again makes sense."""

    status = 500
    code = "error"

    def __init__(self, message: str, *, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class BadRequest(ServiceError):
    status, code = 422, "bad-request"


class NoSuchJob(ServiceError):
    status, code = 404, "no-such-job"


class NoSuchTable(ServiceError):
    status, code = 404, "no-such-table"


class NoSuchQuery(ServiceError):
    status, code = 404, "no-such-query"


class JobExistsOtherwise(ServiceError):
    status, code = 409, "job-exists-otherwise"


class JobOver(ServiceError):
    status, code = 409, "job-over"


class PartDiffers(ServiceError):
    status, code = 409, "part-differs"


class TableComplete(ServiceError):
    status, code = 409, "table-complete"


class CountDiffers(ServiceError):
    status, code = 409, "count-differs"


class PartsMissing(ServiceError):
    status, code = 422, "parts-missing"


class BadPart(ServiceError):
    status, code = 422, "bad-part"


class PartTooLarge(ServiceError):
    status, code = 413, "part-too-large"


class UnsupportedFormat(ServiceError):
    status, code = 415, "unsupported-format"


class TooEarly(ServiceError):
    status, code = 425, "too-early"


class SlowDown(ServiceError):
    status, code = 429, "slow-down"


class TooManyJobs(ServiceError):
    status, code = 429, "too-many-jobs"


class Unavailable(ServiceError):
    status, code = 503, "unavailable"
