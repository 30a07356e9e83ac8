"""Wrong answers to `worst_response` that its checks do not know by themselves."""

from exercises.grading.wrong import edit, whole

WRONG = [
    edit("both", "Return a whole number, or None", "return longer if", "return [longer, D] if"),
    edit("late_anyway", "That is beyond the deadline", "return longer if longer <= D else None", "return longer"),
    edit("blocked_by_each", "Begin with a window of C + B", "(R + J) // T) * each", "(R + J) // T) * (each + B)"),
    whole(
        "endless",
        "once the window is longer than D, the answer is known",
        """
        def worst_response(C, D, above, B):
            R, longer = 0, C + B
            while R != longer:
                R = longer
                longer = C + B + sum(-(-(R + J) // T) * each for each, T, J in above)
            return R if R <= D else None
        """,
    ),
]
