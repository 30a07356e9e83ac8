"""Wrong answers to `prefetch_starts` that its checks do not know by themselves."""

from exercises.grading.wrong import edit, shipped

WRONG = [
    shipped("That is the printed formula"),
    edit(
        "when_they_end",
        "Go from what is needed last",
        "starts[i] = link",
        "starts[i] = link + latency + nbytes / bandwidth",
    ),
    edit("the_first_alone", "Return a list of", "return starts if", "return starts[:-1] if"),
    edit("latency_behind", "Go from what is needed last", "- latency", "+ latency"),
    edit("rounded", "float64 carries 16 digits", "starts[i] = link", "starts[i] = round(link, 5)"),
]
