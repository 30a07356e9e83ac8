"""Wrong answers to `urgent_first`, each with words of the hint that it must earn. Others are slips of its check."""

from exercises.grading.wrong import edit

RESULT = "return [through[i] for i in range(len(messages))]"
PAUSE = "now = max(now, min(messages[i][0] for i in waiting))"

WRONG = [
    edit("all_through", "Return a list with a time for each message", RESULT, "return max(through.values())"),
    edit("does_not_wait", "At some time no message is ready", PAUSE, "now = now"),
    edit("ends_of_chunks", "Each message has one", RESULT, "return [*through.values(), now]"),
    edit("never_takes_away", "taken away from what is left", "left[first] -= size", "left[first] -= 0"),
]
