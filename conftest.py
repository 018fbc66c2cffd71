"""What every run of pytest in this repository has."""

pytest_plugins = ["support.second_chance"]
