"""Pipeline parallelism: a model cut into stages, a batch into micro-batches, and the order in which they meet.

A schedule is data (`schedule.py`): for each rank, an order of actions. Everything else reads it. `simulate.py` gives
each action its time, `messages.py` what is sent; both are here at the top, as are the `stages` of a model, because all
rooms need them:

    schedules   the orders themselves, a pure function each, and below it the record of what is known of it: where its
                stages live, closed forms, names elsewhere; the catalogue lists the records by name
    analysis    is an order valid, where does it deadlock, what does it cost, what does it look like
    runtime     one interpreter (`executor.py`) that trains with any of them
    sizing      where to cut a model, into how many micro-batches a batch, what to recompute

A new schedule is a module of `schedules` with a function and its record, an entry in the list of the catalogue, and a
place on the API page. What forgets one of them fails at import or in the tests.
"""
