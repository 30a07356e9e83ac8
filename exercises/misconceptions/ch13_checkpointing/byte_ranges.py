"""Wrong answers to `byte_ranges` that its checks do not know by themselves."""

from exercises.grading.wrong import edit, whole

WRONG = [
    edit(
        "touches_nothing",
        "No range is empty",
        """
        if first >= end or begin >= stop:
            continue
        """,
        "",
    ),
    edit("never_joined", "in too many reads", "if stop - begin == width:", "if False:"),
    edit(
        "rows_of_rank",
        "How many bytes lie before each of them in the file",
        "(row * width + begin - left)",
        "(row * (stop - begin) + begin - left)",
    ),
    edit(
        "in_lines",
        "Return a list of (file, first, n)",
        "return ranges",
        "return ranges[:1] and dict(enumerate(ranges))",
    ),
    edit(
        "fractions",
        "counted in whole numbers",
        "ranges.append((file, (first - top) * width * itemsize, (end - first) * width * itemsize))",
        "ranges.append((file, (first - top) * width * itemsize + 0.5, (end - first) * width * itemsize))",
    ),
    whole(
        "element_by_element",
        "It takes too long",
        """
        def byte_ranges(files, itemsize, rows, columns):
            found = []
            for file, (top, height), (left, width) in sorted(files):
                for row in range(height):
                    for column in range(width):
                        inside = rows[0] <= top + row < sum(rows) and columns[0] <= left + column < sum(columns)
                        first = (row * width + column) * itemsize
                        if inside and found and found[-1][0] == file and found[-1][1] + found[-1][2] == first:
                            found[-1][2] += itemsize
                        elif inside:
                            found.append([file, first, itemsize])
            return found
        """,
    ),
]
