"""Hints for exceptions that an answer raises, by the name of the exception or what its text says."""

LENGTHS = "Blocks can differ in length. A buffer must be as long as the block that comes: which one comes in this step?"
NO_MEMORY = "A grade may use 1 GiB. Is an array made with the wrong size, or does a list grow without end?"
RAISED = {  # the name of an exception, or what its text says
    "name '___' is not defined": "A blank is not filled in yet: this line still has a `___`.",
    "expecting buffer": "A call with a capital letter takes arrays in both directions and returns nothing. Sendrecv "
    "wants one to receive into, too: recvbuf=np.empty(...).",
    "Invalid buffer": "One array for both directions: what arrives would overwrite what is still being sent. Receive "
    "into another one.",
    "NewProcess": "An exercise starts no processes and ends none: the ranks are there already, one call of your "
    "function on each.",
    "EOFError": "input() waits for a keyboard, and a grade has none. The arguments hold all you need.",
    "NoKeyboard": "breakpoint() needs a keyboard, and a grade has none. print() works: what you print is shown below "
    "a hint.",
    "SystemExit": "sys.exit() ends a whole program. A rank that is through returns its result.",
    "TooMuchOutput": "That is a lot of text. Is a print inside an endless loop?",
    "MemoryError": NO_MEMORY,
    "can't allocate memory": NO_MEMORY,  # torch
    "RecursionError": "A function calls itself without end.",
    "could not be broadcast": LENGTHS,
    "could not broadcast": LENGTHS,
    "argument: 'recvbuf'": "A call with a capital letter returns nothing: it writes into an array that you make for "
    "the result, np.empty_like(x) for one, and pass after the first.",
    "AnswerTooLong": "No answer needs as much. Does a list grow with every step? Is an array made with the wrong size?",
    "NotImplementedError": "The function is not finished, or it uses what this course leaves out.",
    "not contiguous": "What is sent or received must lie in one piece in memory: a row of an array does, a column or a "
    "transposed array does not. (np.ascontiguousarray makes a copy that does.)",
    "IndexError": "An index went past the end. P things are numbered from 0 to P - 1; what comes after the last one?",
    "nvalid rank": "Ranks are numbered from 0 to P - 1. Which neighbours does the last rank have, and which the first?",
    "UnboundLocalError": "A name is used before it is bound. A loop may have nothing to do at all: P - 1 steps with "
    "one rank, a list without elements.",
}
RAISED_OTHERWISE = (
    "Read the message from its end: what happened, then in which line. Try what that line does for these inputs."
)
