"""The /bot page as a browser shows it: without script, small and large, by day and by night."""

import asyncio
import re
from collections.abc import AsyncIterator
from html import unescape
from pathlib import Path

import aiohttp
import msgspec
import pytest
from aiohttp import web
from browser import dom, needs_chromium, screenshot, shades

from crawler.serve import publish
from crawler.settings import Bot, Settings
from signing import directory
from signing.algorithms import ED25519, by_name
from signing.keys import generate

pytestmark = needs_chromium

PRODUCT = "ExampleBot"
LONGEST = "B" * 64
CARD = "/.well-known/signature-agent-card"
DARK, LIGHT = (f"--blink-settings=preferredColorScheme={value}" for value in (0, 1))
# A page of the test's own looks at ours in a frame of each width; only the page's own script may.
PROBE = """<!doctype html><pre id=found></pre><script>
const found = []
const looks = WIDTHS.map(width => new Promise(done => {
  const frame = document.createElement('iframe')
  frame.style.cssText = `width:${width}px;height:600px;border:0`
  frame.sandbox = 'allow-same-origin'  // so no script runs in it
  frame.src = '/bot'
  frame.onload = () => {
    const page = frame.contentDocument, root = page.documentElement
    const style = frame.contentWindow.getComputedStyle(page.body)
    found.push({width, needs: root.scrollWidth, size: parseFloat(style.fontSize),
      styled: style.maxWidth, text: page.body.innerText})
    done()
  }
  document.body.append(frame)
}))
Promise.all(looks).then(() => document.getElementById('found').textContent = JSON.stringify(found))
</script>"""


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """What a frame of that many pixels shows: its text, and the width that it needs."""

    width: int
    needs: int
    size: float
    styled: str
    text: str


async def _looked_at(site: str) -> list[Look]:
    html = await asyncio.to_thread(dom, f"{site}/probe", "--virtual-time-budget=10000")
    (found,) = re.findall(r"<pre[^>]*>(.*?)</pre>", html, re.DOTALL)
    looks = msgspec.json.decode(unescape(found), type=list[Look])
    return sorted(looks, key=lambda look: look.width)


async def _serving(product: str) -> AsyncIterator[str]:
    settings = Settings(
        base=".",
        bot=Bot(
            product=product,
            home="https://bot.example",
            contact="mailto:bot@bot.example",
            purpose="reads <script>document.title = 'run'</script> twenty sites",
        ),
    )
    keys = (generate(ED25519), generate(ED25519), generate(by_name("ml-dsa-44")))
    found = publish.documents(settings, [key.public_key for key in keys], [keys[0].keyid])
    found["/probe"] = publish.Document(
        media_type="text/plain", body=PROBE.replace("WIDTHS", "[320, 360, 768, 1280]").encode()
    )
    app = publish.application(
        lambda: found, lambda: keys, authority="bot.example", wall=lambda: 1e9
    )

    async def as_html(request: web.Request, response: web.StreamResponse) -> None:
        if request.path == "/probe":
            response.headers["Content-Type"] = "text/html"

    app.on_response_prepare.append(as_html)
    runner = web.AppRunner(app)
    await runner.setup()
    server = web.TCPSite(runner, "127.0.0.1", 0)
    await server.start()
    host, port = runner.addresses[0][:2]
    yield f"http://{host}:{port}"
    await runner.cleanup()


@pytest.fixture
async def site() -> AsyncIterator[str]:
    async for url in _serving(PRODUCT):
        yield url


@pytest.fixture
async def site_with_the_longest_name() -> AsyncIterator[str]:
    async for url in _serving(LONGEST):
        yield url


async def test_without_script_a_person_reads_how_to_stop_and_to_verify_us(site: str) -> None:
    *_, wide = await _looked_at(site)

    text = " ".join(wide.text.split())
    for promise in (
        "How to slow or stop us",
        "Disallow: / stops us",
        "take the member sig1",
        "may be ignored",
        "bot@bot.example",
    ):
        assert promise in text


async def test_nothing_runs_and_nothing_else_is_loaded(site: str) -> None:
    html = await asyncio.to_thread(dom, f"{site}/bot")

    assert f"<title>{PRODUCT}</title>" in html, "the purpose's script has run"
    assert "reads &lt;script&gt;" in html
    assert not re.search(r"<(script|img|iframe|link|object)\b", html)


async def test_every_link_of_ours_leads_to_a_document(site: str) -> None:
    html = await asyncio.to_thread(dom, f"{site}/bot")

    links = set(re.findall(r'href="(/[^"]*)"', html))
    assert links == {directory.WELL_KNOWN, publish.PQ_KEYS, CARD}
    async with aiohttp.ClientSession() as session:
        for link in links:
            async with session.get(site + link) as answer:
                assert answer.status == 200


@pytest.mark.parametrize("name", ["site", "site_with_the_longest_name"])
async def test_it_fits_from_the_smallest_phone_on(
    name: str, request: pytest.FixtureRequest, site: str, site_with_the_longest_name: str
) -> None:
    url = site if name == "site" else site_with_the_longest_name
    for look in await _looked_at(url):
        assert look.needs <= look.width, look.width
        assert look.size >= 16
        assert look.styled.endswith("px"), "our style is not applied"


@pytest.mark.parametrize(
    ("scheme", "is_dark"), [(DARK, True), (LIGHT, False)], ids=["dark", "light"]
)
@pytest.mark.parametrize("width", [360, 1280], ids=["narrow", "wide"])
async def test_it_is_light_by_day_and_dark_by_night(
    tmp_path: Path, site: str, scheme: str, is_dark: bool, width: int
) -> None:
    png = await asyncio.to_thread(
        screenshot, f"{site}/bot", tmp_path / "page.png", width, 300, scheme
    )

    found = shades(png)
    background = max(found, key=lambda shade: found[shade])
    assert background < 64 if is_dark else background > 192
    assert any(abs(shade - background) > 150 for shade in found), "letters that can be read"
