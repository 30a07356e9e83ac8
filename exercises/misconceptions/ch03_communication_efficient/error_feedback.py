"""Wrong answers to `error_feedback`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, shipped

WRONG = [
    shipped("A blank is not filled in yet"),
    edit("all_of_it", "that would be sent again", "p - c", "p"),
    edit("chosen_by_g", "Which numbers decide who is sent?", "(p))", "(g))"),
    edit("fed_back_twice", "fed back twice", "e = p -", "e = e + p -"),
    edit("forgets_the_old_error", "forgotten: of g + e", "= p -", "= g -"),
    edit("largest_value", "-5 is more worth sending than 1", "np.abs(p)", "p"),
    edit("never_fed_back", "Textbooks have this one", "g + e", "g", "= p -", "= e + g -"),
    edit("not_added", "The error is never fed back: what", "g + e", "g"),
    edit("plain_top_k", "this is plain Top-K", "p - c", "np.zeros_like(g)"),
    edit("smallest", "The smallest were taken", "(np", "(-np"),
    edit("taken_away", "taken away from the gradient", "g + e", "g - e"),
    edit("wrong_sign", "The sign of e is wrong", "p - c", "c - p"),
]
