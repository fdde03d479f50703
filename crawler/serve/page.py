"""The /bot page: what a person sees who wonders about our requests.

It speaks to every site at once, so it promises what holds at each origin: of any setting that
origins have of their own, the value that is kindest to us.
"""

from collections.abc import Collection, Sequence
from html import escape
from typing import Final

from crawler.polite import robots
from crawler.polite.regard import FAILURES_TOLERATED, REFUSALS_TOLERATED
from crawler.settings import Politeness, Settings, Unreachable
from signing import directory
from signing.keys import PublicKey

_UNITS: Final = (
    (604_800, "a week", "weeks"),
    (86_400, "a day", "days"),
    (3600, "an hour", "hours"),
    (60, "a minute", "minutes"),
)
_STYLE: Final = """
:root { color-scheme: light dark }
body { font: 1rem/1.6 system-ui, sans-serif }
body { max-width: 44rem; margin: 3rem auto; padding: 0 1rem; overflow-wrap: break-word }
code, pre { font-size: .9em }
code, pre, a { overflow-wrap: anywhere }
pre { white-space: pre-wrap }
table { border-collapse: collapse; width: 100% }
td, th { border-top: 1px solid #8886; padding: .3rem .6rem .3rem 0; text-align: left }
"""


def bot(
    settings: Settings,
    classical: Sequence[PublicKey],
    second: Sequence[PublicKey],
    *,
    signing: Collection[str],
    pq_keys: str,
    card: str,
) -> str:
    """The page as HTML: who we are, how to slow or stop us, what to verify; works without script.

    `classical` and `second` are the published keys, `signing` the identifiers of those that sign
    now, `pq_keys` the path of the set of `second`, `card` that of the Signature Agent Card.
    """
    us, label = settings.bot, escape(settings.signatures.second.label)
    product, contact = escape(us.product), escape(us.contact)
    rows = "".join(
        f"<tr><td>{name}</td><td>{key.algorithm.name}</td><td><code>{key.keyid}</code></td>"
        f"<td>{'signs' if key.keyid in signing else 'published'}</td></tr>"
        for name, keys in (("sig1", classical), (label, second))
        for key in keys
    )
    purpose = f"<p>{escape(us.purpose)}</p>" if us.purpose else ""
    manners = [origin.politeness for origin in settings.origins] or [Politeness()]
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="index, nofollow">
<title>{product}</title>
<style>{_STYLE}</style></head><body>
<h1>{product}</h1>
{purpose}
<p>Requests of this crawler begin their User-Agent with <code>{product}/</code> and carry HTTP
Message Signatures (RFC 9421). Whoever sends that name without a valid signature by one of our keys
is not us. You reach a person at <a href="{contact}">{contact.removeprefix("mailto:")}</a>.</p>
<h2>How to slow or stop us</h2>
{_promises(manners)}
<pre>User-agent: {product}
Crawl-delay: 30
Disallow: /private/</pre>
<p><code>Disallow: /</code> stops us. {_refusals(manners)}</p>
<h2>How to verify us</h2>
{_recipe(settings)}
<p>A second signature, <code>{label}</code>, is ML-DSA (FIPS 204): it prepares for the day when
Ed25519 no longer suffices, costs about 3.5 kB of request head, and <strong>may be
ignored</strong>. If it troubles your server, tell us and we leave it out for you.</p>
<h2>Keys</h2>
<table><tr><th>label</th><th>algorithm</th><th>keyid</th><th>use</th></tr>
{rows}</table>
<p>The key sets: <a href="{directory.WELL_KNOWN}">{directory.WELL_KNOWN}</a> for <code>sig1</code>,
<a href="{pq_keys}">{pq_keys}</a> for <code>{label}</code>. For programs, this page in short: our
<a href="{card}">Signature Agent Card</a>.</p>
</body></html>
"""


def _promises(manners: Sequence[Politeness]) -> str:
    """What we hold to at every origin."""
    pause = min(one.min_delay for one in manners)
    pausing = f", at least {_span(pause)} after the last answer," if pause else ""
    strict = all(one.unreachable_robots is Unreachable.STRICT for one in manners)
    unread = (
        "ask for nothing else while it cannot be reached"
        if strict
        else "while it cannot be reached ask for nothing, or at some sites by the last copy that "
        "we could read, for up to 30 days"
    )
    return f"""<p>We read robots.txt before anything else and {unread}. What we have read
counts for {_span(robots.LONGEST)}, or for less by its <code>Cache-Control</code>, though never for
less than {_span(robots.SHORTEST)}. We make one request at a time to a
host{pausing} and fewer where you are slow or name a <code>Crawl-delay</code>; where that is longer
than we can keep, we stay away.</p>"""


def _refusals(manners: Sequence[Politeness]) -> str:
    """What we make of answers that refuse us."""
    ceiling = min(one.max_retry_after for one in manners)
    steps = max(len(one.freeze) for one in manners)
    away = [
        _span(min(one.freeze[min(step, len(one.freeze) - 1)] for one in manners))
        for step in range(steps)
    ]
    return f"""<code>Retry-After</code> with a 429 or 503 is waited for up to {_span(ceiling)}.
After {REFUSALS_TOLERATED} answers in a row of 401, 403 or 451, or {FAILURES_TOLERATED} failures in
a row, we stay away for {", then ".join(away)}; an answer that our second signature may have caused
counts only when the same request without it was refused, too."""


def _recipe(settings: Settings) -> str:
    """How to tell us from whoever takes our name; true of each profile."""
    home, lifetime = escape(settings.bot.home), settings.signatures.lifetime
    return f"""<ol>
<li>In <code>Signature-Input</code> take the member <code>sig1</code>. Its <code>tag</code> is
<code>web-bot-auth</code>, its components include <code>"@authority"</code> and
<code>"signature-agent"</code>, <code>created</code> is past and <code>expires</code>, at most
{lifetime} seconds after it, is not. The authority that you verify with is your own host, not what
the request says.</li>
<li><code>Signature-Agent</code>, or in it the member <code>sig1</code>, is
<code>{home}</code> or <code>{home}{directory.WELL_KNOWN}</code>. Compare it with what stands here:
anybody can sign with keys of their own and name a home of their own.</li>
<li>Take the key whose <code>kid</code> is the <code>keyid</code> from
<a href="{directory.WELL_KNOWN}">{home}{directory.WELL_KNOWN}</a>. Keep that set for as long as its
<code>Cache-Control</code> says.</li>
<li>Verify <code>sig1</code> in <code>Signature</code> (Ed25519) over the signature base of the
components listed (RFC 9421, section 2.5).</li>
<li>If you like, refuse a <code>nonce</code> that you saw before, until its <code>expires</code>.
</li></ol>"""


def _span(seconds: float) -> str:
    """A duration in words: "a day", "6 hours", "2.5 seconds"."""
    for length, one, many in _UNITS:
        count, rest = divmod(seconds, length)
        if count and not rest:
            return one if count == 1 else f"{count:g} {many}"
    return "a second" if seconds == 1 else f"{seconds:g} seconds"
