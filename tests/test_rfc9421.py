"""The messages, keys and signatures that RFC 9421 prints, through our own modules."""

from dataclasses import replace

import pytest
from http_message_signatures import (
    HTTPMessageSignaturesException,
    HTTPSignatureComponentResolver,
)
from http_sf.compat import Item

from signing import base, fields, keys, signature
from signing.errors import SigningError
from signing.judgement import Reason
from signing.keys import PublicKey
from signing.message import Component, Message

# Appendix B.1: public keys as JWKs.
RSA_PSS = keys.read_public(
    {
        "kty": "RSA",
        "alg": "PS512",
        "n": "r4tmm3r20Wd_PbqvP1s2-QEtvpuRaV8Yq40gjUR8y2Rjxa6dpG2GXHbPfvMs8ct-Lh1GH45x28Rw3Ry5"
        "3mm-oAXjyQ86OnDkZ5N8lYbggD4O3w6M6pAvLkhk95AndTrifbIFPNU8PPMO7OyrFAHqgDsznjPFmTOtCEcN"
        "2Z1FpWgchwuYLPL-Wokqltd11nqqzi-bJ9cvSKADYdUAAN5WUtzdpiy6LbTgSxP7ociU4Tn0g5I6aDZJ7A8L"
        "zo0KSyZYoA485mqcO0GVAdVw9lq4aOT9v6d-nb4bnNkQVklLQ3fVAvJm-xdDOp9LCNCN48V2pnDOkFV6-U9n"
        "V5oyc6XI2w",
        "e": "AQAB",
    }
)
P256 = keys.read_public(
    {
        "kty": "EC",
        "crv": "P-256",
        "x": "qIVYZVLCrPZHGHjP17CTW0_-D9Lfw0EkjqF7xB4FivA",
        "y": "Mc4nN9LTDOBhfoUeg8Ye9WedFRhnZXZJA12Qp0zZ6F0",
    }
)
ED25519 = keys.read_public(
    {"kty": "OKP", "crv": "Ed25519", "x": "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"}
)

# Appendix B.2.
DIGEST = (
    "sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHW"
    "XvJwew==:"
)
REQUEST = Message(
    method="POST",
    scheme="https",
    authority="example.com",
    target="/foo?param=Value&Pet=dog",
    fields=(
        ("Host", "example.com"),
        ("Date", "Tue, 20 Apr 2021 02:07:55 GMT"),
        ("Content-Type", "application/json"),
        ("Content-Digest", DIGEST),
        ("Content-Length", "18"),
    ),
)
RESPONSE = Message(
    status=200,
    fields=(
        ("Date", "Tue, 20 Apr 2021 02:07:56 GMT"),
        ("Content-Type", "application/json"),
        (
            "Content-Digest",
            "sha-512=:mEWXIS7MaLRuGgxOBdODa3xqM1XdEvxoYhvlCFJ41QJgJc4GTsPp29l5oGX69wWdXymyU0rj"
            "Juahq4l5aGgfLQ==:",
        ),
        ("Content-Length", "23"),
    ),
    request=REQUEST,
)
B21 = (
    'sig-b21=();created=1618884473;keyid="test-key-rsa-pss";nonce="b3k2pp5k7z-50gnwp.yemd"',
    "sig-b21=:d2pmTvmbncD3xQm8E9ZV2828BjQWGgiwAaw5bAkgibUopemLJcWDy/lkbbHAve4cRAtx31Iq786U7it++w"
    "gGxbtRxf8Udx7zFZsckzXaJMkA7ChG52eSkFxykJeNqsrWH5S+oxNFlD4dzVuwe8DhTSja8xxbR/Z2cOGdCbzR72rg"
    "FWhzx2VjBqJzsPLMIQKhO4DGezXehhWwE56YCE+O6c0mKZsfxVrogUvA4HELjVKWmAvtl6UnCh8jYzuVG5WSb/QEVP"
    "nP5TmcAnLH1g+s++v6d4s8m0gCw1fV5/SITLq9mhho8K3+7EPYTU8IU1bLhdxO5Nyt8C8ssinQ98Xw9Q==:",
)
B22 = (
    'sig-b22=("@authority" "content-digest" "@query-param";name="Pet");created=1618884473'
    ';keyid="test-key-rsa-pss";tag="header-example"',
    "sig-b22=:LjbtqUbfmvjj5C5kr1Ugj4PmLYvx9wVjZvD9GsTT4F7GrcQEdJzgI9qHxICagShLRiLMlAJjtq6N4CDfKt"
    "jvuJyE5qH7KT8UCMkSowOB4+ECxCmT8rtAmj/0PIXxi0A0nxKyB09RNrCQibbUjsLS/2YyFYXEu4TRJQzRw1rLEuEf"
    "Y17SARYhpTlaqwZVtR8NV7+4UKkjqpcAoFqWFQh62s7Cl+H2fjBSpqfZUJcsIk4N6wiKYd4je2U/lankenQ99PZfB4"
    "jY3I5rSV2DSBVkSFsURIjYErOs0tFTQosMTAoxk//0RoKUqiYY8Bh0aaUEb0rQl3/XaVe4bXTugEjHSw==:",
)
B23 = (
    'sig-b23=("date" "@method" "@path" "@query" "@authority" "content-type" "content-digest" '
    '"content-length");created=1618884473;keyid="test-key-rsa-pss"',
    "sig-b23=:bbN8oArOxYoyylQQUU6QYwrTuaxLwjAC9fbY2F6SVWvh0yBiMIRGOnMYwZ/5MR6fb0Kh1rIRASVxFkeGt6"
    "83+qRpRRU5p2voTp768ZrCUb38K0fUxN0O0iC59DzYx8DFll5GmydPxSmme9v6ULbMFkl+V5B1TP/yPViV7KsLNmvK"
    "iLJH1pFkh/aYA2HXXZzNBXmIkoQoLd7YfW91kE9o/CCoC1xMy7JA1ipwvKvfrs65ldmlu9bpG6A9BmzhuzF8Eim5f8"
    "ui9eH8LZH896+QIF61ka39VBrohr9iyMUJpvRX2Zbhl5ZJzSRxpJyoEZAFL2FUo5fTIztsDZKEgM4cUA==:",
)
B24 = (
    'sig-b24=("@status" "content-type" "content-digest" "content-length");created=1618884473'
    ';keyid="test-key-ecc-p256"',
    "sig-b24=:wNmSUAhwb5LxtOtOpNa6W5xj067m5hFrj0XQ4fvpaCLx0NKocgPquLgyahnzDnDAUy5eCdlYUEkLIj+32o"
    "iasw==:",
)
B26 = (
    'sig-b26=("date" "@method" "@path" "@authority" "content-type" "content-length")'
    ';created=1618884473;keyid="test-key-ed25519"',
    "sig-b26=:wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpB"
    "KRCw==:",
)
# Appendix B.4: what an intermediary may change, and what not.
TRANSFORM = (
    'transform=("@method" "@path" "@authority" "accept");created=1618884473'
    ';keyid="test-key-ed25519"',
    "transform=:ZT1kooQsEHpZ0I1IjCqtQppOmIqlJPeo7DHR3SoMn0s5JZ1eRGS0A+vyYP9t/LXlh5QMFFQ6cpLt2m0p"
    "mj3NDA==:",
)


