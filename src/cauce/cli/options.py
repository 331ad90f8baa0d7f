"""Options and arguments that several commands take, one by one and as groups. A group is a frozen dataclass; its fields
are the options."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cauce.cli.parameters import declared
from cauce.errors import UnknownName, UsageError
from cauce.process.limits import cores
from cauce.process.memory_limit import MemoryBudget
from cauce.worker.events import SERVICE_ATTEMPTS

if TYPE_CHECKING:
    from cauce.fabric.contract import Durability
    from cauce.plan import Dataset


def dataset_names(incomplete: str) -> list[str]:
    """Completes the built-in datasets. The shell itself completes paths."""
    from cauce.datasets import BUILT_IN

    return [name for name in BUILT_IN if name.startswith(incomplete)]


def format_names(incomplete: str) -> list[str]:
    from cauce.api.formats import FORMATS

    return [name for name in FORMATS if name.startswith(incomplete)]


DatasetArgument = Annotated[
    str,
    declared.Argument(
        help="books, movies, flights, coffee, or the path of your own .py file",
        metavar="DATASET",
        autocompletion=dataset_names,
    ),
]
DataOption = Annotated[Path, declared.Option(help="directory with the dataset's files", metavar="DIR")]
OutOption = Annotated[Path, declared.Option(help="directory for the answers", metavar="DIR")]
FormatOption = Annotated[
    str,
    declared.Option(help="format of the answers: csv, json, parquet or arrow", metavar="FORMAT",
                 autocompletion=format_names),
]  # fmt: skip
QueriesOption = Annotated[
    str, declared.Option(help="queries to answer, separated by commas", metavar="Q1,Q2", show_default="all")
]
SentimentOption = Annotated[
    str, declared.Option(help="how texts are scored: vader or textblob", metavar="NAME", show_default="vader")
]
PartitionsOption = Annotated[
    int,
    declared.Option(
        help="partitions of every keyed stage", min=0, max=4096, metavar="N", show_default="number of cores"
    ),
]
WorkersOption = Annotated[
    int, declared.Option(help="worker processes", min=0, max=256, metavar="N", show_default="number of cores")
]
ParamOption = Annotated[
    list[str] | None, declared.Option(help="a parameter of the dataset; repeatable", metavar="NAME=VALUE")
]
PowerOption = Annotated[
    bool, declared.Option("--power-safe", help="survive a power failure too (fsync), not only killed processes")
]
AttemptsOption = Annotated[
    int, declared.Option(help="crashes of workers on one part before the job fails", min=1, metavar="N")
]
MemoryOption = Annotated[
    str,
    declared.Option(
        help="memory of all workers together, such as 1GB; a job that needs more takes longer",
        metavar="SIZE",
        show_default="three quarters of the machine's",
    ),
]
SeedOption = Annotated[int, declared.Option(help="seed of the random choices", min=0, metavar="N")]
JsonOption = Annotated[bool, declared.Option("--json", help="print JSON")]
FABRIC, FABRIC_FILE = "CAUCE_FABRIC", "CAUCE_FABRIC_FILE"
TOKEN, TOKEN_FILE = "CAUCE_TOKEN", "CAUCE_TOKEN_FILE"
"""Environment variables that hold a secret, and those that name a file with the secret."""


def _fabric_check() -> Callable[..., str]:
    from cauce.cli.configured import checked_fabric

    return checked_fabric


def _token_check() -> Callable[..., str]:
    from cauce.cli.configured import checked_token

    return checked_token


FabricOption = Annotated[
    str,
    declared.Option(
        help="keep logs and leases on a RabbitMQ cluster instead of in files: "
        "amqp://user:password@host:port/vhost[,host:port…]; as it holds a password, prefer CAUCE_FABRIC, "
        "or set CAUCE_FABRIC_FILE to the path of a file",
        metavar="ADDRESS",
        envvar=FABRIC,
        allow_from_autoenv=False,
        show_default=False,
        callback_of=_fabric_check,
    ),
]
MaxRejectsOption = Annotated[
    str,
    declared.Option(
        help="fail without answers if more rows than this are rejected, such as 100 of all tables, or 5% of any table",
        metavar="N|P%",
        show_default=False,
    ),
]
SchemaOption = Annotated[
    Path | None,
    declared.Option("--schema", help="schema of the tables, as `cauce schema` prints it", metavar="FILE",
                 show_default="inferred"),
]  # fmt: skip
TypeOption = Annotated[
    list[str] | None,
    declared.Option("--type", help="type of a column, such as orders.paid=decimal; repeatable", metavar="COLUMN=TYPE"),
]
DirOption = Annotated[
    Path, declared.Option("--dir", help="directory of the service: jobs, tokens, logs", metavar="DIR")
]


def named_values(option: str, texts: Iterable[str] | None, example: str = "name=value") -> dict[str, str]:
    """The values of a repeatable option with `name=value`."""
    found: dict[str, str] = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"{option} {text} has no value; expected {example}")
        found[name] = value
    return found


@dataclass(frozen=True, kw_only=True)
class QueryOptions:
    """Queries of a dataset and their parameters."""

    dataset: DatasetArgument
    queries: QueriesOption = ""
    sentiment: SentimentOption = ""
    param: ParamOption = None

    @property
    def names(self) -> list[str]:
        return [name.strip() for name in self.queries.split(",") if name.strip()]

    def parameters(self, dataset: Dataset) -> dict[str, str]:
        if self.sentiment and "sentiment" not in [parameter.name for parameter in dataset.parameters]:
            raise UnknownName(f"dataset {dataset.name} has no texts to score; omit --sentiment")
        return self.given_parameters

    @property
    def given_parameters(self) -> dict[str, str]:
        """As they were given: the dataset may have other ones."""
        given = named_values("--param", self.param)
        return {**given, "sentiment": self.sentiment} if self.sentiment else given


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """Input files and answer files."""

    data: DataOption
    out: OutOption = Path("answers")
    format: FormatOption = "csv"
    max_rejects: MaxRejectsOption = ""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Execution of a run on this machine."""

    partitions: PartitionsOption = 0
    workers: WorkersOption = 0
    memory: MemoryOption = ""
    work: Annotated[
        Path | None, declared.Option(help="directory for temporary files", metavar="DIR", show_default="in --out")
    ] = None
    power_safe: PowerOption = False
    part_bytes: Annotated[
        int,
        declared.Option(
            help="size of a part of a table", min=0, max=2**30, metavar="BYTES", show_default="by the size of the files"
        ),
    ] = 0
    journal: Annotated[
        bool, declared.Option(help="record progress, so that a crashed task resumes at a checkpoint")
    ] = True
    attempts: AttemptsOption = 3
    fabric: FabricOption = ""

    @property
    def durability(self) -> Durability:
        return "power" if self.power_safe else "process"

    @property
    def partition_count(self) -> int:
        return self.partitions or cores()

    @property
    def worker_count(self) -> int:
        return self.workers or cores()

    @property
    def budget(self) -> MemoryBudget:
        return MemoryBudget.of(self.memory, self.worker_count)


