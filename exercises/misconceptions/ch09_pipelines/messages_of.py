"""Wrong answers to `messages_of`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, shipped

WRONG = [
    shipped("A blank is not filled in yet"),
    edit("changed_places", "have changed places", "receive, send", "send, receive"),
    edit(
        "condition_of_the_receive",
        "and not for the one from which something comes",
        "[after]) if home.get(after",
        ".get(after, 0)) if home.get(before",
    ),
    edit("input_goes_on", "I takes the place of B", 'I": -1, "', 'I": 1, "'),
    edit("name_of_the_receiver", "The name of a message is the action", "(action", '(f"{after}{kind}{micro}"'),
    edit("next_number", "Not to the next number", "home[after]", "rank + way"),
    edit("past_the_end", "It looks for a stage that is not there", "home.get(after, rank) != rank", "True"),
    edit("sends_to_itself", "A rank does not send to itself", "home.get(after, rank) != rank", "after in home"),
    edit("weights_travel", "W computes the gradient for the weights", ": 0}[", ": -1}["),
]
