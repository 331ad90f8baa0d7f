"""Typical mistakes: the command of each, the essentials of its output, and the advice. docs/troubleshooting.md is made
of this table.

A command runs in a directory that `tests/docs/troubleshooting_world.py` furnishes. `{gateway}`, `{port}` and the like
stand for what differs from run to run; the page shows usual values instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

SHOP = "examples/my_shop.py --data examples/my_shop"
PERMISSIONS, SMALL_DISK, BUSY = "permissions", "small disk", "busy directory"

Needs = Literal["", "permissions", "small disk", "busy directory"]


@dataclass(frozen=True)
class Case:
    name: str
    """The mistake, as the heading of its section."""
    command: str
    code: int
    essentials: tuple[str, ...]
    """Regular expressions that any wording of the message must match: the thing it is about, and a remedy."""
    advice: str
    lines: int = 1
    """At most so many lines of output."""
    needs: Needs = ""
    setup: str = ""
    """A command that is run before, and must succeed."""
    interrupt_at: str = ""
    """Ctrl-C is pressed when this text has appeared."""
    environment: Mapping[str, str] = field(default_factory=dict)
    pending: str = ""
    """The output as it will be. The command is not run yet."""
    hint: str = ""
    """Shown above the command: the circumstances."""


FILES = [
    Case(
        "Wrong path of the data",
        "./cauce run examples/my_shop.py --data examples/my_shp",
        2,
        (r"examples/my_shp", r"does not exist", r"my_shop\b"),
        "Correct `--data`. It names the directory that holds the files, relative to the current directory.",
    ),
    Case(
        "A file in place of the directory",
        "./cauce run examples/my_shop.py --data examples/my_shop/ratings.csv",
        2,
        (r"ratings\.csv is a file", r"directory"),
        "Name the directory that holds all files of the dataset, not one of them.",
    ),
    Case(
        "The files are one directory below",
        "./cauce run examples/my_shop.py --data examples",
        2,
        (r"needs products\.csv", r"directory examples/my_shop"),
        "`./cauce datasets` lists the files of the built-in datasets.",
    ),
    Case(
        "A column is missing, or its name differs",
        "./cauce run examples/my_shop.py --data misspelt",
        2,
        (r"ratings\.csv lacks stars", r"star\b", r"first line"),
        'Correct the header of the file, or the column of the dataset: `Column("star", Decimal())`.',
        hint="The header of `misspelt/ratings.csv` is `sku,star`.",
    ),
    Case(
        "The header line is missing",
        "./cauce run examples/my_shop.py --data headless",
        2,
        (r"ratings\.csv lacks sku, stars", r"first line must name the columns"),
        "Add a first line with the names of the columns.",
    ),
    Case(
        "An empty file",
        "./cauce run examples/my_shop.py --data hollow",
        2,
        (r"ratings\.csv is empty", r"first line"),
        "A table without rows still needs its header line. Remove the file if another one holds the table.",
    ),
    Case(
        "A file that is not text",
        "./cauce run examples/my_shop.py --data binary",
        2,
        (r"ratings\.csv is not a text file", r"save it as CSV"),
        "Export spreadsheets as CSV. Give compressed files their usual endings; a zip archive must be unpacked.",
    ),
    Case(
        "A damaged compressed file",
        "./cauce run examples/my_shop.py --data damaged",
        1,
        (r"ratings\.csv\.gz cannot be decompressed", r"copy the file again"),
        "Check the file with `gzip -t`, and copy or download it again.",
    ),
    Case(
        "The same table twice",
        "./cauce run examples/my_shop.py --data twice",
        2,
        (r"ratings\.csv", r"same file twice", r"keep one"),
        "Keep the compressed or the plain file, not both.",
    ),
    Case(
        "No permission to read the data",
        "./cauce run examples/my_shop.py --data closed",
        2,
        (r"no permission to read", r"closed/ratings\.csv", r"chmod"),
        "Give yourself the right to read, or copy the files.",
        needs=PERMISSIONS,
    ),
    Case(
        "No permission to write the answers",
        f"./cauce run {SHOP} --out sealed/answers --workers 2",
        2,
        (r"sealed/answers", r"Permission denied", r"choose|another"),
        "Choose another directory with `--out`.",
        needs=PERMISSIONS,
    ),
    Case(
        "`--out` names a file",
        f"./cauce run {SHOP} --out notes.txt",
        2,
        (r"notes\.txt is a file", r"--out"),
        "Choose another directory with `--out`. It is created if it does not exist.",
    ),
    Case(
        "The disk is full",
        f"./cauce run {SHOP} --out small/answers --workers 2",
        1,
        (r"no space left", r"small/answers", r"free some space"),
        "Free some space and run the same command again, which continues where it stopped. Or keep the run's own files "
        "elsewhere with `--work DIRECTORY`.",
        needs=SMALL_DISK,
    ),
]

NAMES = [
    Case(
        "Misspelt dataset",
        "./cauce run cofee --data data",
        2,
        (r"cofee", r"coffee", r"\.py"),
        "Name a built-in dataset, or the path of a Python file that ends in `.py`.",
    ),
    Case(
        "Misspelt query",
        f"./cauce run {SHOP} --queries tag",
        2,
        (r"\btag\b", r"did you mean tags", r"ranking"),
        "`./cauce explain examples/my_shop.py` shows the queries of a dataset.",
    ),
    Case(
        "Misspelt option",
        f"./cauce run {SHOP} --formt json",
        2,
        (r"--formt", r"--format", r"-h"),
        "`./cauce run --help` lists the options of a command.",
        lines=4,
    ),
    Case(
        "Misspelt command",
        f"./cauce rum {SHOP}",
        2,
        (r"rum", r"\brun\b", r"-h"),
        "`./cauce --help` lists the commands.",
        lines=4,
    ),
    Case(
        "Unknown format",
        f"./cauce run {SHOP} --format xlsx",
        2,
        (r"xlsx", r"csv, json, parquet, arrow"),
        "Spreadsheets open CSV.",
    ),
    Case(
        "A value of the wrong type",
        f"./cauce run {SHOP} --workers two",
        2,
        (r"--workers", r"integer|number", r"-h"),
        "Write a number.",
        lines=4,
    ),
]

DATASETS = [
    Case(
        "The dataset file does not exist",
        "./cauce run shp.py --data examples/my_shop",
        2,
        (r"shp\.py", r"does not exist"),
        "Correct the path. It is relative to the current directory.",
    ),
    Case(
        "The dataset file is not valid Python",
        "./cauce run unclosed.py --data examples/my_shop",
        2,
        (r"unclosed\.py, line 4", r"was never closed"),
        "Correct the line that the message names.",
        lines=4,
    ),
    Case(
        "The dataset file declares no dataset",
        "./cauce run nameless.py --data examples/my_shop",
        2,
        (r"nameless\.py", r"name `?dataset`?"),
        "Assign the `Dataset` to the name `dataset`.",
    ),
    Case(
        "A query uses a column that does not exist",
        "./cauce run column.py --data examples/my_shop",
        2,
        (r"star\b", r"stars"),
        "Use the names under which the table declares its columns.",
        lines=4,
    ),
    Case(
        "A dataset file that runs itself",
        "./cauce run selfish.py --data examples/my_shop",
        2,
        (r"selfish\.py", r"cauce\.run", r"__main__"),
        'Put the call under `if __name__ == "__main__":`, or '
        "[pass the dataset object](python.md#a-dataset-of-the-program-itself).",
    ),
]

RUNS = [
    Case(
        "A second run in the same directory",
        f"./cauce run {SHOP} --out busy --workers 2",
        2,
        (r"busy/\.cauce-work", r"wait", r"--out"),
        "Wait until the first run ends, or give the second one its own directory.",
        needs=BUSY,
        hint="Another run writes to `busy/`.",
    ),
    Case(
        "An interrupted run",
        "./cauce run slow.py --data examples/my_shop --out stopped --workers 2",
        130,
        (r"stopped/\.cauce-work", r"same command|Continue with"),
        "Run the same command again. It continues where it stopped. To give up, remove `.cauce-work` in the output "
        "directory.",
        lines=3,
        interrupt_at="loading the dataset\n",
        hint="Ctrl-C was pressed.",
    ),
]

SERVICE = [
    Case(
        "The service does not run, or has another port",
        "./cauce jobs --gateway http://127.0.0.1:{dead_port}",
        1,
        (r"127\.0\.0\.1:{dead_port}", r"(?i)connection refused", r"serve|--gateway"),
        "Start the service with `./cauce serve --dir DIRECTORY`, or correct `--gateway` or `CAUCE_GATEWAY`.",
        lines=2,
    ),
    Case(
        "No token",
        "./cauce jobs --gateway {gateway}",
        2,
        (r"unauthorized", r"token"),
        "Ask the operator for a token. It is made by `./cauce token create NAME --dir DIRECTORY`, and sent in "
        "`CAUCE_TOKEN`, or in the file that `CAUCE_TOKEN_FILE` names.",
        environment={"CAUCE_TOKEN": ""},
        hint="The service was started with `--require-token`, or listens on more than loopback.",
    ),
    Case(
        "A wrong token",
        "CAUCE_TOKEN=cauce_mistyped ./cauce jobs --gateway {gateway}",
        2,
        (r"unauthorized", r"token", r"operator"),
        "Check `CAUCE_TOKEN`. A token that was removed does not work any more: ask for another.",
    ),
    Case(
        "An unknown job",
        "./cauce status yesterday --gateway {gateway}",
        2,
        (r"yesterday", r"list of jobs|jobs"),
        "`./cauce jobs` lists your jobs. Those of other tokens are not shown, unless the operator adds `--all-owners`; "
        "results are kept for 24 hours.",
    ),
    Case(
        "A job id that was used with other queries",
        f"./cauce submit {SHOP} --gateway {{gateway}} --job monday --queries ranking --out monday",
        1,
        (r"monday", r"another id|new id|other id"),
        "An id identifies one request and its files. Leave `--job` out, or choose another id.",
        setup=f"./cauce submit {SHOP} --gateway {{gateway}} --job monday --queries tags --no-wait",
        lines=2,
    ),
    Case(
        "A dataset that the service does not have",
        "./cauce submit unserved.py --data examples/my_shop --gateway {gateway} --job unserved --out unserved",
        2,
        (r"unserved", r"my_shop|--dataset"),
        "The service must be started with `--dataset unserved.py`.",
        lines=2,
    ),
    Case(
        "The port is in use",
        "./cauce serve --dir second --port {port}",
        2,
        (r"127\.0\.0\.1 port {port}", r"(?i)address already in use", r"--port"),
        "`--port 0` takes any free port and prints it.",
    ),
    Case(
        "The directory of a service is in use",
        "./cauce serve --dir service --port 0",
        2,
        (r"already running", r"service", r"stop --dir"),
        "Stop the running service, or choose another directory with `--dir`.",
    ),
    Case(
        "The disk of a service is full",
        "./cauce serve --dir tiny/service --port 0",
        1,
        (r"(?i)no space left", r"tiny/service", r"free some space|choose"),
        "Free some space and start it again: it continues with its jobs.",
        needs=SMALL_DISK,
    ),
]

RABBITMQ = [
    Case(
        "A wrong address of RabbitMQ",
        f"CAUCE_FABRIC=localhost:5672 ./cauce run {SHOP}",
        2,
        (r"localhost:5672", r"amqp://user:password@host:port"),
        "Write the address as the message shows it. [operations.md](operations.md) describes the parts.",
    ),
    Case(
        "RabbitMQ does not run",
        f"CAUCE_FABRIC=amqp://guest:guest@127.0.0.1:{{dead_port}} ./cauce run {SHOP} --out waiting",
        1,
        (r"127\.0\.0\.1:{dead_port}", r"Connection refused", r"start it"),
        "The command waits 30 s for the broker before it reports this. `./cauce broker start --dir DIRECTORY` starts "
        "private nodes for a trial.",
    ),
    Case(
        "RabbitMQ is not installed",
        "./cauce broker start --dir nodes",
        2,
        (r"not installed", r"apt-get install rabbitmq-server"),
        "Install it, or use the address of a RabbitMQ that runs elsewhere. Without `CAUCE_FABRIC` nothing but Python "
        "is needed.",
        environment={"PATH": "/nonexistent", "CAUCE_CACHE": "/nonexistent", "CAUCE_RABBITMQ_VERSION": ""},
    ),
]

GROUPS = {
    "Files": FILES,
    "Names and options": NAMES,
    "Datasets of your own": DATASETS,
    "Runs": RUNS,
    "The service": SERVICE,
    "RabbitMQ": RABBITMQ,
}
CASES = [case for group in GROUPS.values() for case in group]
