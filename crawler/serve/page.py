"""The /bot page: what a person sees who wonders about our requests."""

from collections.abc import Sequence
from html import escape

from crawler.settings import Settings
from signing import directory
from signing.keys import PublicKey


def bot(
    settings: Settings,
    classical: Sequence[PublicKey],
    second: Sequence[PublicKey],
    *,
    pq_keys: str,
) -> str:
    """The page as HTML: who we are, how to slow or stop us, what to verify; works without script.

    `classical` and `second` are the published keys, `pq_keys` the path of the latter's set.
    """
    us, manners = settings.bot, settings.signatures
    product, home = escape(us.product), escape(us.home)
    contact = escape(us.contact)
    politeness = settings.origins[0].politeness if settings.origins else None
    pause = f"{politeness.min_delay:g} seconds" if politeness else "several seconds"
    rows = "".join(
        f"<tr><td>{escape(label)}</td><td>{key.algorithm.name}</td>"
        f"<td><code>{key.keyid}</code></td><td><a href='{path}'>{path}</a></td></tr>"
        for label, keys, path in (
            ("sig1", classical, directory.WELL_KNOWN),
            (manners.second.label, second, pq_keys),
        )
        for key in keys
    )
    purpose = f"<p>{escape(us.purpose)}</p>" if us.purpose else ""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="index, nofollow">
<title>{product}</title>
<style>
:root {{ color-scheme: light dark }}
body {{ font: 1rem/1.6 system-ui, sans-serif }}
body {{ max-width: 44rem; margin: 3rem auto; padding: 0 1rem }}
code, pre {{ font-size: .9em; overflow-wrap: anywhere }}
table {{ border-collapse: collapse; width: 100% }}
td, th {{ border-top: 1px solid #8886; padding: .3rem .6rem .3rem 0; text-align: left }}
</style></head><body>
<h1>{product}</h1>
{purpose}
<p>Requests of this crawler begin their User-Agent with <code>{product}/</code> and carry HTTP
Message Signatures (RFC 9421). Whoever sends that name without a valid signature is not us.
You reach a person at <a href="{contact}">{contact}</a>.</p>
<h2>How to slow or stop us</h2>
<p>We read robots.txt before anything else and ask for nothing while it cannot be read. We make one
request at a time, at least {pause} after the last answer, and slower where you are slow.</p>
<pre>User-agent: {product}
Crawl-delay: 30
Disallow: /private/</pre>
<p><code>Disallow: /</code> stops us. <code>Retry-After</code> with a 429 or 503 is waited for up to
a day. After repeated 403 or 451 we stay away for an hour, then a day, then a week.</p>
<h2>How to verify us</h2>
<p>Verify the signature labelled <code>sig1</code> (Ed25519, tag <code>web-bot-auth</code>) with a
key of <a href="{directory.WELL_KNOWN}">{home}{directory.WELL_KNOWN}</a>. A second signature,
<code>{escape(manners.second.label)}</code>, is ML-DSA (FIPS 204): it prepares for the day when
Ed25519 no longer suffices, costs about 3.5 kB of request head, and <strong>may be
ignored</strong>. If it troubles your server, tell us and we leave it out for you.</p>
<h2>Keys</h2>
<table><tr><th>label</th><th>algorithm</th><th>keyid</th><th>key set</th></tr>{rows}</table>
</body></html>
"""
