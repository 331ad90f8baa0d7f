"""All errors that users can see, as one tree with stable codes.

CauceError                 code
├── UsageError             usage        the request is invalid; exit code 2, nothing was started
│   ├── UnknownName        unknown-name a dataset, query, table or parameter that does not exist
│   │   └── NoSuchAnswer   unknown-name answers hold no such query; a KeyError too
│   ├── DataNotFound       data-missing a file or folder that a query needs does not exist
│   ├── WrongColumns       wrong-columns a file lacks columns that a query needs
│   └── PlanError          plan         a query is declared in a way that cannot be planned
│       └── SqlError       sql          a SQL statement is not valid or not supported
├── JobFailed              job-failed   the job started and could not be completed; exit code 1
│   ├── MemoryExceeded     memory       a fold cannot be computed within the memory of its worker
│   ├── Conflict           conflict     two contents for one identity: a step was not a pure function of its input
│   └── TooManyRejects     too-many-rejects more rows were rejected than the user allows
├── WrongSplit             cut          the guessed record boundaries of a file were wrong; the job is restarted
├── BrokerFailed           broker       a private RabbitMQ node did not start, or a command on it failed
├── DockerFailed           docker       Docker did not start or stop a container
├── InputDiffers           input-differs the job id is already in use with other files
├── Unreachable            unreachable  no gateway of the service answered in time
├── Refused                (its own)    a gateway rejected a request; code and message come from the gateway
│   └── RefusedRequest     (its own)    the request itself is invalid; a UsageError too, exit code 2
└── FabricError            fabric       the fabric, which stores logs and leases, failed
    ├── FabricLost         lost         a write was not confirmed: it may or may not have been stored
    ├── FabricFull         full         no space is left for a write
    ├── JobGone            gone         a write to a job that does not exist any more
    ├── CorruptRecord      corrupt      a stored record is damaged
    ├── OtherVersion       version      stored data was written by another version of the program
    ├── DatasetMissing     dataset-missing this process was not started with the dataset of the job
    └── PlanMismatch       mismatch     the job was planned by another version of the program or the dataset
"""

from __future__ import annotations

from collections.abc import Iterable


class CauceError(Exception):
    """Root of the tree. The message says what happened, to what, and what to do next."""

    code = "error"

    def _render_traceback_(self) -> list[str]:
        """Notebooks show the message without the frames of the library, which would hide it."""
        return [f"{type(self).__name__}: {self}", *getattr(self, "__notes__", ())]


class UsageError(CauceError):
    code = "usage"


class UnknownName(UsageError):
    code = "unknown-name"


def unknown(what: str, name: str, known: Iterable[str], besides: str = "") -> UnknownName:
    """Builds the error for a `what` that does not exist. The message suggests a similar name and lists the known ones.
    `besides` describes another kind of value that is accepted."""
    names = list(known)
    # A setting may be listed with its default value, as in jobs=1000.
    hint = did_you_mean(name, [each.partition("=")[0] for each in names])
    expected = "; ".join(filter(None, [f"expected one of {', '.join(names)}" if names else "there are none", besides]))
    return UnknownName(f"unknown {what} {name}{hint or ';'} {expected}")


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Returns the end of a message about an unknown name: a suggestion of the nearest known name, or nothing."""
    from difflib import get_close_matches

    similar = get_close_matches(str(name), list(known), n=1)
    return f"; did you mean {similar[0]}?" if similar else ""


class NoSuchAnswer(UnknownName, KeyError):
    """Also a KeyError, because answers are a dictionary."""

    # KeyError would print the message in quotes.
    __str__ = Exception.__str__


class DataNotFound(UsageError):
    code = "data-missing"


class WrongColumns(UsageError):
    code = "wrong-columns"


class PlanError(UsageError):
    code = "plan"


class SqlError(PlanError):
    """`offset` is the position in the text; `line` and `column` count from 1."""

    code = "sql"

    def __init__(self, message: str, text: str, offset: int) -> None:
        self.offset = max(0, min(offset, len(text)))
        self.line, self.column = line_and_column(text, self.offset)
        self.message = message
        super().__init__(f"line {self.line}, column {self.column}: {message}")


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """The place of an offset in a text, counted from 1."""
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


class JobFailed(CauceError):
    code = "job-failed"


class Conflict(JobFailed):
    code = "conflict"


class MemoryExceeded(JobFailed):
    """A fold exceeds the memory of its worker and cannot be split further. The worker continues."""

    code = "memory"


class TooManyRejects(JobFailed):
    """More rows were rejected than `max_rejects` allows. No answer was written."""

    code = "too-many-rejects"


class WrongSplit(CauceError):
    """Never reaches a user: the caller restarts the job with a scan of the whole file."""

    code = "cut"


class BrokerFailed(CauceError):
    code = "broker"


class DockerFailed(CauceError):
    """`status` is the HTTP status of Docker's response, or 0 if it did not respond."""

    code = "docker"

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class InputDiffers(CauceError):
    """The job id is the client's idempotency key and identifies one input. Raised before any data is replaced."""

    code = "input-differs"


class Unreachable(CauceError):
    code = "unreachable"


class Refused(CauceError):
    """A gateway rejected a request. Carries the HTTP status and the stable code of its response."""

    def __init__(self, message: str, status: int, code: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class RefusedRequest(Refused, UsageError):
    pass


class FabricError(CauceError):
    code = "fabric"


class FabricLost(FabricError):
    code = "lost"


class FabricFull(FabricError):
    code = "full"


class JobGone(FabricError):
    """Another process has deleted the job. It has not failed: drop it."""

    code = "gone"


class CorruptRecord(FabricError):
    code = "corrupt"


class OtherVersion(FabricError):
    """The data is not damaged: the version of the program that wrote it can read it."""

    code = "version"


class DatasetMissing(FabricError):
    """The job does not fail, because another process may have the dataset."""

    code = "dataset-missing"


class PlanMismatch(FabricError):
    code = "mismatch"
