"""Measures the implementations of one case side by side. Every round samples each of them once, in random order, so
that drift (clocks, heat, other processes) affects all alike.

A track is one implementation with one cache state and method. It ends when its median is precise enough; disturbed
samples are repeated while there is time. Two more rounds are verified sample by sample and not timed: a random one
among the first, and the last, on new inputs.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from kernelbench.core import statistics
from kernelbench.core.contracts import Heartbeat, no_heartbeat
from kernelbench.core.errors import EVERYBODYS, DeviceLost, reason_of
from kernelbench.core.records import Cache, Measurement
from kernelbench.core.stopwatch import FILLING, MEASURING, PREPARING, VERIFYING, Stopwatch
from kernelbench.measure.case_data import CaseData
from kernelbench.measure.conditions import Watch, disturbance_text
from kernelbench.measure.staging import CaseStaging
from kernelbench.measure.timing import GRAPH_REPEATS, EventTimer, FlushGraph, GraphTimer
from kernelbench.measure.tracks import GRAPH_BELOW_S, LONG_S, Contender, Precision, Track
from kernelbench.measure.verify import check_after_run

GRAPH_UP_TO = 10  # if the fastest takes less than GRAPH_BELOW_S, graphs time all below this many times that
PILOT_SAMPLES = 3
# Below this, a sample begins with an untimed run: five launches of CuPy took 25.4 us after 70 samples of other kernels,
# whose code had replaced theirs in the cache, and 23.5 after their own. Above this, it costs too much.
REHEARSED_BELOW_S = 200e-6
LOOK_EVERY = 4  # rounds between two checks of the medians' precision
# Above this many times the L2, nothing that a run leaves in the L2 is read by the next run before it is evicted.
WARM_UP_TO_L2 = 4


Done = TypeVar("Done")


class CaseMeasurement:
    """Runs the rounds of one case; the contenders receive the results."""

    def __init__(
        self,
        data: CaseData,
        caches: Sequence[Cache],
        precision: Precision,
        seed: int,
        progress: Callable[[float], None] = lambda share: None,
        heartbeat: Heartbeat = no_heartbeat,
        stopwatch: Stopwatch | None = None,
    ) -> None:
        self.heartbeat, self.stopwatch = heartbeat, stopwatch or Stopwatch()
        self.data, self.device = data, data.device
        self.caches, self.precision = caches, precision.over(len(data.placements))
        self.seed, self.progress = seed, progress
        self.random = np.random.default_rng(seed)
        self.staging = CaseStaging(data, seed + 2)
        self.flushes: list[float] = []
        self.watch = Watch(self.device)

    def run(self, contenders: Sequence[Contender]) -> None:
        with self.stopwatch.on(MEASURING):
            tracks = self._tracks(contenders)
            number = self._rounds(tracks)
        self._verified_round(tracks, number, seed=self.seed + 1)
        alive = [track for track in tracks if not track.contender.failure]
        self.watch.look(now=True)
        flush_s = self._flush_s()
        for track in alive:
            if track.contender.failure:
                continue
            measured = self._measurement(track, flush_s)
            if measured.median_s > self.device.clock.resolution_s / GRAPH_REPEATS:
                track.contender.measurements.append(measured)
            else:
                track.contender.notes.append(f"no {measured.method} timing: too short to be told from the flushes")

    # ---- Which tracks ----

    def _tracks(self, contenders: Sequence[Contender]) -> list[Track]:
        """Event timers for all, with a short pilot that also warms up; graph timers for short kernels."""
        tracks: list[Track] = []
        pilots: dict[str, float] = {}
        caches = self._caches(contenders)
        for contender in contenders:
            timers = [
                EventTimer(self.device.clock, contender.executables, cache, staging=self.staging) for cache in caches
            ]
            pilot = self._attempt(contender, lambda timers=timers: self._pilot(timers))  # type: ignore[misc]
            if pilot is not None:
                pilots[contender.implementation.name] = pilot
                for one in timers:
                    one.rehearsed = pilot < REHEARSED_BELOW_S
                tracks += [Track(contender, timer) for timer in timers]
        if "cold" not in caches or not pilots or min(pilots.values()) >= GRAPH_BELOW_S:
            return tracks
        self.flush_graph = FlushGraph(self.device.clock)
        for contender in contenders:
            if pilots.get(contender.implementation.name, float("inf")) < GRAPH_UP_TO * GRAPH_BELOW_S:
                self.heartbeat(contender.implementation.name)
                try:
                    with self.stopwatch.on(PREPARING):
                        timer = GraphTimer(self.device.clock, contender.executables, staging=self.staging)
                    for track in tracks:
                        track.beside_graph |= track.contender is contender and track.timer.cache == "cold"
                    tracks.append(Track(contender, timer))
                except (DeviceLost, *EVERYBODYS):
                    raise
                except Exception as error:
                    contender.notes.append(f"no graph timing: {reason_of(error)}")
        return tracks

    def _caches(self, contenders: Sequence[Contender]) -> list[Cache]:
        """The requested cache states, without "warm" if the data is too large for the L2."""
        moved = self.data.operation.bytes_moved(self.data.case)
        times = moved / self.device.properties.l2_bytes
        if "warm" not in self.caches or times <= WARM_UP_TO_L2:
            return list(self.caches)
        for contender in contenders:
            contender.notes.append(f"not timed warm: the data is {times:.0f} times the L2, which holds none of it")
        return [cache for cache in self.caches if cache != "warm"]

    def _pilot(self, timers: Sequence[EventTimer]) -> float:
        """Approximate seconds of a run; the first sample of each timer warms up."""
        first = [timer.sample() for timer in timers]
        if first[0] > LONG_S:
            return first[0]
        return float(np.median([timers[0].sample() for _ in range(PILOT_SAMPLES)]))

    # ---- Rounds ----

    def _rounds(self, tracks: list[Track]) -> int:
        """Sample until every track is precise, at its sample limit or out of time; returns the number of rounds."""
        self.watch.look(now=True)
        number, started = 0, time.monotonic()
        deadline: float | None = None
        surprise = int(self.random.integers(1, max(2, self.precision.least_samples)))
        while waiting := [track for track in tracks if not track.stopped and not track.contender.failure]:
            self._round(waiting, number)
            number += 1
            if number == surprise:
                before = time.monotonic()
                self._verified_round(tracks, number)
                started += time.monotonic() - before
            least = self.precision.least_samples
            if number < least:
                self.progress(number / least / 2)
            first = least if number >= least else self.precision.first_look
            if number < first or (number - first) % LOOK_EVERY:
                continue
            now = time.monotonic()
            if all(len(track.samples) >= track.least(self.precision, track.samples) for track in waiting):
                deadline = deadline or started + max(now - started, self.precision.seconds_per_case)
            flush_s, late_s = self._flush_s(), now - deadline if deadline else -math.inf
            for track in waiting:
                good = [track.samples[at] for at in track.kept(self.watch, 0)]
                track.stopped = track.why_stop(good, self.precision, flush_s, late_s)
            self.progress(0.5 + 0.5 * sum(track.stopped is not None for track in tracks) / max(1, len(tracks)))
        if number < surprise:  # all tracks are long
            self._verified_round(tracks, number)
        return number

    def _round(self, tracks: Sequence[Track], number: int) -> None:
        for position in self.random.permutation(len(tracks)):
            track = tracks[position]
            if not track.contender.failure:
                self._take(track, number)
        if any(track.timer.method == "graph" for track in tracks):
            self.flushes.append(self.flush_graph.sample())

    def _take(self, track: Track, number: int) -> None:
        before = self.watch.last
        seconds = self._attempt(track.contender, lambda: track.timer.sample(number))
        self.watch.look()
        if seconds is not None:
            track.samples.append(seconds)
            track.rounds.append(number)
            track.readings.append(before)

    def _verified_round(self, tracks: Sequence[Track], number: int, seed: int | None = None) -> None:
        """A round whose samples are verified, on new inputs if a `seed` is given."""
        alive = [tracks[at] for at in self.random.permutation(len(tracks)) if not tracks[at].contender.failure]
        alive.sort(key=lambda track: track.timer.place(number))  # tracks at one placement share a reference
        self.staging.verified = True
        made = set[int]()
        for track in alive:
            place = track.timer.place(number)
            if seed is not None and place not in made:
                made.add(place)
                with self.stopwatch.on(FILLING):
                    self.data.inputs(self.data.placements[place]).fill(seed)
            if not track.contender.failure:
                self._verify(track, number)
        self.staging.verified = False

    def _verify(self, track: Track, number: int) -> None:
        contender, arrays = track.contender, self.data.placements[track.timer.place(number)]
        with self.stopwatch.on(MEASURING):
            if self._attempt(contender, lambda: track.timer.sample(number)) is None:
                return
        returned, left = track.timer.returned, self.staging.left
        with self.stopwatch.on(VERIFYING):
            check = self._attempt(
                contender,
                lambda: check_after_run(self.data, contender.implementation, arrays, returned, left, self.seed),
            )
        if check is None:
            return
        if contender.check is None or contender.check.passed:
            earlier = contender.check.grade if contender.check else ""
            contender.check = replace(check, grade=check.grade or earlier) if check.passed else check
        if not check.passed:
            contender.failure = f"wrong when it was timed: {check.message}"

    def _attempt(self, contender: Contender, action: Callable[[], Done]) -> Done | None:
        """The result of `action`, or None after a failure, which is noted; a lost device ends the case."""
        self.heartbeat(contender.implementation.name)
        try:
            return action()
        except DeviceLost:
            contender.failure = "the GPU's context was lost while measuring it"
            raise
        except EVERYBODYS:
            raise
        except Exception as error:
            contender.failure = reason_of(error)
            return None

    # ---- Results ----

    def _flush_s(self) -> float:
        """Median time of the graph that only flushes, over the rounds so far."""
        return float(np.median(self.flushes)) if self.flushes else 0.0

    def _measurement(self, track: Track, flush_s: float) -> Measurement:
        kept = track.kept(self.watch, track.least(self.precision, track.samples))
        samples, readings = [track.samples[at] for at in kept], [track.readings[at] for at in kept]
        if track.timer.method == "graph":
            samples = [(seconds - flush_s) / GRAPH_REPEATS for seconds in samples]
        median, low, high = statistics.median_interval(samples)
        return Measurement(
            cache=track.timer.cache,
            method=track.timer.method,
            samples_s=tuple(samples),
            rounds=tuple(track.rounds[at] for at in kept),
            median_s=median,
            low_s=low,
            high_s=high,
            stopped=track.stopped or "time limit",
            sm_clock_hz=self.watch.mean("sm_clock_hz", readings),
            power_w=self.watch.mean("power_w", readings),
            temperature_c=self.watch.mean("temperature_c", readings),
            throttle=self.watch.throttle(readings),
            disturbed=disturbance_text(self.watch.disturbances(readings)),
        )
