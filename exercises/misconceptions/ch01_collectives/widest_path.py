"""Wrong answers to `widest_path`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "begins_with_width_0",
        "With what width does a itself begin",
        """
        def widest_path(bandwidth, a, b):
            width, came_from, done = {a: 0}, {}, set()
            heap = [(-width[a], a)]
            while heap:
                _, here = heapq.heappop(heap)
                done.add(here)
                for there in np.flatnonzero(bandwidth[here]).tolist():
                    new = min(width[here], bandwidth[here, there])
                    if there not in done and new > width.get(there, 0):
                        width[there], came_from[there] = new, here
                        heapq.heappush(heap, (-new, there))
            path = [b]
            while path[-1] != a:
                path.append(came_from[path[-1]])
            return path[::-1]
        """,
    ),
    whole(
        "without_its_start",
        "Both ends belong to the path",
        """
        def widest_path(bandwidth, a, b):
            best, came_from = {a: -math.inf}, {}
            heap = [(-math.inf, a)]
            while heap:
                length, here = heapq.heappop(heap)
                for there, link in enumerate(bandwidth[here]):
                    if link == 0:
                        continue
                    longer = max(length, -link)
                    if longer < best.get(there, math.inf):
                        best[there], came_from[there] = longer, here
                        heapq.heappush(heap, (longer, there))
            path = [b]
            while path[-1] != a:
                path.append(came_from[path[-1]])
            return path[-2::-1]
        """,
    ),
    whole(
        "all_paths",
        "There is no time to try all paths",
        """
        from itertools import pairwise


        def widest_path(bandwidth, a, b):
            def longer(path):
                if path[-1] == b:
                    return [path]
                ways = [node for node in np.flatnonzero(bandwidth[path[-1]]).tolist() if node not in path]
                return [end for node in ways for end in longer([*path, node])]

            return max(longer([a]), key=lambda path: min(bandwidth[here, there] for here, there in pairwise(path)))
        """,
    ),
    edit("backwards", "Did you collect it from the end?", "[-2::-1]", "", of="without_its_start"),
    edit(
        "direct_link",
        "You took the direct link because there is one",
        "best, came_from = {a: -math.inf}, {}",
        """
        if bandwidth[a, b] > 0:
            return [a, b]

        best, came_from = {a: -math.inf}, {}
        """,
        "[-2",
        "[",
        of="without_its_start",
    ),
    edit(
        "fewest_links",
        "Yours has the fewest links",
        """
        best, came_from = {a: -math.inf}, {}
        heap = [(-math.inf, a)]
        """,
        """
        best, came_from = {a: 0}, {}
        heap = [(0, a)]
        """,
        "max(length, -link)",
        "length + 1",
        "-2:",
        ":",
        of="without_its_start",
    ),
    edit(
        "goes_in_a_circle",
        "it went round in a circle",
        """
        new = min(width[here], bandwidth[here, there])
        if there not in done and new > width.get(there, 0):
        """,
        """
        new = max(width[here], bandwidth[here, there])
        if new > width.get(there, 0):
        """,
        "= a:",
        "= a and len(path) < 99:",
        of="begins_with_width_0",
    ),
    whole(
        "largest_instead_of_narrowest",
        "Which link of a path counts when two ways",
        """
        from itertools import pairwise


        def widest_path(bandwidth, a, b):
            def ways(path):
                if path[-1] == b:
                    yield path
                for there, link in enumerate(bandwidth[path[-1]]):
                    if link > 0 and there not in path:
                        yield from ways([*path, there])

            return max(ways([a]), key=lambda path: max(bandwidth[one, other] for one, other in pairwise(path)))
        """,
    ),
    edit(
        "smallest_first",
        "Yours has the narrowest link of all",
        """
        width, came_from, done = {a: 0}, {}, set()
        heap = [(-width[a], a)]
        """,
        """
        width, came_from, done = {a: np.inf}, {}, set()
        heap = [(width[a], a)]
        """,
        "-new",
        "new",
        of="begins_with_width_0",
    ),
    whole(
        "straight",
        "A bandwidth of 0 is no link",
        """
        def widest_path(bandwidth, a, b):
            return [a, b]
        """,
    ),
    edit(
        "sum_of_bandwidths",
        "Yours has the least sum of bandwidths",
        """
        best, came_from = {a: -math.inf}, {}
        heap = [(-math.inf, a)]
        """,
        """
        best, came_from = {a: 0}, {}
        heap = [(0, a)]
        """,
        "max(length, -link)",
        "length + link",
        "[-2",
        "[",
        of="without_its_start",
    ),
    edit(
        "sum_of_times",
        "Yours has the least sum of 1 / bandwidth",
        """
        best, came_from = {a: -math.inf}, {}
        heap = [(-math.inf, a)]
        """,
        """
        best, came_from = {a: 0}, {}
        heap = [(0, a)]
        """,
        "max(length, -link)",
        "length + 1 / link",
        "-2:",
        ":",
        of="without_its_start",
    ),
    whole(
        "takes_out_links",
        "The caller still needs its bandwidth",
        """
        def widest_path(bandwidth, a, b):
            path = []
            for width in np.unique(bandwidth):
                bandwidth[bandwidth < width] = 0
                came_from, queue = {a: a}, [a]
                for here in queue:
                    for there in np.flatnonzero(bandwidth[here]).tolist():
                        if there not in came_from:
                            came_from[there] = here
                            queue.append(there)
                if b not in came_from:
                    return path[::-1]
                path = [b]
                while path[-1] != a:
                    path.append(came_from[path[-1]])
            return path[::-1]
        """,
    ),
    whole(
        "widest_link_first",
        "keep the other ways open",
        """
        def widest_path(bandwidth, a, b):
            path = [a]

            def go_on():
                if path[-1] == b:
                    return True
                for there in np.argsort(-bandwidth[path[-1]]).tolist():
                    if bandwidth[path[-1], there] > 0 and there not in path:
                        path.append(there)
                        if go_on():
                            return True
                        path.pop()
                return False

            go_on()
            return path
        """,
    ),
    edit(
        "width_only",
        "It should return a list of nodes",
        """
        path = [b]
        while path[-1] != a:
            path.append(came_from[path[-1]])
        return path[-2::-1]
        """,
        "return -best[b]",
        of="without_its_start",
    ),
]
