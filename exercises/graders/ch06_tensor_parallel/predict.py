"""Level 1 of chapter 6, predict: what a layer sends, where, and which way to cut."""

from exercises.grading import Exercise, choices, inputs, numbers


def sent(P, b, s, h, itemsize):
    """Bytes of four ring all-reduces of the activations."""
    return 8 * (P - 1) * b * s * h * itemsize / P


def some_layer(rng):
    """A layer on three, five, six or seven ranks."""
    P = int(rng.choice([3, 5, 6, 7]))
    return P, int(rng.integers(1, 9)), int(rng.integers(2, 99)) * 64, P * int(rng.integers(9, 99)) * 10, 2


WEIGHTS = (
    "That grows with the weights, h times h. What tensor parallelism sends are activations: a number for each token "
    "and "
    "each of the h units. Weights and their gradients stay where they are."
)
bytes_of_a_layer = Exercise(
    cases=inputs.calls(
        (6, 3, 512, 1200, 8),
        (8, 1, 4096, 8192, 2),
        (8, 1, 2048, 16384, 2),
        (2, 4, 1024, 4096, 2),
        some_layer,
        some_layer,
        (1, 4, 128, 64, 4),
        (72, 1, 131072, 12288, 1),
        names="P b s h itemsize",
    ),
    checks=[
        numbers.Number(
            sent,
            slips=[
                (
                    lambda P, b, s, h, i: sent(P, b, s, h, i) / 4,
                    "That is one all-reduce. How many sums over the ranks does a layer need in the forward pass, and "
                    "what happens on the way back where one input was used by all ranks?",
                ),
                (
                    lambda P, b, s, h, i: sent(P, b, s, h, i) / 2,
                    "Half of what is right. Two things could be missing: the backward pass, or one of the two halves "
                    "of a ring all-reduce (reduce-scatter, all-gather).",
                ),
                (
                    lambda P, b, s, h, i: sent(P, b, s, h, i) * 1.5,
                    "Half as much again as is right. The backward pass has twice as many products as the forward pass, "
                    "but not twice as many all-reduces: one for each tensor that was used on all ranks.",
                ),
                (
                    lambda P, b, s, h, i: sent(P, b, s, h, i) * 2,
                    "Twice what is right. There is one all-reduce for each pair of layers (columns, rows) and "
                    "direction, and not one for each matrix.",
                ),
                (
                    lambda P, b, s, h, i: 8 * b * s * h * i,
                    "Nearly: a rank of a ring never sends all blocks. How many of the P blocks does it send in each "
                    "half?",
                ),
                (
                    lambda P, b, s, h, i: sent(P, b, s, h, i) * P,
                    "That is what all ranks send together. Asked for is one of them.",
                ),
                (
                    lambda P, b, s, h, i: sent(P, b, s, h, i) * P / 2,
                    "As if every rank sent all of its numbers to each of the others. A ring sends a P-th at a time.",
                ),
                (
                    lambda P, b, s, h, i: sent(P, b, s, h, i) / P,
                    "Divided by P once too often. Between the layers every rank has all b s h numbers, not a P-th.",
                ),
                (
                    lambda P, b, s, h, i: sent(P, b, s, h, i) / i,
                    "That is a number of elements. Asked for are bytes.",
                ),
                (
                    lambda P, b, s, h, i: sent(P, b, s, h, i) * 4,
                    "Four times what is right, as if 4 h numbers a token were added up. Inside the feed-forward "
                    "network each rank keeps its own units; what is summed is behind the second matrix.",
                ),
                *[
                    (lambda P, b, s, h, i, of=of: of(P, h) * i, WEIGHTS)
                    for of in (
                        lambda P, h: 24 * h * h * (P - 1) / P,
                        lambda P, h: 12 * h * h,
                        lambda P, h: 12 * h * h / P,
                        lambda P, h: 24 * h * h * (P - 1) / P / P,
                    )
                ],
            ],
            otherwise="How many all-reduces, of how many numbers, and how much of that does a rank of a ring send?",
            unit="bytes",
        )
    ],
    hints=[
        "Go through the layer forward: after which matrix does a rank have only a part of a sum? Then backward: which "
        "tensors did all ranks use?",
        "Two all-reduces forward and two backward, each of b s h numbers.",
        "In a ring all-reduce of n bytes a rank sends 2 (P - 1) / P n.",
    ],
)


