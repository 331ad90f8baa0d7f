"""The service of kept datasets: create, upload, list, drop and expire. Synchronous steps, no HTTP, no threads. Every
gateway on the same fabric gives the same answers, and each may crash between two steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from cauce.api.names import check_owner, job_id_problem
from cauce.api.parts import Held, PartsBody
from cauce.datasets.registry import Registry
from cauce.errors import CauceError, FabricError, FabricFull, FabricLost, JobGone, UsageError, did_you_mean
from cauce.fabric.contract import Fabric
from cauce.gateway.errors import (
    BadRequest,
    CountDiffers,
    DatasetExistsOtherwise,
    DatasetInUse,
    NoSuchDataset,
    QuotaExceeded,
    Unavailable,
    UnsupportedFormat,
)
from cauce.gateway.jobs.idleness import Expiry, Idleness
from cauce.gateway.jobs.job_service import Jobs
from cauce.gateway.jobs.part_validation import REFERENCE_FORM
from cauce.gateway.jobs.planning import usable
from cauce.gateway.jobs.uploads import PartStore, PartTarget, Rules
from cauce.gateway.kept.read_model import KeptView, KeptViews
from cauce.gateway.limits import ServiceLimits
from cauce.gateway.model import PartBody
from cauce.job.kept import (
    DatasetDropped,
    KeptManifest,
    KeptVersion,
    StoredTable,
    new_incarnation,
    raw_log,
    store_name,
)
from cauce.job.kept_messages import KeepRequest, KeptDataset
from cauce.job.receipts import Receipts, completion_of
from cauce.scan.tables import TableSpec
from cauce.schema import DatasetSchema, spec_of
from cauce.sql_frontend.catalogue import type_of

KeptList = list[KeptDataset]

MOST_TABLES = 500
MOST_KEEP_S = 10 * 365 * 86_400.0
_NAMED = 5
"""How many jobs or datasets an error names."""
_QUOTA_AGE_S = 1.0
"""Other datasets of an owner are read again for his quota after this time."""
_REMEDY = (
    "the files have changed, or another upload to this dataset was interrupted or is running; send the same files, or "
    "wait for the other upload to complete"
)


class KeptDatasets:
    """The kept datasets of all owners, as read by one thread of a gateway."""

    def __init__(
        self,
        fabric: Fabric,
        limits: ServiceLimits,
        jobs: Jobs,
        datasets: Registry,
        idleness: Idleness,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._fabric = fabric
        self._limits = limits
        self._jobs = jobs
        self._datasets = datasets
        self._idleness = idleness
        self._clock = clock
        self._views = KeptViews(fabric, clock)
        self._parts = PartStore(fabric, limits, clock)
        self._measured: dict[str, tuple[float, int]] = {}
        """By dataset: when the bytes of the other datasets of its owner were summed, and their sum."""

    # Creating and reading.

    def create(self, owner: str, name: str, request: KeepRequest) -> tuple[KeptDataset, bool]:
        """Creates a dataset; True if it is new. Idempotent: the same request again returns the existing dataset."""
        check_name(name)
        store = store_name(check_owner(owner), name)
        wanted = self._manifest(owner, name, request)
        view = self._views.get(store)
        created = False
        if view is None:
            self._check_number(owner)
            ours = wanted.dump()
            created = self._fabric.create_job(store, ours) == ours
            view = self._views.get(store)
        if view is None:
            raise Unavailable(f"dataset {name} was dropped meanwhile: repeat the request", retry_after=1)
        view.refresh(self._fabric)
        if view.removal is not None:
            raise self._being_removed(view)
        _check_same(view.manifest, wanted)
        return view.status, created

    def _manifest(self, owner: str, name: str, request: KeepRequest) -> KeptManifest:
        if (request.schema is None) == (request.declared is None):
            raise BadRequest("give either `schema`, or `declared` with the name of a declared dataset")
        keep_s = self._limits.kept_seconds if request.keep_s is None else request.keep_s
        if not 1 <= keep_s <= MOST_KEEP_S:
            raise BadRequest(f"invalid keep_s {keep_s}; expected 1 to {MOST_KEEP_S:.0f} seconds")
        tables = self._tables_of_schema(request.schema) if request.schema is not None else None
        return KeptManifest(
            name,
            owner,
            new_incarnation(),
            self._clock(),
            keep_s,
            self._tables_declared(request.declared or "") if tables is None else tables,
            request.schema,
            request.declared or "",
        )

    def _tables_of_schema(self, schema: DatasetSchema) -> dict[str, StoredTable]:
        if not 1 <= len(schema.tables) <= MOST_TABLES:
            raise BadRequest(f"the schema has {len(schema.tables)} tables; expected 1 to {MOST_TABLES}")
        try:
            schema.check()
            specs = [spec_of(table) for table in schema.tables]
        except UsageError as problem:
            raise BadRequest(str(problem)) from problem
        return {
            spec.name: StoredTable(
                table.name, self._limits.lanes, tuple((column.name, column.type) for column in table.columns)
            )
            for spec, table in zip(specs, schema.tables, strict=True)
        }

    def _tables_declared(self, name: str) -> dict[str, StoredTable]:
        known = self._datasets.names()
        if name not in known:
            raise BadRequest(f"dataset {name[:80]!r} is not declared; expected one of {', '.join(known)}")
        with usable(name):
            specs = [table.spec for table in self._datasets.load(name).tables]
        return {
            spec.name: StoredTable(
                spec.name,
                1 if spec.small else self._limits.lanes,
                tuple((column, str(type_of(each.kind)).lower()) for column, each in spec.columns.items()),
            )
            for spec in specs
        }

    def _check_number(self, owner: str) -> None:
        limit = self._limits.kept_datasets_per_owner
        if sum(view.manifest.owner == owner for view in self._views.all()) >= limit:
            raise QuotaExceeded(f"you keep {limit} datasets, which is the limit; drop one that you no longer need")

    def get(self, owner: str, name: str) -> KeptDataset:
        return self.open(owner, name, consistent=True).status

    def list(self, owner: str) -> KeptList:
        """The datasets of an owner, oldest first."""
        found = [view for view in self._views.all() if view.manifest.owner == owner]
        for view in found:
            view.refresh(self._fabric)
        return [view.status for view in found if view.removal is None]

    def open(self, owner: str, name: str, *, consistent: bool = False) -> KeptView:
        """Raises NoSuchDataset if it does not exist, or is being removed."""
        check_name(name)
        view = self._views.get(store_name(check_owner(owner), name))
        if view is not None:
            view.refresh(self._fabric, consistent=consistent)
        if view is None or view.removal is not None:
            raise no_such_dataset(name, self._names(owner))
        return view

    def _names(self, owner: str) -> Sequence[str]:
        """The names of the datasets of an owner, as far as this gateway has read."""
        owned = [view for view in self._views.all() if view.manifest.owner == owner]
        return [view.manifest.name for view in owned if view.removal is None]

    def verify(self, version: KeptVersion) -> None:
        """Raises NoSuchDataset unless the dataset still exists and is not being removed. Sees every removal that was
        recorded before this call, so that a removal and a new job never miss each other."""
        self._fabric.read_barrier()
        view = self._views.get(version.store)
        if view is not None:
            view.refresh(self._fabric, consistent=True)
        if view is None or view.removal is not None or view.manifest.incarnation != version.incarnation:
            raise no_such_dataset(version.dataset)

    # Parts.

    def put_part(self, owner: str, name: str, table: str, seq: int, part: PartBody) -> bool:
        """Stores a part. True: new. False: the same part was stored already."""
        if part.form == REFERENCE_FORM:
            raise UnsupportedFormat("a kept dataset stores its data: send the rows, not a reference to a file")
        with self._deletion_of(name):
            view = self.open(owner, name)
            target = self._target(view, view.table(table))
            rules = Rules(lambda _: self._refuse(view), lambda size: self._check_bytes(view, size))
            new = self._parts.put(target, seq, part, rules)
            if seq not in target.receipts.held:
                raise Unavailable(f"part {seq} of table {table} was not stored: send it again", retry_after=1)
            return new

    def _target(self, view: KeptView, table: str) -> PartTarget:
        manifest = view.manifest
        spec = self._spec(manifest, table)
        lanes = tuple(raw_log(manifest.incarnation, table, lane) for lane in range(manifest.tables[table].lanes))
        return PartTarget(view.store, spec, frozenset(spec.columns), view.receipts[table], lanes, _REMEDY)

    def _spec(self, manifest: KeptManifest, table: str) -> TableSpec:
        if manifest.schema is not None:
            return spec_of(manifest.schema.table(manifest.tables[table].name))
        with usable(manifest.declared):
            tables = self._datasets.load(manifest.declared).tables
        for each in tables:
            if each.spec.name == table:
                return each.spec
        raise BadRequest(
            f"dataset {manifest.declared} no longer declares table {table}: drop {manifest.name} and upload it again"
        )

    def _refuse(self, view: KeptView) -> None:
        view.refresh(self._fabric)
        if view.removal is not None:
            raise no_such_dataset(view.manifest.name)

    def _check_bytes(self, view: KeptView, size: int) -> None:
        limit = self._limits.kept_bytes_per_owner
        if self._bytes_of(view.manifest.owner, view) + size > limit:
            raise QuotaExceeded(
                f"your datasets would have more than {limit:,} bytes, which is the limit; drop one that you no longer "
                "need"
            )

    def _bytes_of(self, owner: str, view: KeptView) -> int:
        """The bytes that an owner keeps. Those of other datasets than this one may be a second old."""
        moment = time.monotonic()
        at, others = self._measured.get(view.store, (0.0, 0))
        if not at or moment - at > _QUOTA_AGE_S:
            owned = [each for each in self._views.all() if each.manifest.owner == owner and each.store != view.store]
            for each in owned:
                each.refresh(self._fabric)
            others = sum(each.bytes for each in owned)
            self._measured[view.store] = moment, others
        return others + view.bytes

    def held(self, owner: str, name: str, table: str) -> Held:
        view = self.open(owner, name)
        return self._parts.held(view.store, view.receipts[view.table(table)])

    def parts(self, owner: str, name: str, table: str, first: int, limit: int) -> PartsBody:
        """The receipts of the stored parts, by number."""
        view = self.open(owner, name)
        return self._parts.parts(view.store, view.receipts[view.table(table)], first, limit)

    def complete(self, owner: str, name: str, table: str, parts: int) -> bool:
        """Completes a table with its number of parts; with a higher number than before, this is a new version of the
        dataset. True: completed now. False: it was completed before with the same number."""
        with self._deletion_of(name):
            view = self.open(owner, name, consistent=True)
            receipts = view.receipts[view.table(table)]
            if receipts.complete is not None and receipts.complete >= parts:
                if receipts.complete != parts:
                    raise CountDiffers(
                        f"table {table} was completed with {receipts.complete} parts; a new version must have more, "
                        f"not {parts}"
                    )
                return False
            self._parts.check_count(receipts, table, parts)
            self._complete(view, receipts, parts)
            return True

    def _complete(self, view: KeptView, receipts: Receipts, parts: int) -> None:
        """Parts are never replaced, so that concurrent completions cannot conflict: the highest counts."""
        self._fabric.append(view.store, receipts.log, [completion_of(parts, self._clock())])
        receipts.advance(self._fabric, view.store)
        if receipts.complete is None:
            raise Unavailable("the completion was not stored: complete the table again", retry_after=1)

    # The end of a dataset.

    def drop(self, owner: str, name: str, *, force: bool = False) -> KeptDataset:
        """Removes a dataset. Raises DatasetInUse if jobs read it; with `force` these fail."""
        with self._deletion_of(name):
            view = self.open(owner, name, consistent=True)
            version = _any_version(view)
            readers = self._jobs.open_on(version)
            if readers and not force:
                raise _in_use(view, readers)
            view.remove(self._fabric, "dropped", self._clock())
            if force:
                self._jobs.fail_on(
                    version, DatasetDropped(f"the kept dataset {name} was dropped with force while the job read it")
                )
            self._delete_unless_read(view)
            return view.status

    def _delete_unless_read(self, view: KeptView) -> bool:
        """A job that was created at the same time keeps the data until it ends; a sweep deletes it then."""
        if self._jobs.open_on(_any_version(view)):
            return False
        self._fabric.delete_job(view.store)
        self._views.forget(view.store)
        self._measured.pop(view.store, None)
        return True

    def sweep(self) -> KeptList:
        """Marks overdue datasets as expired, and deletes removed ones that no job reads. Returns the deleted ones. A
        dataset that fails does not stop the sweep of the others; the first error is raised at the end."""
        deleted: KeptList = []
        problems: list[CauceError] = []
        for view in self._views.all():
            try:
                deleted += [view.status] if self._sweep_one(view) else []
            except (FabricFull, FabricLost):
                raise
            except FabricError as problem:
                problems.append(problem)
        if problems:
            raise problems[0]
        return deleted

    def _sweep_one(self, view: KeptView) -> bool:
        view.refresh(self._fabric)
        if view.removal is None and self._is_overdue(view):
            # Another gateway may have received parts in the meantime.
            view.refresh(self._fabric, consistent=True)
            if self._is_overdue(view):
                view.remove(self._fabric, "expired", self._clock())
        return view.removal is not None and self._delete_unless_read(view)

    def _is_overdue(self, view: KeptView) -> bool:
        activity = tuple((each.count, each.complete) for each in view.receipts.values())
        keep_s = view.manifest.keep_s
        expiry = Expiry(view.expires, keep_s, min(keep_s, self._limits.receiving_seconds), activity)
        return self._idleness.is_overdue(view.store, expiry)

    def _being_removed(self, view: KeptView) -> CauceError:
        readers = self._jobs.open_on(_any_version(view))
        if not readers:
            self._delete_unless_read(view)
            return Unavailable(f"dataset {view.manifest.name} was just removed: send this again", retry_after=1)
        return _in_use(view, readers)

    @contextmanager
    def _deletion_of(self, name: str) -> Iterator[None]:
        """Answers as for a missing dataset if another gateway deletes it during the request."""
        try:
            yield
        except JobGone as problem:
            raise no_such_dataset(name) from problem


def check_name(name: str) -> str:
    problem = job_id_problem(name)
    if problem is not None:
        raise BadRequest(problem.replace("job id", "dataset name"))
    return name


def no_such_dataset(name: str, kept: Sequence[str] = ()) -> NoSuchDataset:
    """`kept`: the datasets of the same owner, for a suggestion."""
    found = f"dataset {name} is not kept here: it was never uploaded, was dropped, or has expired"
    if not kept:
        return NoSuchDataset(found)
    return NoSuchDataset(f"{found}{did_you_mean(name, kept) or f'; you keep {_named(kept)}'}")


def _named(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMED]) + (" …" if len(names) > _NAMED else "")


def _in_use(view: KeptView, readers: list[str]) -> DatasetInUse:
    named = _named(readers)
    jobs = "job" if len(readers) == 1 else f"{len(readers)} jobs"
    if view.removal is not None:
        return DatasetInUse(
            f"dataset {view.manifest.name} is {view.removal.why} and its data is removed when {jobs} {named} "
            f"{'has' if len(readers) == 1 else 'have'} ended; use another name, or retry then"
        )
    return DatasetInUse(
        f"dataset {view.manifest.name} is read by {jobs} {named}; wait for the end, or drop it with force, and "
        "these jobs fail"
    )


def _any_version(view: KeptView) -> KeptVersion:
    return KeptVersion(view.manifest.name, 0, view.store, view.manifest.incarnation, {})


def _check_same(standing: KeptManifest, wanted: KeptManifest) -> None:
    """Raises if a name is reused with a different request, and names the difference."""
    found = []
    if standing.declared != wanted.declared or (standing.schema is None) != (wanted.schema is None):
        found.append(f"{_words(standing)}, not with {_words(wanted)}")
    elif standing.schema != wanted.schema:
        found.append("another schema")
    if standing.keep_s != wanted.keep_s:
        found.append(f"a time of {standing.keep_s:g} s, not of {wanted.keep_s:g} s")
    if found:
        raise DatasetExistsOtherwise(
            f"dataset {standing.name} was created with {' and '.join(found)}: use another name, or drop it first"
        )


def _words(manifest: KeptManifest) -> str:
    return f"the declared dataset {manifest.declared}" if manifest.declared else "a schema"
