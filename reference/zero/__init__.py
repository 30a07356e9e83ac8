"""ZeRO: data parallelism without its redundancy. What every rank has a copy of is cut, and each keeps its shard.

shards.py says which elements are whose, group.py moves a group of parameters between the whole and its shards; on them
stand the stages: stage1.py cuts the optimizer's state, stage2.py the gradients, too, stage3.py the weights, too.
"""
