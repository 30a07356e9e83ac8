"""Wrong answers to `prefetch_units`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

AHEAD = "coming = begin(unit + 1) if limit > 1 else None"
LATER = "coming = coming or begin(unit + 1)"

WRONG = [
    edit("one_after_the_other", "Gathers and products follow each other", AHEAD, "coming = None"),
    edit("ignores_the_limit", "the gathers of 2 units had begun; limit = 1", " if limit > 1 else None", ""),
    whole(
        "gathers_everything_first",
        "the gathers of 4 units had begun",
        """
        def prefetch_units(comm, shards, compute, limit):
            arrays = [np.empty(comm.size * len(shard)) for shard in shards]
            requests = [comm.Iallgather(*pair) for pair in zip(shards, arrays)]
            results = []
            for unit, request in enumerate(requests):
                request.Wait()
                results.append(compute(comm, unit, arrays[unit]))
            return results
        """,
    ),
    whole(
        "never_frees",
        "Who keeps all units has the whole model",
        """
        def prefetch_units(comm, shards, compute, limit):
            arrays = [np.empty(comm.size * len(shard)) for shard in shards]
            results, request = [], comm.Iallgather(shards[0], arrays[0])
            for unit, whole in enumerate(arrays):
                request.Wait()
                if limit > 1 and unit + 1 < len(shards):
                    request = comm.Iallgather(shards[unit + 1], arrays[unit + 1])
                results.append(compute(comm, unit, whole))
                if limit == 1 and unit + 1 < len(shards):
                    request = comm.Iallgather(shards[unit + 1], arrays[unit + 1])
            return results
        """,
    ),
    whole(
        "two_at_once",
        "do two begin together",
        """
        def prefetch_units(comm, shards, compute, limit):
            flying, results = [], []

            def begin():
                unit = len(flying) + len(results)
                if unit < len(shards):
                    whole = np.empty(comm.size * len(shards[unit]))
                    flying.append((whole, comm.Iallgather(shards[unit], whole)))

            for _ in range(limit):
                begin()
            for unit in range(len(shards)):
                whole, request = flying.pop(0)
                request.Wait()
                results.append(compute(comm, unit, whole))
                begin()
            return results
        """,
    ),
    whole(
        "blocking",
        "Allgather waits until all is there",
        """
        def prefetch_units(comm, shards, compute, limit):
            results = []
            for unit, shard in enumerate(shards):
                whole = np.empty(comm.size * len(shard))
                comm.Allgather(shard, whole)
                results.append(compute(comm, unit, whole))
            return results
        """,
    ),
    edit("never_waits", "Keep its request, and wait for it before the unit computes", "request.Wait()", ""),
    edit("own_shard", "compute needs the weights of the whole unit", "unit, whole))", "unit, shards[unit]))"),
    edit("one_too_many", "Near the end there are fewer units", "if unit < len(shards):", "if True:"),
    edit("results_lost", "results of compute, in a list", "return results", "return results[-1]"),
    edit(
        "gathers_twice",
        "each unit is gathered once in a forward pass",
        LATER,
        """
        if coming:
            coming[1].Wait()
        coming = begin(unit + 1)
        """,
    ),
    whole(
        "sends_twice_as_much",
        "each unit's shards, once",
        """
        def prefetch_units(comm, shards, compute, limit):
            def begin(unit):
                if unit < len(shards):
                    both = np.tile(shards[unit], 2)
                    whole = np.empty(comm.size * len(both))
                    return whole, comm.Iallgather(both, whole)

            results, coming = [], begin(0)
            for unit, shard in enumerate(shards):
                whole, request = coming
                request.Wait()
                coming = begin(unit + 1) if limit > 1 else None
                results.append(compute(comm, unit, whole.reshape(comm.size, -1)[:, : len(shard)].ravel()))
                coming = coming or begin(unit + 1)
            return results
        """,
    ),
    whole(
        "gathers_into_what_computes",
        "Here the numbers came out right by luck",
        """
        def prefetch_units(comm, shards, compute, limit):
            array, results = np.empty(max(map(len, shards)) * comm.size), []

            def begin(unit):
                if unit < len(shards):
                    return comm.Iallgather(shards[unit], array[: comm.size * len(shards[unit])])

            request = begin(0)
            for unit, shard in enumerate(shards):
                request.Wait()
                request = begin(unit + 1) if limit > 1 else None
                results.append(compute(comm, unit, array[: comm.size * len(shard)]))
                request = request or begin(unit + 1)
            return results
        """,
    ),
]
