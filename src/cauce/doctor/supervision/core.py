"""The state machine of a doctor, without I/O or clock: times, messages and process exits in, actions out.

The doctor process and the simulation run the same code. Its failure detection may be wrong; only the time to recover
may depend on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from cauce.doctor.election.bully import Bully
from cauce.doctor.election.connectivity import Connectivity
from cauce.doctor.election.ring import ring_assignment
from cauce.doctor.heartbeat.schedule import HeartbeatReport, HeartbeatSchedule
from cauce.doctor.model.actions import Action, Exit, MonitorExit, RecordDesired, RecordEvent, Send, Signal, StartProcess
from cauce.doctor.model.clock import PauseAwareClock
from cauce.doctor.model.desired_state import RING, RUNNING, DesiredEntries, DesiredEntry, DesiredUpdate, released
from cauce.doctor.model.messages import (
    Ack,
    Cause,
    Epoch,
    ExitReport,
    Generation,
    Heartbeat,
    Kill,
    Launch,
    Leader,
    Message,
    ObservedProcess,
    ProcessIdentity,
    ProcessList,
)
from cauce.doctor.model.names import role_of
from cauce.doctor.model.process_table import Instance, ProcessTable
from cauce.doctor.model.timing import Timing
from cauce.doctor.supervision.exit_reports import PendingExits
from cauce.doctor.supervision.reconciler import Reconciler
from cauce.worker.events import NO_WORK

PROCESS_LIST_S = 1.0
"""Interval at which the list of this host's processes is sent to other hosts."""
REVIVE_S = 3.0
"""A heartbeat this long after a reported exit means that the report was wrong: the process is alive."""


