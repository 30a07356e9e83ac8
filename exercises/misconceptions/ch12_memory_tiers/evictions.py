"""Wrong answers to `evictions` that its checks do not know by themselves."""

from exercises.grading.wrong import edit, whole

WRONG = [
    edit("how_many", "Return a list with an entry for each request", "return leaves", "return len(leaves)"),
    edit(
        "names", "An entry is the number of a tensor, or None", "return leaves", "return [str(gone) for gone in leaves]"
    ),
    edit("never", "What is fetched needs room", "leaves.append(gone)", "leaves.append(None)"),
    edit("although_it_is_there", "Then nothing is fetched, and nothing leaves", "tensor not in there and len", "len"),
    edit(
        "always",
        "As long as there is room, nothing leaves",
        "len(there) == room",
        "len(there) >= room // 2 + 1 // room",
    ),
    edit(
        "itself",
        "so it has to be in the fast memory",
        "leaves.append(gone)",
        "leaves.append(gone if gone is None else tensor)",
    ),
    edit(
        "not_there",
        "Only what is there can leave",
        "leaves.append(gone)",
        "leaves.append(gone if gone is None else -1)",
    ),
    edit(
        "as_it_was_fetched",
        "With every use, a tensor learns its next one",
        "there[tensor] = following[place]",
        "there.setdefault(tensor, following[place])",
    ),
    whole(
        "index_of_the_rest",
        "take a number that is larger than all places",
        """
        def evictions(requests, room):
            there, leaves = [], []
            for place, tensor in enumerate(requests):
                leaves.append(None)
                if tensor in there:
                    continue
                if len(there) == room:
                    leaves[-1] = max(there, key=lambda each: requests.index(each, place))
                    there.remove(leaves[-1])
                there.append(tensor)
            return leaves
        """,
    ),
]
