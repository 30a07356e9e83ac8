"""Wrong answers to `which_rate`, each with words of the hint that it must earn."""

from exercises.grading.wrong import whole

WRONG = [
    whole(
        "linear_for_all",
        "by which factor does that root shrink",
        """
        def which_rate():
            return {"A": "linear", "B": "linear", "C": "same", "D": "same", "E": "linear", "F": "linear", "G": "same"}
        """,
    ),
    whole(
        "rate_never_changes",
        "With the same rate SGD moves 16 times less far",
        """
        def which_rate():
            return {"A": "same", "B": "same", "C": "same", "D": "same", "E": "same", "F": "same", "G": "same"}
        """,
    ),
    whole(
        "square_root_for_all",
        "16 small steps in about the same direction",
        """
        def which_rate():
            return {
                "A": "square root",
                "B": "square root",
                "C": "same",
                "D": "same",
                "E": "square root",
                "F": "square root",
                "G": "same",
            }
        """,
    ),
]
