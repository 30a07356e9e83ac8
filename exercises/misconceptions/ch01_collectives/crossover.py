"""Wrong answers to `crossover`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    edit("blocks_in_the_tree", "Nothing is cut into blocks there", "rounds -", "rounds / P -"),
    whole(
        "ring_one_half",
        "The ring does one half only",
        """
        def crossover(P, alpha, beta):
            rounds = 2 * math.ceil(math.log2(P))
            return max(0, (P - 1 - rounds) * alpha / ((rounds - (P - 1) / P) * beta))
        """,
    ),
    edit("ring_sends_2_n", "Your ring sends 2 n bytes a rank", "(P - 1) / P", "1"),
    whole(
        "tree_one_way",
        "The tree goes one way only in your comparison",
        """
        def crossover(P, alpha, beta):
            rounds = math.ceil(math.log2(P))
            return max(0, (2 * (P - 1) - rounds) * alpha / ((rounds - 2 * (P - 1) / P) * beta))
        """,
    ),
]
