"""A client that does not read is disconnected, and later when nginx's kernel keeps more for it."""

from lessons.checking import Laboratory, Need

STAGE = "rehearsal"


def check(lab: Laboratory, need: Need) -> None:
    """Both clients in the backend's log, with the bytes that the stage had sent to each."""
    cuts = [cut for cut in lab.evidence.cut_off() if cut.when >= lab.began]  # frames contain no word
    need(cuts, "not-cut-off")
    laggards = [cut for cut in cuts if cut.reason == "laggard"]
    need(laggards, "another-reason", cuts[-1].reason)
    here = [cut for cut in laggards if cut.stage == STAGE]
    need(here, "another-stage", laggards[-1].stage)

    shipped, *more = here
    need(shipped.sent < 400_000, "larger-before", shipped.sent // 1000)
    need(more, "larger", shipped.sent // 1000)
    need(lab.changed("nginx/streams"), "shipped")
    need(more[-1].sent > 3 * shipped.sent, "not-larger", more[-1].sent // 1000, shipped.sent // 1000)
