"""Real-time scheduling: tasks with deadlines on shared processors, analysed and simulated from the same records.

tasks.py has the records. utilisation.py, response_time.py, non_preemptive.py, demand.py and global_tests.py are the
tests of whether deadlines are met, priorities.py and partition.py what they choose from. dag.py, chains.py,
mixed_criticality.py, servers.py, locks.py and self_suspension.py have tasks that are more than independent.
batching.py, gpu_sharing.py and copy_engines.py are about one accelerator that several share. simulate.py plays what
the others claim (dispatch.py: policies, engine.py: events, runs.py: what it did), gantt.py draws it. random_sets.py
draws sets of tasks; probability.py has tails, votes and availability. embodied.py and answer_tiers.py are two
exercises, offload.py asks the cloud, failover.py puts a standby in place, deterministic.py measures a loop, driving/
is a drive in four processes.
"""

from .dispatch import EarliestDeadlineFirst, FixedPriority, LeastLaxityFirst, RoundRobin, SchedulingPolicy
from .response_time import fixed_priority, response_time, response_times
from .runs import ExecutionSlice, SimulatedJob, SimulatedRun
from .simulate import densest, jittered, periodic, simulate, sporadic, uniform
from .tasks import PeriodicTask, Schedulability, Segment, hyperperiod

__all__ = [
    "EarliestDeadlineFirst",
    "ExecutionSlice",
    "FixedPriority",
    "LeastLaxityFirst",
    "PeriodicTask",
    "SchedulingPolicy",
    "RoundRobin",
    "Schedulability",
    "Segment",
    "SimulatedJob",
    "SimulatedRun",
    "densest",
    "fixed_priority",
    "hyperperiod",
    "jittered",
    "periodic",
    "response_time",
    "response_times",
    "simulate",
    "sporadic",
    "uniform",
]
