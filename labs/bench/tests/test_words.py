"""Numbers, metrics and keys as the results say them."""

from labs.bench import words
from labs.bench.report.reading import Key


def test_numbers_have_three_digits() -> None:
    said = {9029.4: "9,029", 650: "650", 91.83: "91.8", 1.5: "1.50", 0.412: "0.41", 0.0123: "0.012", 0: "0"}
    assert {value: words.number(value) for value in said} == said


def test_metrics_have_names_with_units() -> None:
    said = {
        "requests_per_second": "requests/s",
        "milliseconds": "ms",
        "p99_milliseconds": "p99, ms",
        "cpu_percent.backend": "CPU of backend, %",
        "bytes_per_connection": "bytes per connection",
    }
    assert {name: words.metric(name) for name in said} == said


def test_a_key_is_said_in_words() -> None:
    key: Key = {"file": "small", "clients": 1, "keepalive": False, "load": 60, "rate": 30000}
    assert words.key(key) == "small · 1 client · no keep-alive · 60 % load · 30,000/s"
    assert words.key(key, ["file", "rate", "load"]) == "1 client · no keep-alive"
