"""Wrong answers to `follow_the_sum`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "counts_contributions",
        "You count numbers that have come in. What",
        """
        def follow_the_sum(P, messages):
            knows = [1] * P
            first, all_ = (0, 0) if P == 1 else (None, None)
            for number, (sender, receiver) in enumerate(messages, 1):
                knows[receiver] += knows[sender]
                if first is None and max(knows) >= P:
                    first = number
                if all_ is None and min(knows) >= P:
                    all_ = number
            return first, all_
        """,
    ),
    whole(
        "one_number",
        "Return two values",
        """
        def follow_the_sum(P, messages):
            knows = [{rank} for rank in range(P)]
            first, all_ = (0, 0) if P == 1 else (None, None)
            for number, (sender, receiver) in enumerate(messages, 1):
                knows[receiver] |= knows[sender]
                complete = sum(len(known) == P for known in knows)
                if complete and first is None:
                    first = number
                if complete == P and all_ is None:
                    all_ = number
            return all_
        """,
    ),
    edit(
        "adds_twice",
        "seems to be added again",
        "[1] * P",
        "np.eye(P)",
        "if first is None and max(knows) >= P:",
        """
        complete = (knows == 1).all(axis=1)
        if first is None and complete.any():
        """,
        "min(knows) >= P",
        "complete.all()",
        of="counts_contributions",
    ),
    edit(
        "both_learn",
        "Both ends of a message seem to learn",
        "] |= knows",
        "] = knows[sender] = knows[receiver] | knows",
        "return all_",
        "return first, all_",
        of="one_number",
    ),
    edit(
        "counts_exactly",
        "come in, until there are P",
        "max(knows) >= P",
        "P in knows",
        "min(knows) >= P",
        "all(known == P for known in knows)",
        of="counts_contributions",
    ),
    edit("counts_from_zero", "Off by one", ", 1)", ", 0)", "return all_", "return first, all_", of="one_number"),
    whole(
        "counts_rounds",
        "You count rounds",
        """
        def follow_the_sum(P, messages):
            knows = [{rank} for rank in range(P)]
            last = [0] * P
            first, all_ = (0, 0) if P == 1 else (None, None)
            for sender, receiver in messages:
                last[sender] = last[receiver] = step = 1 + max(last[sender], last[receiver])
                knows[receiver] |= knows[sender]
                complete = sum(len(known) == P for known in knows)
                if complete and first is None:
                    first = step
                if complete == P and all_ is None:
                    all_ = step
            return first, all_
        """,
    ),
    edit(
        "forgets_one_rank",
        "The only rank knows the sum before anything is sent",
        "(0, 0) if P == 1 else (None, None)",
        "None, None",
        "return all_",
        "return first, all_",
        of="one_number",
    ),
    edit(
        "last_time",
        "It is so after the last message, too",
        "complete and first is None:",
        "complete:",
        "P and all_ is None:",
        "P:",
        "return all_",
        "return first, all_",
        of="one_number",
    ),
    edit(
        "looks_at_rank_0",
        "Asked for is when any rank does",
        """
        complete = sum(len(known) == P for known in knows)
        if complete and first is None:
        """,
        "if first is None and len(knows[0]) == P:",
        "complete == P and all_ is None",
        "all_ is None and all(len(known) == P for known in knows)",
        "return all_",
        "return first, all_",
        of="one_number",
    ),
    whole(
        "lower_bounds",
        "for the list to say",
        """
        def follow_the_sum(P, messages):
            return P - 1, 2 * (P - 1)
        """,
    ),
    edit(
        "never_is_the_end",
        "it never comes to pass that",
        "return all_",
        "return (len(messages) if first is None else first), (len(messages) if all_ is None else all_)",
        of="one_number",
    ),
    edit(
        "own_number_only",
        "to pass on its own number only",
        "] |= knows[sender]",
        "].add(sender)",
        "return all_",
        "return first, all_",
        of="one_number",
    ),
    edit(
        "receiver_replaces",
        "seems to forget what it knew",
        "|= knows[sender]",
        "= set(knows[sender])",
        "return all_",
        "return first, all_",
        of="one_number",
    ),
    whole(
        "stops_at_first",
        "When the first rank knows the sum, do the others?",
        """
        def follow_the_sum(P, messages):
            knows = [{rank} for rank in range(P)]
            if P == 1:
                return 0, 0
            for number, (sender, receiver) in enumerate(messages, 1):
                knows[receiver] |= knows[sender]
                if len(knows[receiver]) == P:
                    return number, number
            return None, None
        """,
    ),
]
