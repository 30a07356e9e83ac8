"""A drive in four processes: a car and its sensors, perception, planning, control. `python -m reference.drive` runs it.

A fifth and a sixth may be a cloud that perception asks, and a standby that takes its place.

schedule.py has all that is timed, as data. scene.py is the world outside: a car, an obstacle, and the pictures of it.
networks.py has what is learned. stage.py is what every stage does with its messages, stages.py what each does with
their content, vehicle.py the rank that senses, moves and watches. shedding.py looks at less while there is too much
to do; report.py says what came of it.
"""
