"""Wrong answers to `offload_schedule`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

FREE = "now = free[kind] = row[kind] + last"

WRONG = [
    edit("one_after_the_other", "Nothing overlaps in it", "copied[i - room] if i >= room else 0", "free[3]"),
    edit(
        "no_room",
        "Gradients leave the device when their copy down has ended",
        "copied[i - room] if i >= room else 0",
        "0",
    ),
    edit(
        "shared_links",
        "Of each kind one goes on at a time",
        *("max(now, free[kind])", "max(now, free[kind] * (kind != 1))"),
    ),
    edit("nothing_waits", "happen one after the other for each piece", FREE, "free[kind] = row[kind] + last"),
    whole(
        "step_behind_the_backward_pass",
        "The optimizer's steps wait until all gradients have come",
        """
        def offload_schedule(backward, down, step, up, room):
            free, copied, rows = [0, 0], [], []
            for i, (b, d) in enumerate(zip(backward, down)):
                first = max(free[0], copied[i - room] if i >= room else 0)
                second = max(first + b, free[1])
                free = [first + b, second + d]
                copied.append(free[1])
                rows.append([first, second])
            host = link = free[1]
            for row, s, u in zip(rows, step, up):
                link = max(link, host + s)
                row += [host, link]
                host, link = host + s, link + u
            return rows
        """,
    ),
    whole(
        "all_up_in_the_end",
        "The copies up wait until all steps are done",
        """
        def offload_schedule(backward, down, step, up, room):
            free, copied, rows = [0, 0, 0], [], []
            for i, (b, d, s) in enumerate(zip(backward, down, step)):
                first = max(free[0], copied[i - room] if i >= room else 0)
                second = max(first + b, free[1])
                third = max(second + d, free[2])
                free = [first + b, second + d, third + s]
                copied.append(free[1])
                rows.append([first, second, third])
            link = free[2]
            for row, u in zip(rows, up):
                row.append(link)
                link += u
            return rows
        """,
    ),
    whole(
        "in_three_phases",
        "Steps wait for all copies down, and copies up for all steps",
        """
        def offload_schedule(backward, down, step, up, room):
            free, copied, rows = [0, 0], [], []
            for i, (b, d) in enumerate(zip(backward, down)):
                first = max(free[0], copied[i - room] if i >= room else 0)
                second = max(first + b, free[1])
                free = [first + b, second + d]
                copied.append(free[1])
                rows.append([first, second])
            now = free[1]
            for lasts in (step, up):
                for row, last in zip(rows, lasts):
                    row.append(now)
                    now += last
            return rows
        """,
    ),
    edit("without_overlap_on_the_device", "Something begins later than it could", "else 0, []", "else free[0] + 1, []"),
    edit("ends_not_starts", "Return a list with four times", "tuple(row)", "row[0]"),
    edit(
        "before_the_beginning", "Times count from 0", "starts.append(tuple(row))", "starts.append([n - 1 for n in row])"
    ),
    whole(
        "one_link",
        "Copies down and copies up take turns",
        """
        def offload_schedule(backward, down, step, up, room):
            device = link = host = 0
            starts, copied = [], []
            for i, (b, d, s, u) in enumerate(zip(backward, down, step, up)):
                first = max(device, copied[i - room] if i >= room else 0)
                device = first + b
                second = max(device, link)
                link = second + d
                copied.append(link)
                third = max(link, host)
                host = third + s
                link = max(host, link)
                starts.append((first, second, third, link))
                link += u
            return starts
        """,
    ),
    edit(
        "room_until_the_step",
        "a place is free as soon as a copy down has ended",
        *("copied.append(free[1])", "copied.append(free[2])"),
    ),
    edit(
        "copies_on_the_device",
        "there would be room for both",
        "copied[i - room] if i >= room else 0",
        "free[1]",
    ),
]