@dataclass(frozen=True, kw_only=True)
class ConnectionOptions:
    """Access to a running service."""

    gateway: Annotated[
        list[str] | None,
        declared.Option(
            "--gateway",
            help="address of a gateway; repeatable",
            metavar="URL",
            envvar="CAUCE_GATEWAY",
            allow_from_autoenv=False,
            show_default="http://127.0.0.1:8080",
        ),
    ] = None
    token: Annotated[
        str,
        declared.Option(
            help="access token; prefer CAUCE_TOKEN, or set CAUCE_TOKEN_FILE to the path of a file",
            metavar="TOKEN",
            envvar=TOKEN,
            allow_from_autoenv=False,
            callback_of=_token_check,
        ),
    ] = ""
    ca: Annotated[
        str,
        declared.Option(
            help="certificates to trust, for https", metavar="FILE", envvar="CAUCE_CA", allow_from_autoenv=False
        ),
    ] = ""


@dataclass(frozen=True, kw_only=True)
class SourceOptions(ConnectionOptions):
    """The service whose processes are shown: a directory on this host, or a gateway."""

    dir: Annotated[
        Path | None, declared.Option("--dir", help="directory of the service, instead of --gateway", metavar="DIR")
    ] = None


@dataclass(frozen=True, kw_only=True)
class ProcessOptions:
    """Configuration that gateways and workers share."""

    dataset: Annotated[
        list[Path] | None,
        declared.Option("--dataset", help=".py file that declares a dataset of your own; repeatable", metavar="FILE"),
    ] = None
    power_safe: PowerOption = False
    memory: MemoryOption = ""
    fabric: FabricOption = ""
    log_format: Annotated[
        str, declared.Option(help="text, json, or auto: text on a terminal, JSON elsewhere", metavar="FORMAT")
    ] = "auto"
    log_level: Annotated[
        str, declared.Option(help="lowest level to log: debug, info, warning or error", metavar="LEVEL")
    ] = "info"


