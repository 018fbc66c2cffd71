"""A comparison of the default host with a site without a cache, under the same load."""

from lessons.checking import Laboratory, Need


def check(lab: Laboratory, need: Need) -> None:
    """The report of `make compare`."""
    report = lab.report("compare")
    need(report, "not-compared")
    measured = {one["topology"]: one for one in report["measurements"]}
    need({"default", "nginx"} <= measured.keys(), "topologies", ", ".join(sorted(measured)))
    default, nginx = measured["default"], measured["nginx"]
    need(default["users"] == nginx["users"], "different-users", default["users"], nginx["users"])
    need(default["users"] >= 40, "few-users", default["users"])
    need(min(default["seconds"], nginx["seconds"]) >= 25, "short")
    for one in (default, nginx):
        need(one["verdict"] != "INCONCLUSIVE", "locust", one["topology"], one["reason"])
