"""BatchNorm without synchronisation."""

EARNS = "That is of this rank's rows alone"


def batch_statistics(comm, x):
    return x.mean(axis=0), x.var(axis=0)
