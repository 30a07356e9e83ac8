"""Ranks that ask again and again (Test, Iprobe, a window's Sync) instead of waiting, and when that is a deadlock.

A rank that asks lets everything happen that is earlier than its clock. Asking takes a moment, which grows with the time
that the rank has asked in vain, but never goes past the next event: so a rank that asks for a second asks a few
thousand times, and not ten million.

When is it a deadlock? When no event is queued, nothing is in flight, and every other rank waits, has returned or asks,
too, then only what these ranks will do themselves can change anything. No number of questions tells that: a loop may
end by a count, or at a time, and then send what the others wait for. So what is decided here is only what is certain.

A loop that ends *at a time* reads its clock. For a rank that does, the moments grow without limit, in proportion to the
time waited: whatever the time is, it is reached after some thousand questions, at most 0.1 % (or 1 ms) late.

A loop that *can do nothing but ask* has a body of one call, this question, whose result is all that may be stored; the
rest are loads, comparisons, sums and jumps (`unchanging` reads this in its bytecode). From one question to the next its
state is the same, so after the same answer it asks again, for ever, unless the answer changes. If all ranks that ask
are in such loops, and have been told no since the last event, no answer changes: that is a deadlock, and it is reported
at once. (This holds as long as to load, compare or add what the loop names has no effects, and no thread of the
program's own, no signal and no other rank's store into a common global variable interferes.)

A loop that *does more* may end: it is left alone, and so are all others. If nothing but questions happens until the
launch's time is over, the report says so. (Where a rank has failed already, 1,000 questions in vain are enough.)
"""

from __future__ import annotations

import dis
import sys
from functools import cache
from heapq import heappush
from math import inf
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

POLL_SECONDS = 1e-7  # what a question costs on the clock: it is not free, and time must move on
PATIENCE = 0.01  # a rank that asks in vain asks again after this share of the time it has waited: less and less often
LONGEST_PAUSE = 1e-3  # seconds, if nothing at all is to be expected
LATENESS = 1e-3  # of the time waited, instead, for a rank that looks at its clock
ENOUGH = 1_000  # questions in vain, where the launch has failed already and others go on only for the report
TURNS = 3  # of a loop, until what its result is stored in has its last value

_WORLDS = str(Path(__file__).parents[1])
_HARMLESS = ("LOAD_", "POP_JUMP", "JUMP_", "COMPARE_OP", "IS_OP", "UNARY_NOT", "TO_BOOL", "PUSH_NULL", "PRECALL")
_HARMLESS += ("BINARY_OP", "KW_NAMES", "POP_TOP", "COPY", "SWAP", "NOP", "RESUME", "EXTENDED_ARG", "NOT_TAKEN")
_STORES = ("UNPACK_SEQUENCE", "STORE_FAST", "STORE_DEREF", "STORE_NAME", "STORE_GLOBAL")


class Polls:
    """The questions of all ranks: `queue` holds those that let go and will look at what has happened."""

    def __init__(self, engine: Any):
        self.engine, self.queue, self.asked = engine, [], 0

    def ask(self, me: Any, known: float | None) -> None:
        """Let everything happen that is earlier than this rank's clock, which moves on; at `known` it will hear yes."""
        if me.clock != me.asked_at:  # it has done something else in between
            me.polls, me.asking_since, me.loop = 0, me.clock, None
        waited, pending = me.clock - me.asking_since, self.engine.next_event()
        soonest = min(pending, inf if known is None else known)
        if soonest == inf and self.engine.horizon > me.clock:
            soonest = self.engine.horizon
        if soonest < inf:
            longest = soonest - me.clock
        else:
            others = self.queue[0][0] - me.clock if self.queue else 0.0
            longest = max(LONGEST_PAUSE, others, LATENESS * waited if me.looked else 0.0)
        me.asked_at = me.clock = me.clock + max(POLL_SECONDS, min(PATIENCE * waited, longest))
        me.looked = False
        self.asked += 1
        self.engine.number += 1
        heappush(self.queue, (me.clock, 0, me.index, self.engine.number, me.resume, None))
        self.engine.stop(me)

    def answered(self, me: Any, success: bool) -> bool:
        """Note the answer; whether it is clear now that nobody who asks will ever hear another one."""
        if success:
            me.asked_at = -1.0
            me.loop = None
            return False
        me.polls += 1
        if self.engine.next_event() < inf or self.engine.horizon > me.clock:
            me.loop = None
            return False
        if me.polls >= ENOUGH and self.engine.lost():
            return True
        frame = _caller()
        place = frame, frame.f_lasti, self._events()
        me.turns, me.loop = me.turns + 1 if place == me.loop else 0, place
        return self._for_ever(me) and all(self._for_ever(self.engine.ranks[index]) for _, _, index, *_ in self.queue)

    def _events(self) -> int:
        """How many events there have been, apart from questions."""
        return self.engine.number - self.asked

    def _for_ever(self, rank: Any) -> bool:
        """Whether this rank asks in a loop that does nothing else, and has heard no since the last event."""
        if rank.loop is None or rank.turns < TURNS:
            return False
        frame, instruction, events = rank.loop
        return events == self._events() and unchanging(frame.f_code, instruction)


def _caller() -> FrameType:
    """The frame that has asked: the first one outside of this package's worlds."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith(_WORLDS) and frame.f_back is not None:
        frame = frame.f_back
    return frame


@cache
def unchanging(code: CodeType, instruction: int) -> bool:
    """Whether the innermost loop around an instruction, a call, makes no other and stores nothing but its result."""
    listing = list(dis.get_instructions(code))
    call = max((one.offset for one in listing if one.offset <= instruction), default=0)  # behind it lie its caches
    jumps = [(one.argval, one.offset) for one in listing if "JUMP" in one.opname and isinstance(one.argval, int)]
    loops = [(start, end) for start, end in jumps if start <= call <= end]
    if not loops:
        return False
    start, end = min(loops, key=lambda loop: loop[1] - loop[0])
    result = False  # whether the instruction takes the call's result from the stack
    for one in listing:
        if start <= one.offset <= end:
            if one.offset == call and one.opname.startswith("CALL"):
                result = True
            elif not (result and one.opname.startswith(_STORES)):
                result = False
                in_place = one.opname == "BINARY_OP" and one.argrepr.endswith("=")
                if in_place or not one.opname.startswith(_HARMLESS):
                    return False
    return True
