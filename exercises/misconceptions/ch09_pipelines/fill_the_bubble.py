"""Wrong answers to `fill_the_bubble`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit

PUTS_OFF, REST = '[f"W{i - r}"] * (i >= r)', "range(m - r, m)"

WRONG = [
    edit("all_in_the_end", "All W come in the end", PUTS_OFF, "[]", REST, "range(m)"),
    edit(
        "all_put_off",
        "so how many W may it be behind with",
        *(PUTS_OFF, '[f"W{i - p + 1}"] * (i >= p - 1)', REST, "range(m - p + 1, m)"),
    ),
    edit(
        "after_the_next_f",
        "No I comes between an I and its W",
        *(f'[f"I{{i}}"] + {PUTS_OFF}', '[f"W{i - 1}"] * (i > 0 < r) + [f"I{i}"] + [f"W{i}"] * (r == 0)'),
        *(REST, "range(m - min(r, 1), m)"),
    ),
    edit("before_i", "W after I", f'[f"I{{i}}"] + {PUTS_OFF}', f'{PUTS_OFF} + [f"I{{i}}"]'),
    edit("directly_after", "No I comes between an I and its W", PUTS_OFF, '[f"W{i}"]', REST, "[]"),
    edit(
        "first_rank_puts_off",
        "The wrong way round: the first rank keeps most",
        *(PUTS_OFF, '[f"W{i - ahead}"] * (i >= ahead)', REST, "range(m - ahead, m)"),
    ),
    edit(
        "forgotten",
        "What is put off must be done before the order ends",
        f'order + [f"W{{i}}" for i in {REST}]',
        "order",
    ),
    edit("longer_warmup", "for twice the memory", "p - 1 - r", "min(2 * (p - 1 - r), m)"),
    edit("one_order", "one for each rank", "return orders", "return orders[0]"),
    edit(
        "one_put_off",
        "so that they just fill the wait in the end",
        *(PUTS_OFF, '[f"W{i - min(r, 1)}"] * (i >= min(r, 1))', REST, "range(m - min(r, 1), m)"),
    ),
    edit("shorter_warmup", "The order of F and I is not 1F1B's", "p - 1 - r", "0"),
]
