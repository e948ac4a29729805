import pytest

from contracts.rules.state_plan import BOX_WIDTH, plan_of
from contracts.rules.states import TABLES

PLANS = {name: plan_of(moves) for name, moves in TABLES.items()}


@pytest.mark.parametrize("name", TABLES)
def test_every_move_is_in_exactly_one_wire(name):
    told = [(wire.before, wire.after, act) for wire in PLANS[name].wires for act in wire.acts]
    assert sorted(told) == sorted((move.before, move.after, move.act) for move in TABLES[name])
    assert [wire.number for wire in PLANS[name].wires] == list(range(1, len(PLANS[name].wires) + 1))


@pytest.mark.parametrize("name", TABLES)
def test_wires_down_run_on_the_right_and_wires_up_on_the_left(name):
    plan = PLANS[name]
    order = [box.state for box in plan.boxes]
    for wire in plan.wires:
        down = order.index(wire.before) < order.index(wire.after)
        assert (wire.side, wire.y1 < wire.y2) == ((1, True) if down else (-1, False))
        assert 0 < wire.x < plan.width
        assert wire.path.startswith(f"M{wire.edge} {wire.y1}H{wire.x}V{wire.y2}")
        assert wire.head.startswith(f"M{wire.edge} {wire.y2}")
        assert (wire.label_x > wire.edge) == down
        assert (wire.label_y < wire.y1) == down  # the wire itself goes the other way


@pytest.mark.parametrize("name", TABLES)
def test_no_two_wires_share_an_end_or_lie_upon_each_other(name):
    wires = PLANS[name].wires
    ends = [(wire.side, y) for wire in wires for y in (wire.y1, wire.y2)]
    assert len(set(ends)) == len(ends)
    for one in wires:
        for other in wires:
            if one.number < other.number and one.x == other.x:
                lows, highs = sorted((one.y1, one.y2)), sorted((other.y1, other.y2))
                assert lows[1] < highs[0] or highs[1] < lows[0]


@pytest.mark.parametrize("name", TABLES)
def test_every_end_is_at_the_box_of_its_state(name):
    boxes = {box.state: box for box in PLANS[name].boxes}
    for wire in PLANS[name].wires:
        for state, y in ((wire.before, wire.y1), (wire.after, wire.y2)):
            box = boxes[state]
            assert box.y <= y <= box.y + box.height
            assert wire.edge in (box.x, box.x + BOX_WIDTH)
            assert box.x < box.text_x < box.x + BOX_WIDTH
            assert box.y < box.middle < box.y + box.height
