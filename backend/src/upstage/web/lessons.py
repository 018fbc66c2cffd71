"""The pages below `/lessons/`: the list, each lesson with the learner's state, its solution, the course."""

from collections.abc import Callable
from functools import partial

from twisted.web.server import Request

from upstage.net.purge import ALL_LESSONS
from upstage.state.progress import Result
from upstage.web.course import Course, Lesson
from upstage.web.files import MEDIA_CSP, REVALIDATE, serve
from upstage.web.markdown import with_word
from upstage.web.nodes import Node, Page, redirect
from upstage.web.templates import Pages

TAG = ALL_LESSONS.encode()  # for the cache in front: `upstage lessons` purges it
CACHE = b"max-age=0, s-maxage=60"  # a purge that is lost costs a minute
# The cheat sheet is a document with its own style, and without scripts.
SHEET_CSP = (
    b"default-src 'none'; img-src 'self'; style-src 'unsafe-inline'; base-uri 'none'; "
    b"form-action 'none'; frame-ancestors 'none'"
)

Progress = Callable[[], dict[int, Result]]


class LessonsFolder(Node):
    """`/lessons`, and the URLs below it."""

    def __init__(self, pages: Pages, course: Course, progress: Progress) -> None:
        super().__init__(pages)
        self._course = course
        self._progress = progress
        for name, get in (
            (b"", self._list),
            (b"course", partial(self._text, title=course.title, body=course.body)),
            (b"cheat-sheet", self._sheet),
        ):
            self.putChild(name, Page(pages, get))
        self.putChild(b"pictures", Pictures(pages, course))
        for place, lesson in enumerate(course.lessons):
            page = Page(pages, partial(self._lesson, place))
            page.putChild(b"solution", Page(pages, partial(self._solution, lesson)))
            self.putChild(lesson.name.encode(), page)

    def render_GET(self, request: Request) -> bytes:
        request.setHeader(b"cache-control", CACHE)
        return redirect(request, "/lessons/")

    def _list(self, request: Request) -> bytes:
        cached(request)
        return self.pages.render(request, "lessons.html", course=self._course, progress=self._progress())

    def _lesson(self, place: int, request: Request) -> bytes:
        cached(request)
        lessons = self._course.lessons
        result = self._progress().get(lessons[place].number, Result())
        return self.pages.render(
            request,
            "lesson.html",
            lesson=lessons[place],
            result=result,
            body=with_word(lessons[place].body, result.word),
            question=with_word(lessons[place].question, result.word),
            before=lessons[place - 1] if place else None,
            after=lessons[place + 1] if place + 1 < len(lessons) else None,
        )

    def _solution(self, lesson: Lesson, request: Request) -> bytes:
        result = self._progress().get(lesson.number, Result())
        if not lesson.solution or result.state != "done":
            closed = f"The solution of lesson {lesson.number} can be read here when the lesson is done."
            return self.pages.error(request, 404, closed if lesson.solution else "")
        title = f"{lesson.number}. {lesson.title}: solution"
        return self._text(request, title, with_word(lesson.solution, result.word), lesson)

    def _text(self, request: Request, title: str, body: str, lesson: Lesson | None = None) -> bytes:
        """The course, or the solution of a lesson."""
        cached(request)
        return self.pages.render(request, "course.html", title=title, body=body, lesson=lesson)

    def _sheet(self, request: Request) -> bytes:
        cached(request)
        request.setHeader(b"content-type", b"text/html; charset=utf-8")
        request.setHeader(b"content-security-policy", SHEET_CSP)
        return self._course.sheet.encode()


class Pictures(Node):
    """`/lessons/pictures`: those of the course and the cheat sheet."""

    isLeaf = True

    def __init__(self, pages: Pages, course: Course) -> None:
        super().__init__(pages)
        self._folder = course.pictures

    def render_GET(self, request: Request) -> bytes | int:
        cached(request)
        request.setHeader(b"cache-control", REVALIDATE)
        request.setHeader(b"content-security-policy", MEDIA_CSP)
        return serve(request, self.pages, self._folder, request.postpath)


def cached(request: Request) -> None:
    """Let the cache in front keep this response until `upstage lessons` purges it."""
    request.setHeader(b"cache-control", CACHE)
    request.setHeader(b"x-cache-tags", TAG)
