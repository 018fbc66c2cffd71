"""The rule for media says 60 s, an older object keeps its 12 hours, and one stored since then has 60 s."""

from checking import Ask, Attempt, Choice, Question

CHANGES = {"varnish/media.vcl"}
OLD = "set beresp.ttl = 43200s;"

QUESTION = Question(
    right=Choice(
        "Its TTL was fixed when it was stored.",
        "This rule runs when a response arrives, not for stored objects.",
    ),
    wrong=(
        Choice("The reload has not taken effect yet.", "It has: a URL that was not stored before has 60."),
        Choice(
            "nginx answered from its own copy of the picture.",
            "It has one only until the end of the second; and the header was Varnish's own.",
        ),
        Choice(
            "The browser keeps the picture for 12 hours.",
            "curl has no cache, and a browser obeys Cache-Control, not VCL.",
        ),
    ),
)


def check(attempt: Attempt) -> None:
    """The old rule from the log, the new one from the VCL in use."""
    need = attempt.need

    asked = attempt.requests("/media/")
    need(asked, "You have not requested /media/fox.svg?WORD yet: do that before you change the rule.")
    gone, new = attempt.changed("media.vcl")
    need(
        gone or new,
        "varnish/media.vcl in use is the shipped one: change its 12 hours to 60 seconds and make reload.",
    )
    need(
        set(gone) <= {OLD} and attempt.newly_set("media.vcl") <= {"beresp.ttl"},
        f"Only the TTL in vcl_backend_response should change. New in media.vcl: {new}, gone: {gone}.",
    )
    for probe in attempt.ask(Ask("/media/fox.svg?NEW"), Ask("/media/diva.svg?NEW")):
        need(
            probe.lifetime == 60,
            f"A picture that is stored now is fresh for {probe.lifetime} s; the lesson asks for 60.",
        )

    before = [request for request in asked if request.lifetime == 43200]
    after = [request for request in asked if request.lifetime == 60]
    need(before, "No URL with your word was stored before the reload, under the old rule. Begin again.")
    need(
        after,
        "The new rule is in use, but you have not seen it: the old URL keeps its TTL. There are two ways.",
    )
    seen_again = [request for request in asked if request.outcome == "hit" and request.after(before[0])]
    need(seen_again, "Request the old URL once more, to see that its copy still has hours to live.")

    (page,) = attempt.ask(Ask("/stages/?NEW"))
    need(page.lifetime != 60, "Pages got 60 seconds too: the rule is for media only.")
