"""Wrong answers to `reverse_with_slots` that its checks do not know by themselves."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "always_from_the_input",
        "Every layer is reached from state 0 again",
        """
        def reverse_with_slots(n, slots):
            order = ["keep 0"]
            for i in reversed(range(n)):
                order += ["load 0", *(f"forward {j}" for j in range(i)), f"backward {i}"]
            return order
        """,
    ),
    whole(
        "equal_distances",
        "no slot is used again",
        """
        def reverse_with_slots(n, slots):
            lengths = [n // slots + (i < n % slots) for i in range(min(n, slots))]
            starts = [sum(lengths[:i]) for i in range(len(lengths) + 1)]
            order = []
            for i in range(starts[-2]):
                order += [f"keep {i}"] * (i in starts) + [f"forward {i}"]
            order.append(f"keep {starts[-2]}")
            for first, end in reversed(list(zip(starts, starts[1:]))):
                for i in reversed(range(first, end)):
                    order += [f"load {first}", *(f"forward {j}" for j in range(first, i)), f"backward {i}"]
            return order
        """,
    ),
    whole(
        "the_first_ones",
        "The first states are kept, one behind the other",
        """
        def reverse_with_slots(n, slots):
            order, kept = [], min(slots, n)
            for i in range(kept):
                order += [f"keep {i}"] + [f"forward {i}"] * (i < kept - 1)
            for i in reversed(range(n)):
                first = min(i, kept - 1)
                order += [f"load {first}", *(f"forward {j}" for j in range(first, i)), f"backward {i}"]
            return order
        """,
    ),
    edit(
        "in_the_middle",
        "The next state is kept in the middle",
        "cut = max(first + 1, first + reach(s, r - 2), end - reach(s - 1, r))",
        "cut = (first + end) // 2 if s > 1 else end - 1",
    ),
    edit(
        "the_middle_and_more",
        "Which j makes the sum least",
        "cut = max(first + 1, first + reach(s, r - 2), end - reach(s - 1, r))",
        "cut = first + (end - first) * 2 // 3 if s > 1 and end > first + 1 else end - 1",
    ),
    edit("never_free", "Free what is not needed any more", 'order.append(f"free {first}")', "pass"),
    edit("not_loaded", '"load" makes a kept one current', 'order.append(f"load {first}")', "pass"),
    edit("not_kept", "Only what was kept can be loaded or freed", 'order.append(f"keep {first}")', "pass"),
    edit(
        "again_kept",
        "One copy of a state is enough",
        'order.append(f"keep {first}")',
        'order.extend([f"keep {first}"] * 2)',
    ),
    edit("without_the_end", "All n layers go backward", "return order", "return order[:-2]"),
    edit("pairs", "An action is", "return order", "return [tuple(each.split()) for each in order]"),
    edit("one_text", "Return a list of strings", "return order", 'return ", ".join(order)'),
    whole(
        "forward_order",
        "Layers go backward from n - 1 to 0",
        """
        def reverse_with_slots(n, slots):
            return [f"{what} {i}" for i in range(n) for what in ("backward", "forward")][:-1]
        """,
    ),
]
