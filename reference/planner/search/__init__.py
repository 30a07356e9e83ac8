"""Search: which layout, of all that there are, is the fastest that fits, on the cost model of the planner.

`exhaustive` proves its answer, `pareto` keeps what is best in time, memory or price, `baselines` are for comparison;
`stage_cuts` and `integer` cut layers into stages of unequal size.
"""
