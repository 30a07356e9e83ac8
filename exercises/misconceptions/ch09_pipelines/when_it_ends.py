"""Wrong answers to `when_it_ends`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, shipped

WRONG = [
    shipped("A blank is not filled in yet"),
    edit(
        "added",
        "The two times are added",
        "max(free[r], end.get(needed, -send) + send",
        "free[r] + (end[needed] + send if needed in end else 0",
    ),
    edit(
        "backward_from_the_rank_before",
        "From which rank does a gradient come",
        ') if action[0] == "F" else (r + 1, action)',
        ")",
    ),
    edit("backward_waits_for_itself", "wait for something that never comes", "r + 1,", "r,"),
    edit("forgets_who_has_no_neighbour", "It looks up an end that is not there", ".get(needed, -send)", "[needed]"),
    edit(
        "from_when_the_rank_is_free",
        "counts from its start",
        """
        end = {}
        free = [0.0 for _ in orders]
        """,
        """
        end = {}  # (rank, action): when it ended
        free = [0.0 for _ in orders]  # when the rank has done all so far
        """,
        *("break", "break  # the other ranks have to get on first", "= start +", "= free[r] +"),
    ),
    edit("no_message", "the message takes `send` seconds to come", "-send) + send", "0)"),
    edit(
        "no_waiting", "whether or not what it needs has come", "max(free[r], end.get(needed, -send) + send)", "free[r]"
    ),
    edit("own_rank_forgotten", "though its rank is still busy", "(free[r]", "(0"),
    edit("same_seconds", "How long does an action of this kind take", "action[0]]", '"F"]'),
    edit(
        "send_after_both",
        "The message travels while this rank",
        ".get(needed, -send) + send)",
        "[needed]) + send if needed in end else free[r]",
    ),
    edit(
        "sender_waits",
        "its rank goes on meanwhile",
        """
        start = max(free[r], end.get(needed, -send) + send)
        end[r, action] = free[r] = start + seconds[action[0]]
        """,
        """
        start = max(free[r], end.get(needed, 0))
        end[r, action] = free[r] = start + seconds[action[0]] + send
        """,
    ),
    edit("sends_to_itself", "Nothing comes from another rank here", "-send) + send)", "0)) + send"),
    edit("rounded", "were they rounded", "start + seconds[action[0]]", "round(start + seconds[action[0]], 2)"),
]