@dataclass(frozen=True, kw_only=True)
class WorkerOptions(ProcessOptions):
    attempts: AttemptsOption = SERVICE_ATTEMPTS


@dataclass(frozen=True, kw_only=True)
class ListenOptions:
    """Configuration of gateways: address, authentication and limits."""

    host: Annotated[
        str, declared.Option(help="address to listen on; other than loopback requires tokens", metavar="ADDRESS")
    ] = "127.0.0.1"
    port: Annotated[
        int, declared.Option(help="port to listen on (0: any free one)", min=0, max=65535, metavar="PORT")
    ] = 8080
    tokens: Annotated[
        Path | None, declared.Option(help="file with the tokens", metavar="FILE", show_default="tokens.json in --dir")
    ] = None
    require_token: Annotated[
        bool, declared.Option("--require-token", help="require a token from clients on this machine too")
    ] = False
    tls_cert: Annotated[
        Path | None, declared.Option(help="certificate for TLS (PEM)", metavar="FILE", show_default=False)
    ] = None
    tls_key: Annotated[
        Path | None, declared.Option(help="key of the certificate (PEM)", metavar="FILE", show_default=False)
    ] = None
    allow_files: Annotated[
        list[Path] | None,
        declared.Option("--allow-files", help="directory whose files clients may refer to; repeatable", metavar="DIR"),
    ] = None
    limit: Annotated[
        list[str] | None,
        declared.Option(
            "--limit",
            help="limit of the service, such as jobs=50; repeatable; an unknown name lists all",
            metavar="NAME=N",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class HostOptions(ListenOptions):
    """Configuration of the gateways that a doctor starts on its host."""

    host: Annotated[
        str,
        declared.Option(
            help="address of the gateways on this host; other than loopback requires tokens", metavar="ADDRESS"
        ),
    ] = "127.0.0.1"
    port: Annotated[
        int,
        declared.Option(help="port of the gateways on this host (0: no gateways)", min=0, max=65535, metavar="PORT"),
    ] = 0


@dataclass(frozen=True, kw_only=True)
class IdentityOptions:
    """Name of a single process, and the doctors that watch it."""

    name: Annotated[
        str, declared.Option(help="name of the process, such as worker-1@b", metavar="NAME", show_default=False)
    ] = ""
    doctors: Annotated[
        str, declared.Option(help="addresses of all doctors", metavar="HOST:PORT,…", show_default=False)
    ] = ""
    key_file: Annotated[
        Path | None, declared.Option(help="file with the cluster's key", metavar="FILE", show_default=False)
    ] = None
    generation: Annotated[
        str, declared.Option(hidden=True, help="set by a doctor", metavar="ID", allow_from_autoenv=False)
    ] = ""
    restarts: Annotated[
        int, declared.Option(hidden=True, help="set by a doctor", metavar="N", allow_from_autoenv=False)
    ] = 0


TimingOption = Annotated[
    list[str] | None,
    declared.Option(
        "--timing",
        help="timeout of the doctors, such as hung=60; repeatable; an unknown name lists all",
        metavar="NAME=SECONDS",
    ),
]
