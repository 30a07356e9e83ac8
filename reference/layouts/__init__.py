"""Layouts: how `reference.train` shares a training among ranks. One module a layout, and one more for a new one.

layout.py says what is asked of a layout; catalogue.py lists them. data_parallel.py is the one without an option of its
own, and its loop trains others, too: tensor_parallel.py (each layer is cut), context_parallel.py (each sequence is)
and zero.py (the state of the training is). pipeline.py cuts the model between layers, and has another
loop. composed.py joins any of them on a mesh, as `mesh/training.py` does. checkpoints.py saves a training between its
steps, and has it go on; held.py says what a loop holds, so that no layout knows of checkpoints.
"""