SUM_OF_COPIES = (
    "All ranks use the same input there. What does each know of its gradient: all of it, or the part that comes back "
    "through its own columns?"
)
PART_OF_A_SUM = (
    "Each rank's product has the full size there, and holds some of the terms only. What makes it the whole output?"
)
ALL_THERE = (
    "What is needed is on every rank already: nothing there looks across what is cut. Which number would a rank have "
    "to ask another one for?"
)
COPY_BACK = (
    "Backward, the gradient of a sum is the same for each of its terms, and it is on every rank already. What would an "
    "all-reduce of equal gradients give?"
)
where_the_all_reduces_go = Exercise(
    cases=inputs.calls(()),
    checks=[
        choices.Situations(
            right={
                "A": "backward",
                "B": "forward",
                "C": "both",
                "D": "gather first",
                "E": "nothing",
                "F": "both",
                "G": "nothing",
                "H": "forward",
                "I": "nothing",
                "J": "backward",
                "K": "forward",
                "L": "backward",
            },
            names=["nothing", "forward", "backward", "both", "gather first"],
            why={
                ("A", "nothing"): "Forward that is so. " + SUM_OF_COPIES,
                ("A", "gather first"): "The output may stay cut: nothing needs to be gathered.",
                ("A", "forward"): "Its output needs no sum: each column is complete on its rank. " + SUM_OF_COPIES,
                ("B", "backward"): "The two directions are exchanged. " + PART_OF_A_SUM,
                ("B", "both"): COPY_BACK,
                ("B", "nothing"): PART_OF_A_SUM,
                ("C", "forward"): "Forward it is one sum, at the end. " + SUM_OF_COPIES,
                ("C", "backward"): "The input's gradient needs its sum. And the output? " + PART_OF_A_SUM,
                ("C", "nothing"): PART_OF_A_SUM,
                ("C", "gather first"): "The second layer needs just those columns that its rank has: what the first "
                "one puts out need not be gathered.",
                ("D", "backward"): "Every rank has its own columns of the output, and all are asked for. How do they "
                "come together?",
                ("D", "both"): "Columns that lie side by side are joined. Nothing has to be added up to do that.",
                ("D", "forward"): "Columns are joined, not added. And backward: " + SUM_OF_COPIES,
                ("D", "nothing"): "Every rank has its own columns of the output, and all are asked for. How do they "
                "come together?",
                (
                    "E",
                    "gather first",
                ): "That one often reads so. After the feed-forward network's all-reduce every rank "
                "has all h numbers of every token, and mean and variance are over these.",
                ("E", "backward"): "All ranks do the same there, with the same numbers, and have the same whole "
                "gradient afterwards. An all-reduce would count it P times.",
                ("F", "nothing"): "Can GELU be applied to each term of a sum? And what is the input's gradient of the "
                "layer behind it?",
                ("F", "forward"): "The sum before the GELU is right. Behind it a whole tensor meets a layer cut by "
                "columns: what does its gradient need?",
                ("F", "backward"): "GELU(a + b) is not GELU(a) + GELU(b): what must happen before it?",
                ("F", "gather first"): "What each rank has before the GELU are terms of a sum, not columns to be "
                "joined.",
                (
                    "G",
                    "forward",
                ): "Heads meet in the layer behind, which mixes them. Here each looks at its own tokens' "
                "scores only, and its softmax is over tokens, not over heads.",
                ("H", "backward"): "Backward, each row's gradient is needed by the rank that has the row, and the "
                "vectors' gradient is on every rank. And forward: who has the vector of a token?",
                ("H", "gather first"): "For each token one rank has the vector and the others have nothing. A sum in "
                "which they add zeros sends less than gathering the table.",
                ("H", "nothing"): "Forward, the vector of a token is on one rank only.",
                ("H", "both"): COPY_BACK,
                ("I", "forward"): "All ranks hold the same numbers, and with the same random numbers they drop the "
                "same ones. That costs a common seed, and no message.",
                ("J", "gather first"): "All logits on every rank are gigabytes. They may stay cut here.",
                ("J", "nothing"): SUM_OF_COPIES,
                ("K", "nothing"): "The softmax divides by a sum over the whole vocabulary, and a rank has a part of "
                "it.",
                ("K", "gather first"): "Gathering all logits would do, at V numbers a token. How few are enough: which "
                "numbers of the other ranks' logits does the loss need?",
                ("K", "both"): "With the sum over the vocabulary from the forward pass every rank can compute the "
                "softmax of its own columns. What is left to ask for?",
                ("K", "backward"): "The gradient of a rank's own logits needs a sum over the vocabulary, and so does "
                "the loss, which comes earlier. When is it first needed?",
                ("L", "nothing"): "Each copy sees the gradient of its own queries only. After the next update, are the "
                "copies still equal?",
                ("L", "forward"): "The copies are equal already, so forward there is nothing to do. Each sees the "
                "gradient of its own queries only.",
                ("L", "both"): "The copies are equal already, so forward there is nothing to do.",
                ("L", "gather first"): "The copies are equal already, so forward there is nothing to do.",
            },
            otherwise={
                "nothing": "Somebody lacks something there: a term of the output, or of the input's gradient.",
                "forward": ALL_THERE,
                "backward": ALL_THERE,
                "both": "Not in both directions: a sum in one of them has a plain copy in the other.",
                "gather first": "Nothing that lies side by side has to be joined there. Is something added up?",
            },
        )
    ],
    hints=[
        "For each piece ask twice. Forward: does a rank hold all terms of the output that it should have? Backward: "
        "was an input used by all ranks, each with weights of its own?",
        "Use on all ranks, forward, is a sum, backward; and the other way round. What works on whole tensors, alike on "
        "every rank, or on cut ones element by element, needs neither.",
        "Count them: three are 'nothing', three 'forward', three 'backward', two 'both', one is 'gather first'.",
    ],
)


