import pytest

from caches.cache_status import Member, parse


@pytest.mark.parametrize(
    ("field", "hit"),
    [
        ("varnish; hit; ttl=43190", True),
        ("varnish;hit", True),
        ("varnish; hit=?1", True),
        ("varnish; hit=?0", False),
        ("varnish; fwd=uri-miss; stored", False),
        # The word alone does not make a hit: here it is a value, a name, and part of a longer word.
        ("varnish; detail=hit", False),
        ("hit; fwd=bypass", False),
        ("varnish; fwd=miss; detail=hit-for-miss", False),
        ('varnish; detail="a, b; hit"', False),
    ],
)
def test_only_the_boolean_parameter_is_a_hit(field: str, hit: bool) -> None:
    assert [member.hit for member in parse(field)] == [hit]


def test_members_are_in_order_from_the_backend_to_the_client() -> None:
    members = parse('varnish; fwd=uri-miss; fwd-status=200,\t"n \\"x\\", y"; hit; ttl=-1 ,edge')
    assert members == [
        Member("varnish", {"fwd": "uri-miss", "fwd-status": "200"}),
        Member('n "x", y', {"hit": "?1", "ttl": "-1"}),
        Member("edge", {}),
    ]


def test_the_text_leaves_out_what_differs_in_every_response() -> None:
    (member,) = parse('varnish; fwd=bypass; ttl=43190; stored; key="/x"; detail=pass')
    assert str(member) == "varnish; fwd=bypass; stored; detail=pass"


@pytest.mark.parametrize("field", ["", ",", ";", ' , ;="', '"open', "varnish" + "; a" * 20_000 + '; "'])
def test_any_text_is_read(field: str) -> None:
    assert not any(member.hit for member in parse(field))
