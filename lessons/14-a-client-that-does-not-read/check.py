"""A client that does not read is disconnected, and later when nginx's kernel keeps more for it."""

from checking import LAGGARDS, Attempt, Choice, Question

CHANGES = {"nginx/streams/stage.conf.template"}
STAGE = "rehearsal"

QUESTION = Question(
    right=Choice(
        "In the kernel's buffer on nginx's machine.",
        "nginx could still write, so it read on, and the backend saw a client that kept up.",
    ),
    wrong=(
        Choice(
            "In the memory of nginx's worker process.",
            "It has 4 kB for each direction (proxy_buffer_size), and reads nothing while they are full.",
        ),
        Choice(
            "In the memory of the backend's process.",
            "It keeps at most 64 KiB (UPSTAGE_MAX_UNREAD) for a client; beyond that it disconnects it.",
        ),
        Choice(
            "In the kernel's buffer on the client's machine.",
            "Its kernel keeps 2 kB (SO_RCVBUF) and then tells nginx's kernel to send nothing more.",
        ),
    ),
)


def check(attempt: Attempt) -> None:
    """Both clients in the backend's log, with the bytes that the stage had sent to each."""
    need = attempt.need

    cuts = attempt.cut_off()
    need(
        cuts,
        "The backend has not cut off any client since the lesson began: run slow_reader.py until it says so.",
    )
    laggards = [cut for cut in cuts if cut.reason == "laggard"]
    need(
        laggards,
        f"The backend has cut off a client, but for another reason ({cuts[-1].reason}): it must not read.",
    )
    here = [cut for cut in laggards if cut.stage == STAGE]
    need(here, f"A client was cut off on the stage {laggards[-1].stage}; the lesson is about {STAGE}.")

    counted = attempt.stack.laggards() - attempt.counters[LAGGARDS]
    need(
        len(laggards) <= counted,
        f"The backend's log has {len(laggards)} lines about a client that did not read, and its counter has "
        f"grown by {counted}: the backend has not written all of them.",
    )
    shipped, *more = here
    need(
        shipped.sent < 400_000,
        f"The first client that did not read was cut off after {shipped.sent // 1000} kB, so "
        "the larger buffer was there already. Begin again, and run the program before you change anything.",
    )
    need(
        more,
        f"One client was cut off, after {shipped.sent // 1000} kB. Now give it a larger buffer: sndbuf=1m in "
        "nginx/streams/stage.conf.template, make reload, and run the program again.",
    )
    need(
        not attempt.as_shipped("nginx/streams"),
        "nginx/streams/stage.conf.template in use is the shipped one: give LISTEN_STAGE a larger buffer, "
        "make reload, and run the program again.",
    )
    need(
        more[-1].sent > 3 * shipped.sent,
        f"The last client was cut off after {more[-1].sent // 1000} kB, the first after "
        f"{shipped.sent // 1000} kB: the buffer of LISTEN_STAGE is not larger, or not loaded.",
    )
