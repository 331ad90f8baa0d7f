"""Runs the command line of this process and maps its outcome to an exit code."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import TYPE_CHECKING

from cauce.cli.configuration import PREFIX, find
from cauce.errors import CauceError, FabricFull, JobFailed, UsageError
from cauce.terminal.invocation import PROGRAM, hide_secrets

if TYPE_CHECKING:
    from cauce.cli.parameters.direct import Parsed


def entry() -> None:
    """Runs the command line. Exit codes: 0 success, 1 failure, 2 wrong usage, 130 interrupted."""
    try:
        _accept_all_characters()
        hide_secrets()
        if not _run_directly(sys.argv[1:]):
            from cauce.cli.main import run_command_line

            run_command_line(sys.argv[1:])
    except SystemExit as ended:
        code = _code_of(ended)
    except UsageError as problem:
        _fail(problem)
        code = 2
    except CauceError as problem:
        _fail(problem)
        code = 1
    except KeyboardInterrupt:
        code = _interrupted()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as problem:
        # A full disk, a directory without write permission, a file that was removed: not a bug in Cauce.
        _fail(_file_error(problem))
        code = 1
    except Exception as problem:  # noqa: BLE001
        from cauce.cli.crash import crashed

        crashed(problem)
        code = 1
    else:
        code = 0
    sys.exit(code)


def _file_error(problem: OSError) -> CauceError:
    """What happened to a file, and the remedy."""
    if problem.errno in (errno.ENOSPC, errno.EDQUOT):
        where = f" for {problem.filename}" if problem.filename else ""
        return FabricFull(f"no space left{where}; free some space on the disk of the output, then run the same again")
    name, cause = problem.filename or "a file", problem.strerror or problem
    if problem.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return JobFailed(f"no access to {name}: {cause}; change its permissions, or choose another directory")
    return JobFailed(f"{name} cannot be used: {cause}")


def _accept_all_characters() -> None:
    """Lets standard output show a character that its encoding lacks, in a locale that is not UTF-8, by its code."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


def _run_directly(words: list[str]) -> bool:
    """Runs `cauce run` or `cauce sql` if its arguments are plain. False if Typer must parse them."""
    if words[:1] not in (["run"], ["sql"]) or _is_configured():
        return False
    from cauce.cli.parameters.direct import NotPlain

    try:
        if words[0] == "run":
            _run(words[1:])
        else:
            _sql(words[1:])
    except NotPlain:
        return False
    except Exception as problem:
        # Commands end by an exception of Typer, which handles it where it parses the arguments.
        code = getattr(problem, "exit_code", None) if "typer" in sys.modules else None
        if not isinstance(code, int):
            raise
        raise SystemExit(code) from problem
    return True


def _run(words: list[str]) -> None:
    from cauce.cli.options import FileOptions, QueryOptions, RunOptions
    from cauce.cli.parameters.direct import parse

    made = parse(words, (FileOptions, QueryOptions, RunOptions)).structs
    from cauce.cli.run import run_command

    run_command(made[FileOptions], made[QueryOptions], made[RunOptions])


def _sql(words: list[str]) -> None:
    from cauce.cli.options import ConnectionOptions, RunOptions
    from cauce.cli.parameters.direct import parse
    from cauce.cli.sql import SqlOptions, sql_command

    parsed: Parsed = parse(words, (SqlOptions, RunOptions, ConnectionOptions))
    made = parsed.structs
    sql_command(made[SqlOptions], made[RunOptions], made[ConnectionOptions], parsed.given.__contains__)


def _is_configured() -> bool:
    """Whether variables or a configuration file may set options, or a shell asks for completions."""
    prefixes = (f"{PREFIX}_", f"_{PREFIX}_")
    return any(name.startswith(prefixes) and name != PROGRAM for name in os.environ) or find(None) is not None


def _fail(problem: CauceError) -> None:
    from cauce.terminal.console import fail

    fail(problem)


def _code_of(ended: SystemExit) -> int:
    """Returns the exit code of a command, or the one for an exception that Typer turned into an exit."""
    if isinstance(ended.__context__, BrokenPipeError):
        # The reader of the output closed the pipe, as `head` does. Typer reports a failure, but nothing failed.
        return 0
    if "typer" in sys.modules:
        import typer

        if isinstance(ended.__context__, typer.Exit) and isinstance(ended.__context__.__cause__, KeyboardInterrupt):
            return _interrupted()
    return ended.code if isinstance(ended.code, int) else int(bool(ended.code))


def _interrupted() -> int:
    """Reports Ctrl-C for a command that does not report it itself."""
    from cauce.cli.crash import restore_terminal
    from cauce.terminal.console import warn

    restore_terminal()
    warn("interrupted")
    return 130


if __name__ == "__main__":
    entry()
