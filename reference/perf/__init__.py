"""Performance: measuring on this machine; later the hardware catalogue, rooflines and the meter."""
