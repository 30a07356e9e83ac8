"""Wrong answers to `how_many_to_send`, each with words of the hint that it must earn. Others are slips of its check."""

from exercises.grading.wrong import edit, whole

LAST = "return bisect.bisect_right(range(1, d), window, key=seconds) or int(seconds(1) < whole)"
WRONG = [
    edit("all_are_d", "which means all", "return 0", "return d"),
    edit("always_compresses", "so compression would cost time and accuracy", "whole <= window", "False"),
    edit(
        "counts_up",
        "A billion values of k",
        LAST,
        """
        fitting = (k for k in range(d - 1, 0, -1) if seconds(k) <= window)
        return next(fitting, int(seconds(1) < whole))
        """,
    ),
    edit("gives_up", "But it is there sooner than the whole gradient", "int(seconds(1) < whole)", "0"),
    edit(
        "just_too_many",
        "That is more than fits",
        LAST,
        "return min(d - 1, bisect.bisect_right(range(d), window, key=seconds))",
    ),
    edit("least", "The least that can be sent loses", LAST, "return int(seconds(1) <= max(window, whole))"),
    edit("less", "Less, or less or equal?", "<= window", "< window"),
    edit(
        "stops_before_the_window_is_full",
        "A larger k is hidden as well",
        "bisect_right(range(1, d)",
        "bisect_left(range(1, d)",
    ),
    edit("never_worse", "that is no quicker than the whole gradient", "int(seconds(1) < whole)", "1"),
    whole(
        "one_percent",
        "A fixed share is a habit",
        """
        def how_many_to_send(d, P, alpha, beta, codec, window):
            return max(1, d // 100)
        """,
    ),
    edit(
        "one_percent_where_nothing_fits",
        "Which k then leaves least exposed?",
        "int(seconds(1) < whole)",
        "int(seconds(1) < whole) * d // 100",
    ),
    edit(
        "quicker_than_the_whole_where_nothing_fits",
        "Which k then leaves least exposed?",
        LAST,
        "return bisect.bisect_right(range(1, d), window if seconds(1) <= window else whole, key=seconds)",
    ),
    edit("tie", "that is no quicker than the whole gradient", "(1) < whole", "(1) <= whole"),
    edit("whole_or_nothing", "a part of it would fit", LAST, "return 0"),
]
