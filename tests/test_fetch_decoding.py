"""Content codings: both deflates, several members, bombs, and what is broken."""

import gzip
import zlib
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.fetch.decoding import Inflate, Undecodable, decoder, framed

TEXT = b"The quick brown fox. " * 200
ROOM = 1_000_000


def raw_deflate(text: bytes) -> bytes:
    engine = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return engine.compress(text) + engine.flush()


def decoded(coding: str, pieces: Iterable[bytes]) -> bytes:
    inflate = Inflate(coding)
    text = b"".join(inflate.feed(piece, ROOM) for piece in pieces)
    inflate.finish()
    return text


@pytest.mark.parametrize("size", [1, 7, ROOM])
@pytest.mark.parametrize(
    ("coding", "data", "expected"),
    [
        pytest.param("gzip", gzip.compress(TEXT), TEXT, id="gzip"),
        pytest.param(
            "gzip", gzip.compress(b"one ") + gzip.compress(b"two"), b"one two", id="two members"
        ),
        pytest.param("gzip", gzip.compress(TEXT) + bytes(9), TEXT, id="zeros behind gzip"),
        pytest.param(
            "gzip",
            gzip.compress(b"one ") + bytes(2) + gzip.compress(b"two") + bytes(9),
            b"one two",
            id="zeros between two members",
        ),
        pytest.param("gzip", gzip.compress(TEXT) + b"junk", TEXT, id="junk behind gzip"),
        pytest.param(
            "gzip",
            gzip.compress(TEXT) + b"junk" + gzip.compress(b"two"),
            TEXT,
            id="a member behind junk",
        ),
        pytest.param("gzip", b"", b"", id="an empty body"),
        pytest.param("deflate", zlib.compress(TEXT), TEXT, id="deflate"),
        pytest.param("deflate", raw_deflate(TEXT), TEXT, id="raw deflate"),
        pytest.param("deflate", zlib.compress(TEXT) + b"junk", TEXT, id="junk behind deflate"),
    ],
)
def test_a_body_is_decoded_whatever_its_pieces(
    coding: str, data: bytes, expected: bytes, size: int
) -> None:
    pieces = [data[at : at + size] for at in range(0, len(data), size)]

    assert decoded(coding, pieces) == expected


@pytest.mark.parametrize("size", [1, 7, ROOM])
@pytest.mark.parametrize(
    ("behind", "junk"),
    [(b"", False), (bytes(9), False), (b"\r\n", True), (bytes(9) + b"x" + bytes(9), True)],
)
@pytest.mark.parametrize(
    ("coding", "compress"), [("gzip", gzip.compress), ("deflate", zlib.compress)]
)
def test_junk_behind_a_stream_is_told_from_padding(
    coding: str, compress: Callable[[bytes], bytes], behind: bytes, junk: bool, size: int
) -> None:
    data = compress(TEXT) + behind
    inflate = Inflate(coding)
    for at in range(0, len(data), size):
        inflate.feed(data[at : at + size], ROOM)
    inflate.finish()

    assert inflate.junk is junk


@pytest.mark.parametrize("value", [None, "", "identity", "chunked", "Identity, Chunked"])
def test_a_body_as_it_is_or_in_chunks_is_taken(value: str | None) -> None:
    framed(value)


@pytest.mark.parametrize("value", ["gzip", "gzip, chunked", "chunked, chunked", "x"])
def test_a_transfer_coding_that_nobody_undoes_is_refused(value: str) -> None:
    with pytest.raises(Undecodable, match=r"transfer coding .* was not asked for"):
        framed(value)


@given(st.lists(st.binary(max_size=300), max_size=8), st.integers(1, 64))
def test_members_in_a_row_are_one_body(texts: list[bytes], size: int) -> None:
    data = b"".join(gzip.compress(text) for text in texts)

    assert decoded("gzip", [data[at : at + size] for at in range(0, len(data), size)]) == b"".join(
        texts
    )


@pytest.mark.parametrize(
    ("coding", "compress"), [("gzip", gzip.compress), ("deflate", zlib.compress)]
)
def test_a_bomb_fills_the_room_and_no_more(coding: str, compress: Callable[[bytes], bytes]) -> None:
    bomb = compress(bytes(20_000_000))

    assert len(bomb) < 50_000
    assert len(Inflate(coding).feed(bomb, 1000)) == 1000


def test_members_without_end_are_refused() -> None:
    with pytest.raises(Undecodable, match="more than 64 gzip members"):
        Inflate("gzip").feed(gzip.compress(b"") * 100, ROOM)


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_what_is_not_in_its_coding_is_refused(coding: str) -> None:
    with pytest.raises(Undecodable, match=f"not {coding}"):
        Inflate(coding).feed(b"\x07<html>", ROOM)


@pytest.mark.parametrize("data", [gzip.compress(TEXT)[:-1], gzip.compress(TEXT)[:20]])
def test_a_stream_that_ends_early_is_refused(data: bytes) -> None:
    inflate = Inflate("gzip")
    inflate.feed(data, ROOM)

    with pytest.raises(Undecodable, match="the gzip stream ends early"):
        inflate.finish()


@pytest.mark.parametrize("value", [None, "", "identity", " Identity , "])
def test_nothing_is_undone_where_nothing_was_done(value: str | None) -> None:
    assert decoder(value) is None


@pytest.mark.parametrize("value", ["gzip", "GZIP", " x-gzip ", "identity, gzip", "deflate"])
def test_what_we_ask_for_has_a_decoder(value: str) -> None:
    assert isinstance(decoder(value), Inflate)


@pytest.mark.parametrize("value", ["br", "zstd", "gzip, gzip", "aes128gcm", "\udcff"])
def test_what_we_did_not_ask_for_is_refused(value: str) -> None:
    with pytest.raises(Undecodable, match="was not asked for"):
        decoder(value)
