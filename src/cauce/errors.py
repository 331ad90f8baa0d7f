"""Every error a user can meet, as one tree with stable codes.

CauceError                 code
├── UsageError             usage        the request is wrong; exit code 2, nothing was started
│   ├── UnknownName        unknown-name a dataset, query, table or parameter that does not exist
│   │   └── NoSuchAnswer   unknown-name answers hold no such query; a KeyError too
│   ├── DataNotFound       data-missing a file or folder that a query needs is not there
│   ├── WrongColumns       wrong-columns a file lacks columns that a query needs
│   └── PlanError          plan         a query is declared in a way that cannot be planned
├── JobFailed              job-failed   the work started and could not be finished; exit code 1
│   ├── Conflict           conflict     one name, two contents: a step was not a pure function of its input
│   └── TooManyRejects     too-many-rejects more rows could not be read than the user allows
├── CutWrongly             cut          a file misled the guess where its records begin; the work is done again
├── BrokerFailed           broker       a private RabbitMQ node did not start, or not do as asked
├── DockerFailed           docker       Docker did not start or end a container as asked
├── InputDiffers           input-differs a job id that was used before with other files
├── Unreachable            unreachable  no gateway of the service answered in time
├── Refused                (its own)    a gateway said no: the code and the sentence are the gateway's
│   └── RefusedRequest     (its own)    to a request that is wrong in itself; a UsageError too, exit code 2
└── FabricError            fabric       what carries logs and leases did not do as asked
    ├── FabricLost         lost         no confirmation came: what was to be written may be there or not
    ├── FabricFull         full         no room left for what was to be written
    ├── CorruptRecord      corrupt      a log holds bytes that are not what was written
    └── PlanMismatch       mismatch     another version of the program or the dataset is at work
"""

from __future__ import annotations

from collections.abc import Iterable


class CauceError(Exception):
    """Root of the tree. The message says what happened, to what, and what to do next."""

    code = "error"


class UsageError(CauceError):
    code = "usage"


class UnknownName(UsageError):
    code = "unknown-name"


def unknown(what: str, name: str, known: Iterable[str], besides: str = "") -> UnknownName:
    """The error for a `what` that does not exist: suggests a similar name, and lists those that exist. `besides` is
    another kind of value that is accepted."""
    names = list(known)
    # A setting may be listed with its default value, as in jobs=1000.
    hint = did_you_mean(name, [each.partition("=")[0] for each in names])
    expected = "; ".join(filter(None, [f"expected one of {', '.join(names)}" if names else "there are none", besides]))
    return UnknownName(f"unknown {what} {name}{hint or ';'} {expected}")


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the nearest known one, or nothing."""
    from difflib import get_close_matches

    similar = get_close_matches(str(name), list(known), n=1)
    return f"; did you mean {similar[0]}?" if similar else ""


class NoSuchAnswer(UnknownName, KeyError):
    """A KeyError as well, because answers are a dictionary."""

    # KeyError would print the message in quotes.
    __str__ = Exception.__str__


class DataNotFound(UsageError):
    code = "data-missing"


class WrongColumns(UsageError):
    code = "wrong-columns"


class PlanError(UsageError):
    code = "plan"


class JobFailed(CauceError):
    code = "job-failed"


class Conflict(JobFailed):
    code = "conflict"


class TooManyRejects(JobFailed):
    """More rows were rejected than `max_rejects` allows. No answer was written."""

    code = "too-many-rejects"


class CutWrongly(CauceError):
    """Never reaches a user: whoever started the work starts it again with a reading of the whole file."""

    code = "cut"


class BrokerFailed(CauceError):
    code = "broker"


class DockerFailed(CauceError):
    """`status` is Docker's, or 0 where it did not answer."""

    code = "docker"

    def __init__(self, said: str, status: int = 0) -> None:
        super().__init__(said)
        self.status = status


class InputDiffers(CauceError):
    """The job id is the client's idempotency key: it stands for one input. Raised before anything is replaced."""

    code = "input-differs"


class Unreachable(CauceError):
    code = "unreachable"


class Refused(CauceError):
    """What a gateway answered, with its HTTP status and its stable code."""

    def __init__(self, said: str, status: int, code: str) -> None:
        super().__init__(said)
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


class CorruptRecord(FabricError):
    code = "corrupt"


class PlanMismatch(FabricError):
    code = "mismatch"
