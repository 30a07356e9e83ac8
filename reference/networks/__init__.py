"""Networks: what joins ranks, what a message costs on its way, and where to place ranks and messages.

    from reference import networks
    network = networks.two_level(8)  # nodes of 8 ranks: the networks that the virtual cluster offers

network.py says what a network is; switch_tree.py has those of one, two and three levels, torus.py and dragonfly.py two
that have other ways. Catalogues of what one can buy are in links.py and fabrics.py, protocols in transport.py, shared
links in congestion.py; topology.py finds out by measuring what the network is, placement.py which rank should sit
where, paths.py which way a message should take, and priority.py which message should leave first.
"""

from .dragonfly import Dragonfly
from .network import Link, Network, Route, check_network
from .switch_tree import Level, SwitchTree, fat_tree, two_level, uniform
from .torus import Torus

__all__ = [
    "Dragonfly",
    "Level",
    "Link",
    "Network",
    "Route",
    "SwitchTree",
    "Torus",
    "check_network",
    "fat_tree",
    "two_level",
    "uniform",
]
