"""ZeRO: data parallelism without its redundancy. What every rank has a copy of is cut, and each keeps its shard.

shards.py says which elements are whose, group.py moves a group of parameters between the whole and its shards; on them
stand the stages: stage1.py cuts the optimizer's state, stage2.py the gradients, too, stage3.py the weights, too.
memory.py and volume.py say what a rank then holds and sends, criterion.py which stage is the fastest that fits.

Nothing is imported here: those three need neither torch nor NumPy, for a page of the book asks them in the browser.
"""
