"""The sources of a run's thresholds: the shipped file, another file, the fields of the form."""

from pathlib import Path

import pytest

from loadtest.tests.locust_library import parse
from verdict import judge, thresholds

SHIPPED = judge.read(thresholds.SHIPPED)


@pytest.fixture
def file(tmp_path: Path) -> str:
    """Return the option for a file with lines for two of the fields."""
    path = tmp_path / "other.toml"
    path.write_text('[error_ratio]\n"*" = 0.2\n[p95_ms]\n"* heard" = 300\n"* chat" = 900\n')
    return f"--thresholds={path}"


def test_the_fields_have_the_numbers_of_the_shipped_file() -> None:
    options = parse()
    assert not options.thresholds  # so the run is not judged at its end
    for option, (table, pattern, _) in thresholds.FIELDS.items():
        assert getattr(options, option.replace("-", "_")) == SHIPPED[table][pattern]
    assert thresholds.of(options) == SHIPPED


def test_another_file_sets_the_fields_wherever_it_stands_among_the_arguments(file: str) -> None:
    for options in (parse(file, "--max-heard-ms=77"), parse("--max-heard-ms=77", file)):
        assert options.max_errors == 0.2
        assert thresholds.of(options) == {"error_ratio": {"*": 0.2}, "p95_ms": {"* heard": 77, "* chat": 900}}


def test_a_field_overrides_its_line_even_with_the_number_of_the_shipped_file(file: str) -> None:
    options = parse(file, "--max-errors=0")
    assert thresholds.of(options)["error_ratio"] == {"*": 0}


def test_a_run_of_own_classes_alone_has_the_lines_that_its_user_chose(file: str) -> None:
    def left(*arguments: str) -> dict[str, object]:
        return {
            table: lines for table, lines in thresholds.of(parse(*arguments), ours=False).items() if lines
        }

    everywhere = {"error_ratio": {"*": 0}, "generator": SHIPPED["generator"]}
    assert left() == everywhere
    chosen = left("--max-page-ms=77", f"--thresholds={thresholds.SHIPPED}")
    assert chosen == {**everywhere, "p95_ms": {"GET /stages/*": 77}}
    assert left(file) == thresholds.of(parse(file))


@pytest.mark.parametrize(
    ("content", "message"), [("[sample]\n'GET /' = 1", "unknown table [sample]"), (None, "No such file")]
)
def test_a_mistake_in_the_file_ends_locust_before_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None, message: str
) -> None:
    path = tmp_path / "other.toml"
    if content:
        path.write_text(content)
    with pytest.raises(SystemExit) as ended:
        parse(f"--thresholds={path}")
    assert ended.value.code == 2
    assert message in capsys.readouterr().err