def carrying(message: Message, signed: tuple[str, str]) -> Message:
    """The message with the two fields."""
    added = zip(("Signature-Input", "Signature"), signed, strict=True)
    return replace(message, fields=(*message.fields, *added))


@pytest.mark.parametrize(
    ("message", "signed", "key"),
    [
        pytest.param(REQUEST, B21, RSA_PSS, id="B.2.1 minimal, rsa-pss-sha512"),
        pytest.param(REQUEST, B22, RSA_PSS, id="B.2.2 selective, rsa-pss-sha512"),
        pytest.param(REQUEST, B23, RSA_PSS, id="B.2.3 full, rsa-pss-sha512"),
        pytest.param(RESPONSE, B24, P256, id="B.2.4 a response, ecdsa-p256-sha256"),
        pytest.param(REQUEST, B26, ED25519, id="B.2.6 ed25519"),
    ],
)
def test_a_printed_signature_verifies_and_no_other_message_does(
    message: Message, signed: tuple[str, str], key: PublicKey
) -> None:
    (found,) = signature.read(carrying(message, signed))

    assert found.fault(message, key) is None
    assert keys.is_published_test_key(key.keyid)
    for line in base.signature_base(message, found.params).splitlines()[:-1]:
        name = line.decode().partition(":")[0].strip('"')
        if not name.startswith("@"):
            other = tuple(
                (own, value + "0" if own.lower() == name else value)
                for own, value in message.fields
            )
            changed = replace(message, fields=other)

            assert found.fault(changed, key) is Reason.BAD_SIGNATURE, name


def transformed(
    *fields: tuple[str, str],
    method: str = "GET",
    authority: str = "example.org",
    path: str = "demo",
) -> Message:
    target = f"/{path}?name1=Value1&Name2=value2"
    return Message(method=method, scheme="https", authority=authority, target=target, fields=fields)


