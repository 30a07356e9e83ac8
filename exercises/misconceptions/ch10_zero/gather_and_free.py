"""Wrong answers to `gather_and_free`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "keeps_everything",
        "Whoever keeps every unit after its gather has the whole model",
        """
        def gather_and_free(uses):
            order = [f"gather {unit}" for unit in dict.fromkeys(uses)]
            order += [f"forward {unit}" for unit in uses]
            order += [f"backward {unit}" for unit in reversed(uses)]
            order += [f"reduce {unit}" for unit in dict.fromkeys(uses)]
            return order + [f"free {unit}" for unit in dict.fromkeys(uses)]
        """,
    ),
    edit("left_in_the_end", "in the end nothing is gathered", '[*order, f"free {there}"]', "order"),
    whole(
        "not_gathered_again",
        "A use in the backward pass needs the whole weights",
        """
        def gather_and_free(uses):
            order = []
            for unit in uses:
                order += [f"gather {unit}", f"forward {unit}", f"free {unit}"]
            for unit in reversed(uses):
                order += [f"backward {unit}", f"reduce {unit}"]
            return order
        """,
    ),
    whole(
        "frees_at_the_turn",
        "A unit that is used again at once need not be freed",
        """
        def gather_and_free(uses):
            order, left = [], list(uses)
            for unit in uses:
                order += [f"gather {unit}", f"forward {unit}", f"free {unit}"]
            for unit in reversed(uses):
                left.pop()
                order += [f"gather {unit}", f"backward {unit}"]
                if unit not in left:
                    order.append(f"reduce {unit}")
                order.append(f"free {unit}")
            return order
        """,
    ),
    edit(
        "reduces_after_each",
        "Reduced after each, they would travel several times",
        "if last[unit] == place:",
        'if action == "backward":',
    ),
    edit(
        "reduces_the_first",
        "has its whole gradient only after the last of its backward uses",
        *("for place, (_, unit) in enumerate(steps)}", "for place, (_, unit) in reversed(list(enumerate(steps)))}"),
        *("if last[unit] == place:", 'if action == "backward" and f"reduce {unit}" not in order:'),
    ),
    edit(
        "reduces_in_the_end",
        "until then whole gradients take as much room",
        *('[*order, f"free {there}"]', '[*order, *(f"reduce {unit}" for unit in last), f"free {there}"]'),
        *("if last[unit] == place:", "if not steps:"),
    ),
    edit("never_reduces", "or its weights stay as they are", 'order.append(f"reduce {unit}")', "pass"),
    edit("same_order_backward", "the backward pass in reverse", "reversed(uses)]", "uses]"),
    edit("pairs", "An action is", 'order.append(f"{action} {unit}")', "order.append((action, unit))"),
    edit("no_backward", "Every use happens, forward and backward", "reversed(uses)]", "uses[:0]]"),
]
