"""Records the points of reference/recompute/curve.py anew: python -m tests.recompute.record_curve (some minutes)."""

import csv
from pathlib import Path

import reference.recompute
from reference.recompute.by_torch import partitioned
from reference.recompute.checkmate import checkmate, least_plan, rounded
from reference.recompute.curve import CurvePoint, blocks, by_policies, graph, watched_point
from reference.recompute.rematerialize import plan_cost

FILE = Path(reference.recompute.__file__).parent / "data" / "two_blocks.csv"
SHARES = (0.9, 0.8, 0.7, 0.6, 0.5)  # of what keeping all takes
BUDGETS = (1.0, 0.8, 0.6, 0.4, 0.3, 0.2, 0.1, 0.0)


def points():
    """Every point; those of the integer programme last."""
    yield from by_policies()
    made, x, _ = blocks()
    for budget in BUDGETS:
        yield watched_point("min-cut partitioner", f"budget {budget}", partitioned(made, x, budget))
    whole = graph()
    all_ = plan_cost(whole, range(len(whole)))
    for share in SHARES:
        budget = int(share * all_.peak)
        found = rounded(whole, budget)
        yield CurvePoint("linear programme, a bound", str(share), budget, found.bound)
        if found.order:
            cost = plan_cost(whole, found.order)
            yield CurvePoint("Checkmate, rounded", str(share), cost.peak, cost.seconds, tuple(found.order))
    for name, order in [*((str(share), checkmate(whole, int(share * all_.peak))) for share in SHARES)]:
        cost = plan_cost(whole, order)
        yield CurvePoint("Checkmate", name, cost.peak, cost.seconds, tuple(order))
    fewest = plan_cost(whole, least_plan(whole)).peak
    order = checkmate(whole, fewest)
    cost = plan_cost(whole, order)
    yield CurvePoint("Checkmate", "fewest bytes", cost.peak, cost.seconds, tuple(order))


def main():
    """Write the file, a line as it is found."""
    with FILE.open("w") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(["method", "setting", "peak bytes", "seconds", "order"])
        for point in points():
            lines.writerow([*point[:3], repr(point.seconds), " ".join(map(str, point.order))])
            file.flush()
            print(*point[:4], flush=True)


if __name__ == "__main__":
    main()
