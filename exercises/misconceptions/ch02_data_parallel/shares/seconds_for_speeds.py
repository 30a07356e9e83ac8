"""Takes the speeds for seconds: who is slow has more."""

EARNS = "Speed is samples per second"


def shares(speeds, batch):
    pace = [1 / speed for speed in speeds]
    given = [int(batch * each / sum(pace)) for each in pace]
    for r in range(batch - sum(given)):
        given[r] += 1
    return given
