"""Performance: measuring on this machine, catalogues of hardware, models of cost, and a meter for one rank."""
