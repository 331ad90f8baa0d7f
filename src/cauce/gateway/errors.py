"""Errors of the service: one tree, each class with its HTTP status and a stable code.

ServiceError                  code                   status
├── BadRequest                bad-request            422   invalid names, numbers or choices
├── NoSuchJob                 no-such-job            404   also if the job belongs to another owner
├── NoSuchTable               no-such-table          404
├── NoSuchQuery               no-such-query          404
├── NoSuchDataset             no-such-dataset        404   also if the kept dataset belongs to another owner
├── JobExistsOtherwise        job-exists-otherwise   409   the id is used by a different job
├── JobOver                   job-over               409   parts for a job that has ended
├── JobDamaged                job-damaged            409   stored records of the job cannot be read
├── ReadsKeptDataset          reads-kept-dataset     409   parts for a job over a kept dataset
├── DatasetExistsOtherwise    dataset-exists-otherwise 409 the name is used by a different dataset
├── DatasetInUse              dataset-in-use         409   jobs read the kept dataset that is to be dropped
├── DatasetNotReady           dataset-not-ready      409   a table of the kept dataset is not complete yet
├── QuotaExceeded             quota                  403   a quota of the owner is reached
├── PartDiffers               part-differs           409   the part was stored with other content
├── TableComplete             table-complete         409   a new part for a table that is complete
├── CountDiffers              count-differs          409   completed, or being completed, with another count
├── PartsMissing              parts-missing          422
├── BadPart                   bad-part               422   cannot be read, lacks columns, or its digest differs
├── PartTooLarge              part-too-large         413
├── UnsupportedFormat         unsupported-format     415
├── TooEarly                  too-early              425   the answer is not complete yet
├── SlowDown                  slow-down              429   backpressure: unread or stored bytes at their limit
├── TooManyJobs               too-many-jobs          429
├── Unavailable               unavailable            503   the fabric did not confirm, or has no space
└── NoRoom                    no-room                503   the disk is nearly full
"""

from __future__ import annotations

from cauce.errors import CauceError


class ServiceError(CauceError):
    """Root of the tree. `retry_after` is in seconds; None if a retry is pointless."""

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


class NoSuchDataset(ServiceError):
    status, code = 404, "no-such-dataset"


class JobExistsOtherwise(ServiceError):
    status, code = 409, "job-exists-otherwise"


class JobOver(ServiceError):
    status, code = 409, "job-over"


class JobDamaged(ServiceError):
    status, code = 409, "job-damaged"


class ReadsKeptDataset(ServiceError):
    status, code = 409, "reads-kept-dataset"


class DatasetExistsOtherwise(ServiceError):
    status, code = 409, "dataset-exists-otherwise"


class DatasetInUse(ServiceError):
    status, code = 409, "dataset-in-use"


class DatasetNotReady(ServiceError):
    status, code = 409, "dataset-not-ready"


class QuotaExceeded(ServiceError):
    status, code = 403, "quota"


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


class NoRoom(ServiceError):
    status, code = 503, "no-room"