ACCEPT = (("Accept", "application/json"), ("Accept", "*/*"))


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        pytest.param(transformed(*ACCEPT), None, id="as signed"),
        pytest.param(transformed(("Accept-Language", "en-US"), *ACCEPT), None, id="another field"),
        pytest.param(transformed(("Accept", "application/json, */*")), None, id="combined"),
        pytest.param(
            transformed(("accept", "  application/json"), ("ACCEPT", "*/* ")), None, id="spelled"
        ),
        pytest.param(transformed(*ACCEPT, authority="EXAMPLE.org:443"), None, id="default port"),
        pytest.param(transformed(*ACCEPT, method="POST"), Reason.BAD_SIGNATURE, id="method"),
        pytest.param(
            transformed(*ACCEPT, authority="example.com"), Reason.BAD_SIGNATURE, id="authority"
        ),
        pytest.param(transformed(*ACCEPT[::-1]), Reason.BAD_SIGNATURE, id="another order"),
        pytest.param(transformed(), Reason.MISSING_COMPONENT, id="a field that is gone"),
    ],
)
def test_what_an_intermediary_may_change_and_what_not(
    message: Message, fault: Reason | None
) -> None:
    (found,) = signature.read(carrying(transformed(*ACCEPT), TRANSFORM))

    assert found.fault(message, ED25519) is fault


class _Request:
    """A message as http-message-signatures wants it."""

    def __init__(self, message: Message) -> None:
        self.method = message.method
        self.url = f"{message.scheme}://{message.authority}{message.target}"
        self.headers = _Lines(message.fields)


class _Lines:
    def __init__(self, lines: tuple[tuple[str, str], ...]) -> None:
        self._lines = lines

    def items(self) -> tuple[tuple[str, str], ...]:
        return self._lines


LONG = Message(
    method="GET",
    scheme="https",
    authority="Example.com:443",
    target="/caf%C3%A9/a%2Fb;c?q=%7E&u=https://x.example/y&empty=&plus=a+b&odd=~'!*()&twice=1&twice=2",
    fields=(
        ("Accept", "text/html ,  */*;q=0.10"),
        ("Cache-Control", " max-age=60,  no-cache "),
        ("Content-Digest", DIGEST),
        ("Example-Dict", "  a=1,    b=2;x=1;y=2,   c=(a   b   c), d"),
        ("Example-Header", "value, with, lots"),
        ("example-header", " of, commas\t"),
        ("X-Empty", ""),
    ),
)
ASKED = [
    *(Component(name) for name in ("@method", "@authority", "@scheme", "@path", "@query")),
    *(Component(name) for name in ("@target-uri", "@request-target", "@status", "@nothing")),
    *(
        Component("@query-param", (("name", name),))
        for name in ("q", "u", "empty", "plus", "odd", "twice", "absent")
    ),
    *(Component(name, (("sf", True),)) for name in ("accept", "cache-control", "content-digest")),
    *(Component("example-dict", (("key", key),)) for key in "abcdx"),
    *(Component(name, (("bs", True),)) for name in ("example-header", "x-empty", "accept")),
    *(Component(name) for name in ("accept", "example-header", "x-empty", "absent")),
    Component("example-dict", (("sf", True),)),
    Component("example-header", (("bs", True), ("sf", True))),
    Component("example-dict", (("bs", True), ("key", "a"))),
    Component("accept", (("tr", True),)),
    Component("accept", (("other", True),)),
    Component("@method", (("req", True),)),
    Component("@method", (("key", "a"),)),
]


@pytest.mark.parametrize("component", ASKED, ids=str)
def test_each_value_is_that_of_http_message_signatures(component: Component) -> None:
    # Its own authority and target URI keep what the URL spells; RFC 9421, 2.2.3 drops the port.
    resolver = HTTPSignatureComponentResolver(_Request(LONG))  # type: ignore[no-untyped-call]
    item = Item(component.name)
    item.params.update(dict(component.params))
    try:
        theirs = str(resolver.resolve(item)).replace("Example.com:443", "example.com")
    except (HTTPMessageSignaturesException, TypeError):  # TypeError: a parameter it cannot have
        theirs = None
    try:
        ours = LONG.component(component)
    except SigningError:
        ours = None

    assert ours == theirs


def test_the_signature_of_a_response_binds_the_request_that_it_answers() -> None:
    """RFC 9421, section 2.4: the response covers the signature of its request, and more of it."""
    stated = (
        'reqres=("@status" "content-length" "content-type" "signature";req;key="sig1" '
        '"@authority";req "@method";req);created=1618884479;keyid="test-key-ecc-p256"'
    )
    request = Message(
        method="POST",
        scheme="https",
        authority="example.com",
        target="/foo?param=Value&Pet=dog",
        fields=(("Signature", "sig1=:AQID:"),),
    )
    response = Message(
        status=503,
        fields=(("Content-Type", "application/json"), ("Content-Length", "62")),
        request=request,
    )

    built = base.signature_base(
        response, base.read_params(fields.parse_dictionary(stated)["reqres"])
    )

    assert built.decode().split("\n")[:-1] == [
        '"@status": 503',
        '"content-length": 62',
        '"content-type": application/json',
        '"signature";req;key="sig1": :AQID:',
        '"@authority";req: example.com',
        '"@method";req: POST',
    ]
