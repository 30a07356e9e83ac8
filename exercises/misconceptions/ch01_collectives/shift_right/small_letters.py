"""Takes the calls that move any object."""

EARNS = "comm.send, with a small letter, pickles"


def shift_right(comm, block):
    comm.send(block, dest=(comm.rank + 1) % comm.size)
    return comm.recv(source=(comm.rank - 1) % comm.size)
