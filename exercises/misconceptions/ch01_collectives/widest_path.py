"""Wrong answers to `widest_path`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

RESULT = "return way_to(b)"
BEGIN, WIDTH = "-np.inf", "max(negative, -bandwidth[here, there])"

WRONG = [
    edit("backwards", "Did you collect it from the end?", RESULT, f"{RESULT}[::-1]"),
    edit(
        "direct_link",
        "You took the direct link because there is one",
        RESULT,
        "return [a, b] if bandwidth[a, b] else way_to(b)",
    ),
    edit("fewest_links", "Yours has the fewest links", BEGIN, "0", WIDTH, "negative + 1"),
    edit("rounded", "Were the bandwidths rounded", "-bandwidth[here, there]", "-np.float32(bandwidth[here, there])"),
    edit(
        "smallest_first",
        "Yours has the narrowest link of all",
        *(BEGIN, "np.inf", WIDTH, "min(negative, bandwidth[here, there])"),
    ),
    edit("straight", "A bandwidth of 0 is no link", RESULT, "return [a, b]"),
    edit(
        "sum_of_bandwidths",
        "Yours has the least sum of bandwidths",
        *(BEGIN, "0", WIDTH, "negative + bandwidth[here, there]"),
    ),
    edit(
        "sum_of_times",
        "Yours has the least sum of 1 / bandwidth",
        *(BEGIN, "0", WIDTH, "negative + 1 / bandwidth[here, there]"),
    ),
    edit(
        "takes_out_links",
        "The caller still needs its bandwidth",
        "came_from[here] = before",
        "came_from[here] = before\nbandwidth[:, here] = 0",
    ),
    edit(
        "widest_link_first",
        "keep the other ways open",
        *(BEGIN, "0, 0", "negative, here, before =", "depth, _, here, before ="),
        *(WIDTH, "depth - 1, -bandwidth[here, there]"),
    ),
    edit("width_only", "It should return a list of nodes", RESULT, "return -negative"),
    edit("without_its_start", "Both ends belong to the path", RESULT, f"{RESULT}[1:]"),
    whole(
        "begins_with_width_0",
        "with what width does a itself begin",
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
    edit(
        "walks_past_a",
        "with what width does a itself begin",
        *("{a: 0}", "{a: np.inf}", "while path[-1] != a:", "while path[-1] is not None:"),
        of="begins_with_width_0",
    ),
    edit(
        "walks_past_a_to_none",
        "with what width does a itself begin",
        *("{a: np.inf}, {}, set()", "{a: np.inf}, [None] * len(bandwidth), set()", "path[-1] is not None", "True"),
        of="walks_past_a",
    ),
    edit(
        "no_width_before_it_is_reached",
        "with what width does a itself begin",
        *("{a: 0}", "{a: np.inf}", "width.get(there, 0)", "width[there]"),
        of="begins_with_width_0",
    ),
    edit(
        "goes_in_a_circle",
        "it went round in a circle",
        *("min(", "max(", "there not in done and new", "new", "= a:", "= a and len(path) < 99:"),
        of="begins_with_width_0",
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
    edit(
        "largest_instead_of_narrowest",
        "Which link of a path counts when two ways",
        "path: min",
        "path: max",
        of="all_paths",
    ),
    edit(
        "one_node_too_many",
        "Which ways to a node are put in?",
        *("for there in np.flatnonzero(bandwidth[here]):", "for there in range(len(bandwidth) + 1):"),
    ),
    edit(
        "only_wider_links",
        "Which ways to a node are put in?",
        "heapq.heappush(heap, (max(negative, -bandwidth[here, there]), there, here))",
        """
        if bandwidth[here, there] > -negative or here == a:
            heapq.heappush(heap, (-bandwidth[here, there], there, here))
        """,
    ),
]
