"""Messages: what a measuring process tells, one JSON object a line."""

import json
from dataclasses import asdict, dataclass, field

from core.bench.sweep.estimate import Pass
from core.bench.timing import Spread


@dataclass(frozen=True)
class Machine:
    """First of all: where and with what it is measured. Told again when it proves faster."""

    device: str
    name: str  # of the processor or the graphics card
    threads: int
    flops: float  # a second, of a matrix product in the plan's precision
    bytes: float  # a second, read and written by a copy
    versions: dict[str, str] = field(default_factory=dict)

    def limit(self, timing: "Timing") -> float | None:
        """Seconds below which this machine cannot do it; None where there is no formula."""
        if timing.flops is None or timing.traffic is None:
            return None
        return max(timing.flops / self.flops, timing.traffic / self.bytes)


@dataclass(frozen=True)
class Progress:
    """How much is done, and what is being done."""

    share: float  # 0 to 1
    doing: str


@dataclass(frozen=True)
class Accuracy:
    """A mechanism beside softmax attention in float64, on rows that are spread over all queries."""

    mechanism: str
    length: int
    rows: int  # compared, of every head
    output_error: float  # length of the difference, as a share of the output's length
    total_variation: float  # half of the sum of |weight - softmax weight|, mean of rows: 0 to 1
    worst_variation: float  # of one row
    entropy: float  # of a row in nats, mean of rows
    softmax_entropy: float


@dataclass(frozen=True)
class Timing:
    """Seconds of one mechanism, one sample a round; in a round all mechanisms take their turn."""

    mechanism: str
    length: int
    kind: Pass
    warm_up: float  # the first call, in no sample
    samples: tuple[float, ...]
    again: tuple[float, ...]  # the same mechanism once more in each round, or nothing
    flops: float | None  # that have to be done, by the formula; None: there is none
    traffic: float | None  # bytes that have to be read and written
    tries: int = 1  # sets of rounds, of which these are the steadiest

    @property
    def spread(self) -> Spread:
        """Median and quartiles of the seconds."""
        return Spread.of(list(self.samples))

    @property
    def noise(self) -> Spread | None:
        """The mechanism's time as a share of its own: differences inside of it mean nothing."""
        if not self.again:
            return None
        return Spread.of([b / a for a, b in zip(self.samples, self.again, strict=True)])


@dataclass(frozen=True)
class Memory:
    """Bytes that one call of a mechanism holds at most, beyond its inputs."""

    mechanism: str
    length: int
    kind: Pass
    measured: int | None  # None: the device has no peak to read
    formula: float | None
    warning: str = ""  # one sentence where the two differ


@dataclass(frozen=True)
class Refused:
    """A mechanism that is not measured at a length."""

    mechanism: str
    length: int
    reason: str


@dataclass(frozen=True)
class Finished:
    """Last of all."""

    seconds: float


Message = Machine | Progress | Accuracy | Timing | Memory | Refused | Finished
KINDS: dict[str, type[Message]] = {
    kind.__name__.lower(): kind
    for kind in (Machine, Progress, Accuracy, Timing, Memory, Refused, Finished)
}


def to_dict(message: Message) -> dict:
    """A message as JSON takes it, its kind included."""
    return {"message": type(message).__name__.lower(), **asdict(message)}


def from_dict(told: dict) -> Message:
    """The message again.

    Raises:
        ValueError: if it is none.
    """
    fields = {
        name: tuple(value) if isinstance(value, list) else value for name, value in told.items()
    }
    kind = KINDS.get(fields.pop("message", None))
    if kind is None:
        raise ValueError(f"one of {', '.join(KINDS)} was wanted; {told.get('message')!r} came")
    return kind(**fields)


def to_line(message: Message) -> str:
    """One line of JSON."""
    return json.dumps(to_dict(message)) + "\n"


def from_line(line: str) -> Message:
    """The message of a line.

    Raises:
        ValueError: if the line holds none.
    """
    return from_dict(json.loads(line))
