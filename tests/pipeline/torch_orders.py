"""The orders of torch.distributed.pipelining as our schedules, without processes: its generators need only numbers."""

from torch.distributed.pipelining.schedules import PipelineScheduleMulti

from reference.pipeline.schedule import Action, Schedule, flushed

KINDS = {"FORWARD": "F", "BACKWARD_INPUT": "I", "BACKWARD_WEIGHT": "W", "FULL_BACKWARD": "B"}


def torch_schedule(kind: type[PipelineScheduleMulti], p: int, m: int) -> Schedule:
    """What `kind` would do with two stages a rank."""
    made = object.__new__(kind)  # the constructor wants stages on devices; the orders are made from these numbers
    made.pp_group_size, made._n_microbatches, made._num_stages, made.num_stages = p, m, 2 * p, 2 * p
    orders, overlapped = [], []
    for r in range(p):
        order, pairs = [], set()
        for action in filter(None, made._calculate_single_rank_operations(r)):
            if action.sub_actions:
                pairs.add(len(order))
            for part in action.sub_actions or [action]:
                order.append(Action(KINDS[part.computation_type.name], part.stage_index, part.microbatch_index))
        orders.append(order)
        overlapped.append(frozenset(pairs))
    return flushed(kind.__name__, orders, overlapped=tuple(overlapped))
