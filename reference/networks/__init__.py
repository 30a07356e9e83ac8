"""Networks: what joins ranks, what a message costs on its way, and where to place ranks and messages.

    from reference import networks
    network = networks.two_level(8)  # nodes of 8 ranks: the networks that the virtual cluster offers

network.py has these. Catalogues of what one can buy are in links.py and fabrics.py, protocols in transport.py, shared
links in congestion.py; topology.py finds out by measuring what the network is, placement.py which rank should sit
where, paths.py which way a message should take, and priority.py which message should leave first.
"""

from .network import Level, Link, Network, Route, fat_tree, two_level, uniform

__all__ = ["Level", "Link", "Network", "Route", "fat_tree", "two_level", "uniform"]
