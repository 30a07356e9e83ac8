"""Data parallelism that does not wait, or waits less often.

    from reference.asynchronous import parameter_server, local_sgd, two_level, gossip, one_sided, hogwild
    parameter_server.train_with_servers(comm, objective, steps, rate, parameter_server.bounded(4))

Every module's `train_...` minimises an objective (models.objective): a function of one flat vector w whose gradient a
rank can ask for, on its share of a batch. Late gradients and what to do about them are in staleness.py; a race of all
methods with a slow rank is in compare.py.
"""