which_way_to_cut = Exercise(
    cases=inputs.calls(()),
    checks=[
        choices.Situations(
            right={
                "A": "columns",
                "B": "columns",
                "C": "rows",
                "D": "columns",
                "E": "columns",
                "F": "rows",
                "G": "whole",
                "H": "columns",
                "I": "whole",
                "J": "rows",
                "K": "columns",
                "L": "whole",
            },
            names=["columns", "rows", "whole"],
            why={
                ("A", "rows"): "Then X U is a sum over the ranks, needed before the silu: one all-reduce more, in the "
                "middle of the network.",
                ("B", "rows"): "Its output is multiplied element by element with that of U. On which rank are the "
                "matching columns of silu(X U)?",
                ("C", "columns"): "Its input is cut already, by the columns of U and G. Which part of D fits that? By "
                "columns it would need all 14336 inputs first.",
                ("D", "rows"): "Rows give every rank a part of the sum for all heads, and the scores need whole "
                "queries. A rank should have whole heads: which numbers of the output are a head?",
                ("E", "rows"): "A rank should have whole groups. Which numbers of the output are a group?",
                ("E", "whole"): "There are 8 groups for 8 ranks. Which of them does a rank with 4 heads of queries "
                "need?",
                (
                    "F",
                    "columns",
                ): "Its inputs are the heads' outputs, and a rank has those of its own heads only. Which "
                "part of the matrix meets them?",
                (
                    "G",
                    "columns",
                ): "Between the layers every rank has all 4096 numbers of each token, and the norm works "
                "on these. What would a rank with an eighth of the weight do?",
                ("H", "whole"): "A rank has 1792 of the 14336 outputs of U. To which of them does it add a bias?",
                ("H", "rows"): "A bias has no inputs; it goes with the outputs.",
                ("I", "columns"): "It is added to the sum behind D, and that is whole on every rank. With an eighth of "
                "it, the other seven eighths of the outputs would get none.",
                ("I", "rows"): "A bias has no inputs. And before the sum it would be added by every rank.",
                ("J", "columns"): "Then each rank has a part of every vector, and the parts must be gathered. By the "
                "numbers of the tokens it is one sum, of zeros and one vector.",
                ("J", "whole"): "525 million numbers on every rank: that is more than two layers have. Which rows does "
                "a rank need if the vectors are added up?",
                ("K", "rows"): "Its input is whole, and so each rank can make complete logits of some tokens of the "
                "vocabulary. By rows there would be a sum of all logits.",
                ("K", "whole"): "525 million numbers on every rank, and every rank would compute the same logits. The "
                "loss can be computed from logits that stay cut.",
                ("L", "columns"): "An eighth of a head of keys gives an eighth of each score. All the rank's heads of "
                "queries need the whole head of keys.",
                ("L", "rows"): "Then the keys are a sum over the ranks: one all-reduce more in each direction.",
            },
            otherwise={
                "columns": "What is made there is used whole by every rank.",
                "rows": "Rows suit what follows a cut by columns. What does the input look like here?",
                "whole": "Then all ranks compute the same, and hold the same weights. It can be cut without a further "
                "message: what comes before, and what comes behind?",
            },
            thing="tensor",
        )
    ],
    hints=[
        "Find the pairs: which matrix is first and makes something that stays cut, and which one is second and ends "
        "with the sum?",
        "First by columns, second by rows. A bias and other vectors belong to what they are added to: cut if that is "
        "cut, whole if that is whole.",
        "The embedding is second in nothing, but ends with a sum: a token's row is on one rank. The last layer is the "
        "other way round. One head of keys cannot be shared out.",
    ],
)
