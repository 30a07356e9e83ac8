"""Workers push in turns."""

EARNS = "Your workers take turns"


def how_late(seconds, updates):
    return [update % len(seconds) for update in range(updates)]