class Core:
    """State machine of a doctor. Each input method returns the actions to execute."""

    def __init__(
        self, who: ProcessIdentity, timing: Timing, time_s: float, doctors: Mapping[str, str], epoch: Epoch
    ) -> None:
        """`doctors` maps known doctors to their addresses; `epoch` is the highest one known on this host."""
        self.who = who
        self.processes = ProcessTable()
        self.desired = DesiredEntries()
        self.bully = Bully(who.name, doctors, timing, 0.0, epoch)
        self.connectivity = Connectivity(who.host, self.processes, timing.lost, dict(doctors))
        self.reconciler = Reconciler(who.name, who.host, timing, self.processes, self.desired, self.connectivity)
        self.heartbeat = HeartbeatSchedule(who, dict(doctors), timing, starts_doctors=False)
        self._clock = PauseAwareClock(timing.stride)
        self._clock.advance(time_s)
        self._pending_exits = PendingExits(self.reconciler, 2 * timing.leader_silence)
        self._process_list_due = 0.0
        self._led = Epoch()
        self._own = self.processes.add(
            Instance(who.name, who.generation, who.host, 0.0, who.pid, who.start, who.restarts)
        )
        self._own.heartbeat.set_own(NO_WORK, 0.0)

    @property
    def leads(self) -> bool:
        return self.bully.leads

    @property
    def now(self) -> float:
        return self._clock.now

    @property
    def _stopping(self) -> bool:
        return self.desired.state.known and not self.desired.state.running

    def start(self, time_s: float, running_processes: Iterable[ObservedProcess]) -> list[Action]:
        """`running_processes` are processes of this host that were running before this doctor."""
        now = self._clock.advance(time_s)
        actions = [action for seen in running_processes for action in self._observed(now, seen)]
        return [*actions, *self.bully.start(now)]

    def tick(self, time_s: float, report: HeartbeatReport) -> list[Action]:
        now = self._clock.advance(time_s)
        self._own.heartbeat.set_own(report.work, now)
        self._own.observed.apply_heartbeat(report.rss)
        actions = [*self.heartbeat.tick(time_s, report)]
        if not self._stopping:
            actions += [*self._elect(now, self.bully.tick(now)), *self._lead(now)]
        actions += [*self._shut_down(now), *self._send_process_list(now)]
        self._pending_exits.drop(now)
        self.processes.forget(now)
        return actions

    def desired_changed(self, time_s: float, entries: Iterable[DesiredEntry]) -> list[Action]:
        """Merges desired-state entries, forwards new ones to the other doctors and acts on them."""
        now = self._clock.advance(time_s)
        received = list(entries)
        changed = self.desired.add(received)
        if not changed:
            return []
        for name in map(released, changed):
            if name:
                self.reconciler.cancel_backoff(name, now)
        self.bully.set_peers(self.doctors())
        # Forwarded before any action, so that no doctor works against the new desired state.
        forwarded = [Send(peer, DesiredUpdate(received)) for peer in self._peers()]
        return [*forwarded, *self._shut_down(now), *self._lead(now)]

    def stop(self, time_s: float, why: str) -> list[Action]:
        """Stops the service, decided by this doctor itself."""
        if self._stopping:
            return []
        entry = self.desired.next(RUNNING, "no", self.who.name, why)
        return [RecordDesired(entry), *self.desired_changed(time_s, [entry])]

    def process_started(self, name: str, generation: Generation, pid: int, start: int) -> list[Action]:
        """Monitors a child even in ring mode: only the parent can read its exit code."""
        instance = self.processes.find(name, generation)
        if instance is None:
            return []
        instance.set_process(pid, start)
        return [MonitorExit(name, generation, pid, start)]

    def duplicate_exited(self, name: str, generation: Generation, pid: int) -> None:
        """A child exited because another process already runs this generation, and will send heartbeats."""
        instance = self.processes.find(name, generation)
        if instance is not None and instance.pid == pid:
            instance.set_process(0, 0)

    def processes_observed(self, time_s: float, seen: Iterable[ObservedProcess]) -> list[Action]:
        """Applies a scan of this host's processes. A process missing from it has exited, reported or not."""
        now = self._clock.advance(time_s)
        found = {(each.name, each.generation): each for each in seen}
        actions: list[Action] = []
        for instance in self.own_instances():
            if instance.pid and (instance.name, instance.generation) not in found:
                actions += self.exited(time_s, instance.name, instance.generation)
        for each in found.values():
            actions += self._observed(now, each)
        return actions

    def _observed(self, now: float, seen: ObservedProcess) -> list[Action]:
        """A process of this host runs, even if the process table has recorded its exit."""
        instance = self.processes.find(seen.name, seen.generation)
        unknown = instance is None or not instance.alive
        if instance is None:
            instance = self.processes.add(Instance(seen.name, seen.generation, self.who.host, now))
            self.bully.note_epoch(seen.generation.epoch)
        elif not instance.alive:
            instance.mark_alive()
        instance.observe(seen, self.who.host, now)
        return self._monitor(instance) if unknown else []

    def own_instances(self) -> list[Instance]:
        """Live instances on this host."""
        return [each for each in self.processes.every() if each.alive and each.host == self.who.host]

    def exited(self, time_s: float, name: str, generation: Generation, cause: Cause | None = None) -> list[Action]:
        """A process of this host has exited."""
        now = self._clock.advance(time_s)
        reports = [Send(peer, ExitReport(name, generation, cause or Cause())) for peer in self._peers()]
        return [*reports, *self._exited(now, name, generation, cause or Cause(), "its exit was observed")]

    def receive(
        self, time_s: float, sender: str, generation: Generation, address: str, message: Message
    ) -> list[Action]:
        now = self._clock.advance(time_s)
        match message:
            case Heartbeat():
                return self._heartbeat(now, sender, address, message)
            case Ack():
                return self.heartbeat.receive(sender, message)
            case ExitReport():
                return self._exit_reported(now, message)
            case _ if role_of(sender) != "doctor" or self.connectivity.is_superseded(sender, generation):
                return []
        self.connectivity.receive(now, sender, address)
        match message:
            case Launch(epoch) | Kill(epoch) if epoch < self.bully.highest:
                # From a deposed leader: ignored, and the reply names the current leader.
                return list(self.bully.receive(now, sender, Leader(epoch, sender)))
            case Launch():
                return self._launch_requested(now, sender, message)
            case Kill():
                return self._kill_requested(sender, message)
            case ProcessList():
                return self._process_list_received(now, message)
            case DesiredUpdate(entries):
                return self.desired_changed(time_s, entries)
        return self._elect(now, self.bully.receive(now, sender, message))

    def doctors(self) -> list[str]:
        return self.desired.state.doctors() or sorted(self.heartbeat.doctors)

    def _peers(self) -> list[str]:
        return [name for name in self.doctors() if name != self.who.name]

    def _heartbeat(self, now: float, sender: str, address: str, heartbeat: Heartbeat) -> list[Action]:
        actions: list[Action] = []
        instance = self.processes.find(sender, heartbeat.generation)
        if instance is None:
            instance = self.processes.add(
                Instance(sender, heartbeat.generation, heartbeat.host, now, heartbeat.pid, heartbeat.start)
            )
            actions += self._monitor(instance)
        if (
            instance.exited_at is not None
            and now - instance.exited_at > REVIVE_S
            and heartbeat.seq > instance.heartbeat.seq
        ):
            instance.mark_alive()
            actions += self._monitor(instance)
        self.processes.forget_unconfirmed(sender, heartbeat.generation)
        newest = self.processes.newest(sender) or instance
        history = self.processes.history(sender)
        history.count_restarts(heartbeat.restarts + 1)
        if instance.alive:
            instance.receive(heartbeat, now)
            if instance is newest:
                actions += self._newest_heard(now, instance, address)
        self.bully.note_epoch(max(heartbeat.epoch, newest.generation.epoch))
        actions += self.heartbeat.receive(sender, heartbeat)
        return [*actions, Send(sender, self._ack(sender, newest.generation), address)]

    def _newest_heard(self, now: float, instance: Instance, address: str) -> list[Action]:
        self.connectivity.addresses[instance.name] = address
        if role_of(instance.name) == "doctor":
            self.connectivity.receive(now, instance.name, address)
        history = self.processes.history(instance.name)
        after_s = history.recovered_after(now) if instance.heartbeat.ready else None
        if after_s is None or not self.leads:
            return []
        work = instance.heartbeat.work
        event = RecordEvent("recovered", instance.name, instance.generation, held=work, after_s=after_s)
        return self._pending_exits.defer_events([event], now)

    def _ack(self, name: str, newest: Generation) -> Ack:
        epoch = self.bully.epoch if self.bully.leader else Epoch()
        watch = (
            ring_assignment(name, self.desired.state, self.processes, self.connectivity.addresses)
            if self.leads
            else None
        )
        return Ack(epoch, newest, dict(self.connectivity.addresses_of(self.doctors())), watch)

    def _exit_reported(self, now: float, report: ExitReport) -> list[Action]:
        if not report.silent:
            return self._exited(now, report.name, report.generation, report.cause, "its exit was reported")
        instance = self.processes.find(report.name, report.generation)
        if instance is not None:
            instance.heartbeat.report_timeout()
        return []

    def _launch_requested(self, now: float, sender: str, request: Launch) -> list[Action]:
        known = self.processes.find(request.name, request.generation)
        if known is not None:
            return [] if known.alive else [Send(sender, ExitReport(request.name, request.generation))]
        newest = self.processes.newest(request.name)
        if (newest is not None and newest.generation > request.generation) or not self.desired.state.should_run(
            request.name
        ):
            return []
        self.processes.add(Instance(request.name, request.generation, self.who.host, now, restarts=request.restarts))
        return [StartProcess(request.name, request.generation, request.restarts)]

    def _kill_requested(self, sender: str, request: Kill) -> list[Action]:
        instance = self.processes.find(request.name, request.generation)
        if instance is None or not instance.alive:
            return [
                Send(sender, ExitReport(request.name, request.generation, Cause(None, "no such process on its host")))
            ]
        instance.termination.expect(request.why, requested=request.how == "term")
        return [Signal(request.name, request.generation, request.how)]

    def _process_list_received(self, now: float, listed: ProcessList) -> list[Action]:
        for each in listed.processes:
            self.bully.note_epoch(each.generation.epoch)
        cause = Cause(None, "no longer in the process list of its host")
        missing = list(self.connectivity.apply(now, listed))
        how = "missing from its host's process list"
        return [
            action
            for instance in missing
            for action in self._exited(now, instance.name, instance.generation, cause, how)
        ]

    def _exited(self, now: float, name: str, generation: Generation, cause: Cause, how: str) -> list[Action]:
        instance = self.processes.find(name, generation)
        if instance is None:
            return []
        if not instance.alive:
            self._pending_exits.add_cause(instance, cause)
            return self._lead(now)
        if instance.termination.why and (cause.code or -1) < 0:
            cause = Cause(cause.code, instance.termination.why, cause.last)
        self.reconciler.record_exit(instance, now, cause)
        self._pending_exits.add(instance, cause, now, how)
        gone = role_of(name) == "doctor" and self.processes.newest(name) is instance and not self._stopping
        elected = self._elect(now, self.bully.peer_exited(now, name)) if gone else []
        return [*elected, *self._lead(now)]

    def _elect(self, now: float, sends: Sequence[Send]) -> list[Action]:
        """The messages of the election, and the first actions as leader if it was won."""
        if not self.leads or self._led == self.bully.epoch:
            return list(sends)
        self._led, self.reconciler.launches = self.bully.epoch, 0
        event = RecordEvent("elected", self.who.name, self.who.generation, f"epoch {self._led.number}")
        return [*sends, event, *self._lead(now)]

    def _lead(self, now: float) -> list[Action]:
        if not self.leads:
            return []
        ack = self._ack(self.who.name, self.who.generation)
        monitoring = self.heartbeat.receive(self.who.name, ack)
        exits = self._pending_exits.publish(now)
        return [
            *exits,
            *monitoring,
            *self._pending_exits.defer_events(self.reconciler.reconcile(now, self.bully.epoch), now),
        ]

    def _shut_down(self, now: float) -> list[Action]:
        """When the service stops, each doctor terminates its own host's processes, then exits. This needs no leader."""
        desired = self.desired.state
        if not desired.known or desired.should_run(self.who.name):
            return []
        if desired.running:
            return [Exit(False, "no longer part of the desired state")]
        others = [each for each in self.own_instances() if role_of(each.name) != "doctor"]
        actions: list[Action] = []
        for instance in others:
            actions += self.reconciler.terminate(
                instance, now, self.bully.epoch, "term", "the service is being stopped", requested=True
            )
        return actions if others else [Exit(False, "the service has been stopped")]

    def _send_process_list(self, now: float) -> list[Action]:
        others = [peer for peer in self._peers() if self.connectivity.host_of(peer) != self.who.host]
        if not others or now < self._process_list_due:
            return []
        self._process_list_due = now + PROCESS_LIST_S
        return [Send(peer, self.connectivity.own_process_list()) for peer in others]

    def _monitor(self, instance: Instance) -> list[Action]:
        """In star mode a doctor monitors every process of its host; in ring mode, only doctors and its predecessor."""
        if instance.host != self.who.host or not instance.pid:
            return []
        if self.desired.state.watch == RING and role_of(instance.name) != "doctor":
            return []
        return [MonitorExit(instance.name, instance.generation, instance.pid, instance.start)]
