"""One module for each way of measuring; lab.toml names it as `tool`.

Each has `measure(house, settings) -> metrics`: one measurement of one cell. Metrics are numbers; their
names carry the unit. It raises Problem when the figure must not be reported. `seconds`, how long the
load lasted, makes the runner's CPU figures exact; without it they are a mean over the whole call.
"""
