"""python -m bench.report: write the report of what has been measured so far, and say where it is."""

from bench.__main__ import LABS, RESULTS
from bench.report import write

if __name__ == "__main__":
    print(write(RESULTS, LABS))
