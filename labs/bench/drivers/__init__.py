"""One module for each way of measuring; lab.toml names it as `driver`.

Each has `measure(stack, settings) -> metrics`: one measurement of one cell. Metrics are numbers whose names
carry the unit. Problem: the measurement is rejected. With the metric `seconds`, the duration of the load, the
runner's CPU figures are exact; without it they are means over the whole call. `generator_cpu_percent` is the
CPU time of the generator's one thread; a driver that cannot measure it leaves it out.
"""
