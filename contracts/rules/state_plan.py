"""The plan of a table of moves: states below each other, each move a wire beside them. All lengths are pixels.

Wires downwards run on the right, wires upwards on the left; a shorter wire runs nearer to the states, so few cross.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from contracts.rules.states import Act, Move
from contracts.rules.words import Labelled

BOX_WIDTH, BOX_HEIGHT, BETWEEN = 150, 32, 12
PORT, LANE, MARGIN = 14, 10, 14  # distance of ends at a box, of wires beside it, and room for the arrow


@dataclass(frozen=True, slots=True)
class Box:
    """One state."""

    state: Labelled
    x: int
    y: int
    height: int

    @property
    def middle(self) -> int:
        return self.y + self.height // 2

    @property
    def text_x(self) -> int:
        return self.x + BOX_WIDTH // 2


@dataclass(frozen=True, slots=True)
class Wire:
    """All moves from one state to another, under one number; it runs at `x`, from `y1` to `y2`."""

    number: int
    before: Labelled
    after: Labelled
    acts: tuple[Act, ...]
    edge: int  # of the boxes
    x: int
    y1: int
    y2: int

    @property
    def side(self) -> int:
        """Return 1 for a wire on the right, -1 for one on the left."""
        return 1 if self.x > self.edge else -1

    @property
    def path(self) -> str:
        """Return the line as SVG has it."""
        return f"M{self.edge} {self.y1}H{self.x}V{self.y2}H{self.edge}"

    @property
    def head(self) -> str:
        """Return the head of the arrow as SVG has it."""
        return f"M{self.edge} {self.y2}l{7 * self.side}-3.5v7Z"

    @property
    def label_x(self) -> int:
        return self.edge + 8 * self.side

    @property
    def label_y(self) -> int:
        return self.y1 - 2 if self.side > 0 else self.y1 + 10


@dataclass(frozen=True, slots=True)
class Plan:
    """The whole plan."""

    boxes: tuple[Box, ...]
    wires: tuple[Wire, ...]
    width: int
    height: int
    box_width: int = BOX_WIDTH


def plan_of(moves: Sequence[Move]) -> Plan:
    """Return where every state and every wire of a table of moves stands."""
    order = list(type(moves[0].before))
    acts: dict[tuple[int, int], list[Act]] = {}
    for move in moves:
        acts.setdefault((order.index(move.before), order.index(move.after)), []).append(move.act)
    pairs = list(acts)
    lanes = {
        True: _lanes([p for p in pairs if p[0] < p[1]]),
        False: _lanes([p for p in pairs if p[0] > p[1]]),
    }
    left = MARGIN + LANE * (1 + max(lanes[False].values(), default=-1))
    boxes, ports = _boxes(order, pairs, left)
    right = left + BOX_WIDTH
    wires = []
    for number, pair in enumerate(pairs, 1):
        down = pair[0] < pair[1]
        far = MARGIN + LANE * lanes[down][pair]
        x, edge = (right + far, right) if down else (left - far, left)
        ends = ports[pair[0], pair], ports[pair[1], pair]
        wires.append(Wire(number, order[pair[0]], order[pair[1]], tuple(acts[pair]), edge, x, *ends))
    width = right + MARGIN + LANE * (1 + max(lanes[True].values(), default=-1))
    return Plan(tuple(boxes), tuple(wires), width, boxes[-1].y + boxes[-1].height + 2)


def _lanes(pairs: Sequence[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """Return the lane of each wire, counted from the states: the first in which nothing else passes."""
    taken: list[list[tuple[int, int]]] = []
    found = {}
    for pair in sorted(pairs, key=lambda one: abs(one[1] - one[0])):
        low, high = min(pair), max(pair)
        free = (n for n, lane in enumerate(taken) if all(high <= a or b <= low for a, b in lane))
        lane = next(free, len(taken))
        taken[lane:] = taken[lane:] or [[]]
        taken[lane].append((low, high))
        found[pair] = lane
    return found


def _boxes(
    order: Sequence[Labelled], pairs: Sequence[tuple[int, int]], x: int
) -> tuple[list[Box], dict[tuple[int, tuple[int, int]], int]]:
    """Return the boxes, each high enough for its wires, and the height at which each wire meets each box."""
    boxes: list[Box] = []
    ports: dict[tuple[int, tuple[int, int]], int] = {}
    y = 2
    for place, state in enumerate(order):
        sides = [[p for p in pairs if place in p and (p[0] < p[1]) is down] for down in (True, False)]
        height = max(BOX_HEIGHT, PORT * (max(map(len, sides)) + 1))
        for side in sides:
            ends = sorted(side, key=lambda pair: _place(pair, place))
            first = y + (height - PORT * (len(ends) - 1)) // 2
            ports |= {(place, pair): first + PORT * n for n, pair in enumerate(ends)}
        boxes.append(Box(state, x, y, height))
        y += height + BETWEEN
    return boxes, ports


def _place(pair: tuple[int, int], place: int) -> tuple[bool, int]:
    """Return the order of ends at a box, by which wires on one side do not cross there."""
    other = pair[0] if pair[1] == place else pair[1]
    return other > place, -other
