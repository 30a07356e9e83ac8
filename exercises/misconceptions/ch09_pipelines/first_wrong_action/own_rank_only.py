"""Looks at each rank alone."""

EARNS = "something has to come from another rank"


def first_wrong_action(rows):
    p, done, micro = len(rows), set(), set()
    for column in range(len(rows[0])):
        for r in range(p):
            word = rows[r][column]
            if word and ((r, word) in done or (word[0] == "B" and (r, "F" + word[1:]) not in done)):
                return r, column
            if word:
                done.add((r, word))
                micro.add(word[1:])
    for r in range(p):
        if any((r, kind + i) not in done for i in micro for kind in "FB"):
            return r, len(rows[0])
    return None
