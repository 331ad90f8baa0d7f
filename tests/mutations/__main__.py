"""`./test mutations [NAME...]`: applies each mutation in a copy of the project and checks that its tests fail."""

from __future__ import annotations

import argparse
import sys
import tempfile
import textwrap
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from cauce.errors import UsageError, did_you_mean
from tests.mutations.mutation import Mutation
from tests.mutations.pytest_runs import PytestRun, adopt_orphans, run_tests
from tests.mutations.source_copy import SourceCopy, occurrences
from tests.mutations.table import ATTACKS, MUTATIONS
from tests.mutations.verdict import Judgement, Verdict, judge

UNMUTATED_S = 1200.0
WIDTH = 120
MOST_CHARACTERS = 400


def main(arguments: Sequence[str]) -> int:
    chosen = parse(arguments)
    if chosen is None:
        print_list()
        return 0
    adopt_orphans()
    with tempfile.TemporaryDirectory(prefix="cauce-mutations-", ignore_cleanup_errors=True) as scratch:
        verdicts = run_all(chosen, Path(scratch))
    print_summary(verdicts)
    return int(any(each.verdict is not Verdict.DETECTED for each in verdicts.values()))


def parse(arguments: Sequence[str]) -> list[Mutation] | None:
    """The mutations to run; None if they are to be listed. Exits if the arguments are invalid."""
    parser = argparse.ArgumentParser(prog="./test mutations", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="mutations to run; all by default")
    parser.add_argument("--list", action="store_true", help="print the mutations and run none")
    given = parser.parse_args(arguments)
    try:
        return None if given.list else choose(given.names)
    except UsageError as problem:
        parser.error(str(problem))


def choose(names: Sequence[str]) -> list[Mutation]:
    by_name = {each.name: each for each in MUTATIONS}
    for name in names:
        if name not in by_name:
            raise UsageError(f"unknown mutation {name}{did_you_mean(name, by_name)}; --list prints all")
    return [by_name[name] for name in names or by_name]


def run_all(chosen: Sequence[Mutation], scratch: Path) -> dict[str, Judgement]:
    copy = SourceCopy(scratch / "copy")
    tests = list(dict.fromkeys(test for mutation in chosen for test in mutation.tests))
    show(f"{len(chosen)} mutations, {len(tests)} tests. First, the tests without mutations:")
    unmutated = run_tests(copy.folder, scratch, tests, UNMUTATED_S)
    show(f"{sum(map(unmutated.passed, tests))} of {len(tests)} pass ({unmutated.seconds:.1f} s)")
    if unmutated.exit_code != 0:
        show(unmutated.output)
    verdicts: dict[str, Judgement] = {}
    for mutation in chosen:
        started = time.monotonic()
        verdicts[mutation.name] = found = run_one(mutation, copy, scratch, unmutated)
        seconds = time.monotonic() - started
        line = f"{found.verdict.value:<13} {seconds:5.1f} s  {mutation.name}: {found.test}: {found.why}"
        show(line[:MOST_CHARACTERS])
    return verdicts


def run_one(mutation: Mutation, copy: SourceCopy, scratch: Path, unmutated: PytestRun) -> Judgement:
    for each, count in zip(mutation.replacements, occurrences(copy.folder, mutation), strict=True):
        if count != 1:
            return Judgement(Verdict.NOT_READY, each.file, f"{each.old!r} occurs {count} times")
    for test in mutation.tests:
        if not unmutated.passed(test):
            return Judgement(Verdict.NOT_READY, test, "fails or is skipped without the mutation")
    with copy.mutated(mutation):
        return judge(mutation, run_tests(copy.folder, scratch, mutation.tests, mutation.timeout_s))


def print_list() -> None:
    for attack in ATTACKS:
        show(f"\n{attack.heading}")
        for mutation in attack.mutations:
            show(f"  {mutation.name}")
            show(textwrap.fill(mutation.old_behaviour, WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6))
            for place in (*(each.file for each in mutation.replacements), *mutation.tests):
                show(f"      - {place}")


def print_summary(verdicts: dict[str, Judgement]) -> None:
    show("")
    for attack in ATTACKS:
        found = [verdicts[each.name].verdict for each in attack.mutations if each.name in verdicts]
        if found:
            detected = found.count(Verdict.DETECTED)
            show(
                f"{'ok' if detected == len(found) else 'FAILED':<7} {detected:>2} of {len(found):>2}  {attack.heading}"
            )
    counts = Counter(each.verdict for each in verdicts.values())
    show(", ".join(f"{count} {verdict.value}" for verdict, count in counts.items()))
    for name, each in verdicts.items():
        if each.verdict is not Verdict.DETECTED:
            show(f"{each.verdict.value}: {name}: {each.test}: {each.why}")


def show(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
