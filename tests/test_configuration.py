"""The two configuration files: what is read, and what each mistake is called."""

from pathlib import Path

import pytest

from crawler import configuration
from crawler.configuration import SettingsError
from crawler.settings import Follow, ProfileName, ScopeKind, Second, Settings

MAIN = Path(__file__).parents[1] / "config" / "crawler.toml"
BOT = """[bot]
product = "ExampleBot"
home = "https://bot.example"
contact = "mailto:a@bot.example"
"""
ONE = '[[origin]]\nname = "one"\nurl = "https://one.example/"\n'


def load(folder: Path, main: str = BOT, origins: str = ONE) -> Settings:
    (folder / "crawler.toml").write_text(main, encoding="utf-8")
    (folder / "origins.toml").write_text(origins, encoding="utf-8")
    return configuration.load(folder / "crawler.toml")


def test_the_shipped_files_are_fine_and_their_overrides_count_for_one_origin() -> None:
    settings = configuration.load(MAIN)

    first, second = settings.origins
    assert (first.politeness.min_delay, second.politeness.min_delay) == (5.0, 10.0)
    assert (first.every, second.schedule) == (6 * 3600.0, "0 5 * * 1")
    assert second.follow == (Follow.LINKS,)
    assert first.politeness.freeze == (3600.0, 86400.0, 604800.0)
    assert settings.bot.user_agent == (
        "ExampleBot/1.0 (+https://bot.example/bot; mailto:bot@bot.example)"
    )


def test_defaults_fill_what_is_not_written(tmp_path: Path) -> None:
    settings = load(tmp_path)

    (origin,) = settings.origins
    assert origin.profile is ProfileName.AUTO
    assert (origin.sig2, origin.sig2_set) == (Second.WATCH, False)
    assert origin.start == ("/",)
    assert origin.politeness.scope is ScopeKind.HOST
    assert settings.keys_directory == tmp_path / "keys"
    assert settings.state_directory == tmp_path / "state"


def test_beside_a_linked_file_is_beside_the_link(tmp_path: Path) -> None:
    shared, own = tmp_path / "shared", tmp_path / "own"
    shared.mkdir()
    own.mkdir()
    load(shared, origins=ONE.replace('"one"', '"shared"'))
    (own / "crawler.toml").symlink_to(shared / "crawler.toml")
    (own / "origins.toml").write_text(ONE)
    settings = configuration.load(own / "crawler.toml")

    assert [origin.name for origin in settings.origins] == ["one"]
    assert settings.keys_directory == own / "keys"
    assert settings.state_directory == own / "state"


def test_politeness_of_the_main_file_is_every_origins_default(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        BOT + '[politeness]\nmin_delay = 7.5\nquiet = "22:00-06:00 Europe/Prague"\n',
        ONE + 'min_interval = "2d"\nsig2 = "never"\n',
    )

    (origin,) = settings.origins
    assert origin.politeness.min_delay == 7.5
    assert origin.politeness.min_interval == 172800.0
    assert (origin.sig2, origin.sig2_set) == (Second.NEVER, True)


def test_urls_are_kept_as_they_are_sent(tmp_path: Path) -> None:
    settings = load(
        tmp_path, origins=ONE.replace("https://one.example/", "https://Bücher.example/ü?a=ß")
    )

    assert settings.origins[0].url == "https://xn--bcher-kva.example/%C3%BC?a=%C3%9F"


def test_a_cookie_shows_in_no_repr(tmp_path: Path) -> None:
    settings = load(tmp_path, origins=ONE + 'cookie = "session=geheim"\n')

    assert settings.origins[0].cookie == "session=geheim"
    assert "geheim" not in repr(settings)


@pytest.mark.parametrize(
    ("old", "new", "place", "words"),
    [
        pytest.param("product =", "produkt =", "crawler.toml: bot.produkt", "'product'", id="typo"),
        pytest.param("[bot]", "[bto]", "crawler.toml: bto", "'bot'", id="mistyped table"),
        pytest.param(
            '"https://bot.example"', '"http://bot.example"', "bot.home", "https", id="http"
        ),
        pytest.param(
            '"https://bot.example"', '"https://bot.example/x"', "bot.home", "path", id="home path"
        ),
        pytest.param('"ExampleBot"', '"Example Bot"', "bot.product", "token", id="no token"),
        pytest.param('"mailto:a@bot.example"', '"me"', "bot.contact", "mailto", id="contact"),
        pytest.param(
            '"mailto:a@bot.example"', '"mailto:a\\r\\nX: y"', "bot.contact", "ASCII", id="injection"
        ),
        pytest.param("[bot]", "[bot", "crawler.toml", "TOML", id="no toml"),
        pytest.param("https://", "https://me:secret@", "bot.home", "'https://…@bot", id="password"),
        pytest.param("https://", "http://me:secret@", "bot.home", "'http://…@bot", id="and http"),
    ],
)
def test_mistakes_in_the_main_file_name_place_and_cure(
    tmp_path: Path, old: str, new: str, place: str, words: str
) -> None:
    assert old in BOT
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, BOT.replace(old, new))

    assert place in caught.value.place
    assert words in f"{caught.value} {caught.value.hint}"
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("lines", "place", "words"),
    [
        ("[politeness]\nmin_delay = -1", "politeness.min_delay", ">= 0"),
        (
            '[politeness]\nmin_delay = "soon"',
            "politeness.min_delay",
            "a number is expected, not text",
        ),
        ("[politeness]\nmin_dely = 1", "politeness.min_dely", "'min_delay'"),
        ('[politeness]\nmin_interval = "1y"', "politeness.min_interval", "duration"),
        ("[politeness]\nmin_interval = true", "politeness.min_interval", "true is not a duration"),
        ('[politeness]\nmin_interval = "1y"', "politeness.min_interval", 'for example "90s", "6h"'),
        ('[politeness]\nquiet = "late"', "politeness.quiet", "without a zone it is UTC"),
        ('[politeness]\ntypes = "text/html"', "politeness.types", "a list is expected, not text"),
        ("[signatures]\nskew = 1.5", "signatures.skew", "a whole number is expected, not a number"),
        ('[publish]\ncombined = "no"', "publish.combined", "true or false is expected, not text"),
        ('[publish]\ncard = "card"', "publish.card", "no path that the card can stand at"),
        ('[publish]\ncard = "/a/"', "publish.card", "no path"),
        ('[publish]\ncard = "/a/../b"', "publish.card", "no part begins with a dot"),
        ('[publish]\ncard = "/kärtchen"', "publish.card", "letters, digits"),
        ('[publish]\ncard = "/bot"', "publish.card", "in the way of /bot,"),
        ('[publish]\ncard = "/bot/card"', "publish.card", "in the way of /bot,"),
        ('[publish]\ncard = "/index.html"', "publish.card", "in the way of /index.html"),
        ('[card]\nips_uri = "http://bot.example/ips"', "card.ips_uri", "not an https URL"),
        ('[card]\nips_uri = "https://me@bot.example"', "card.ips_uri", "…@bot.example"),
        (
            "[signatures]\nsecond = 2",
            "signatures.second",
            "a table is expected, not a whole number",
        ),
        ('[politeness]\nmin_interval = "40d"', "politeness.max_interval", "shorter"),
        ('[politeness]\nquiet = "late"', "politeness.quiet", "22:00"),
        ('[politeness]\nquiet = "22:00-22:00"', "politeness.quiet", 'quiet = ""'),
        ('[politeness]\nquiet = "01:00-02:00 Mars/Base"', "politeness.quiet", "time zone"),
        ("[politeness]\nfreeze = []", "politeness.freeze", "length"),
        ("[politeness]\nfreeze = [-1]", "politeness.freeze", 'freeze = ["1h", "1d", "7d"]'),
        ("[politeness]\nfreeze = [nan]", "politeness.freeze", "not a duration"),
        ("[politeness]\nfreeze = [inf]", "politeness.freeze", "not a duration"),
        ("[politeness]\nmin_interval = inf", "politeness.min_interval", "without end"),
        ("[politeness]\ndeadline = inf", "politeness.deadline", "without end"),
        ("[politeness]\ndeadline = nan", "politeness.deadline", "without end"),
        ('[politeness]\nfreeze = ["520w", "522w"]', "politeness.freeze", "ten years"),
        (f'[politeness]\nmax_interval = "{"9" * 400}d"', "politeness.max_interval", "ten years"),
        (f"[politeness]\nfull_fetch = 1{'0' * 400}", "politeness.full_fetch", "too large"),
        (f"[politeness]\nfreeze = [1{'0' * 400}]", "politeness.freeze", "ten years"),
        ("[politeness]\nmin_interval = 1e300", "politeness.min_interval", "ten years"),
        ("[politeness]\nmax_retry_after = 1e300", "politeness.max_retry_after", "ten years"),
        (f"[politeness]\nmin_delay = 1{'0' * 400}", "politeness.min_delay", "too large"),
        ("[politeness]\nbody_limit = 9007199254740993", "politeness.body_limit", "too large"),
        ('[politeness]\nmin_delay = "5"', "politeness.min_delay", "for example min_delay = 5.0"),
        ('[state]\ndirectory = ""', "state.directory", "name one"),
        ('[signatures]\nkeys = "a\\u0000b"', "signatures.keys", "name one"),
        ("[signatures]\nlifetime = 86401", "signatures.lifetime", "86400"),
        ('[signatures]\nsig2 = "sometimes"', "signatures.sig2", "watch, always, never"),
        ('[signatures.second]\nlabel = "sig1"', "signatures.second", "sig1"),
        ('[signatures.second]\nlabel = "Sig 2"', "signatures.second", "lower-case"),
        ('[signatures.second]\nalgorithm = "rsa"', "signatures.second.algorithm", "ml-dsa-44"),
        ('[signatures.second]\ntag = "é"', "signatures.second", "ASCII"),
        ('[signatures.second]\nalg = "ed25519"', "signatures.second", "ed25519"),
    ],
)
def test_mistakes_in_its_tables_name_place_and_cure(
    tmp_path: Path, lines: str, place: str, words: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, f"{BOT}{lines}\n")

    assert place in caught.value.place
    assert words in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize(
    ("origins", "place", "words"),
    [
        pytest.param("", "origins.toml", "no origin", id="none"),
        pytest.param("x = 1\n", "origins.toml: x", "[[origin]]", id="stray key"),
        pytest.param("origin = [1]\n", "origin[0]", "table", id="no table"),
        pytest.param(ONE + "shedule = ''\n", "origin[0].shedule", "'schedule'", id="typo"),
        pytest.param(ONE + "min_delay = -0.1\n", "origin[0].min_delay", ">= 0", id="negative"),
        pytest.param(ONE + 'schedule = "x"\n', "origin[0].schedule", "five fields", id="cron"),
        pytest.param(
            ONE + 'schedule = "* * * * * *"\n', "origin[0].schedule", "Seconds", id="six fields"
        ),
        pytest.param(
            ONE + 'schedule = "0 0 31 4 *"\n', "origin[0].schedule", "31 4", id="31 April"
        ),
        pytest.param(
            ONE + 'schedule = "0 0 * * *"\nevery = "1h"\n', "origin[0].every", "one", id="both"
        ),
        pytest.param(
            ONE + 'profile = "published"\nsig2 = "never"\n', "sig2", "both", id="contradiction"
        ),
        pytest.param(ONE + 'start = ["//x/"]\n', "origin[0].start[0]", "path", id="other host"),
        pytest.param(ONE + "start = []\n", "origin[0].start", "length", id="no start"),
        pytest.param(ONE + 'cookie = "a\\nb"\n', "origin[0].cookie", "ASCII", id="cookie"),
        pytest.param(
            ONE + "follow = 'feed'\n", "origin[0].follow[0]", "one of nothing, links", id="follow"
        ),
        pytest.param(
            ONE.replace("url", "# url"), "origin[0].url (one)", 'url = "https://', id="no url"
        ),
        pytest.param(ONE.replace("name", "# name"), "origin[0].name", 'name = "', id="no name"),
        pytest.param(
            ONE.replace('"one"', '"one of"'), "origin[0].name", 'name = "example"', id="bad name"
        ),
        pytest.param(
            ONE + "zzz = 1\n", "origin[0].zzz", "known are name, url, start,", id="a stranger"
        ),
        pytest.param(ONE + "every = -1\n", "origin[0].every", 'every = "6h"', id="before now"),
        pytest.param(ONE + "sig2_set = true\n", "sig2_set", "'sig2'", id="not a setting"),
        pytest.param(ONE + 'every = "9999999d"\n', "origin[0].every", "ten years", id="every"),
        pytest.param(ONE + "deadline = 1e10\n", "origin[0].deadline", "ten years", id="deadline"),
        pytest.param(ONE + f"pages = {2**64}\n", "origin[0].pages", "too large", id="pages"),
        pytest.param(ONE + "pages = 0\n", "origin[0].pages", "pages = 50", id="no pages"),
        pytest.param(
            ONE + 'start = ["//me:secret@one.example/"]\n', "start[0]", "'//…@one", id="password"
        ),
        pytest.param(
            ONE.replace("https://", "ftp://me:secret@"), "url", "'ftp://…@one", id="strange url"
        ),
        pytest.param(
            ONE.replace("https://", "https:me:secret@"), "url", "'https:…@one", id="crooked url"
        ),
        pytest.param(
            ONE + 'cookie = ["secret"]\n', "origin[0].cookie", "text is expected", id="no cookie"
        ),
        pytest.param(ONE + ONE, "origin[1].name", "origin[0]", id="same name"),
        pytest.param(
            ONE + ONE.replace('"one"', '"two"').replace("one.example/", "ONE.example:443"),
            "origin[1].url",
            "origin[0]",
            id="same url written differently",
        ),
        pytest.param(
            ONE.replace("https://", "https://me:secret@"), "origin[0].url", "@", id="user info"
        ),
        pytest.param(ONE.replace("https:", "ftp:"), "origin[0].url", "http", id="scheme"),
        pytest.param(
            ONE.replace("one.example", "a_ü.example"), "origin[0].url", "xn--", id="no IDN"
        ),
        pytest.param(ONE.replace(".example/", ".example:99999/"), "url", "port", id="port"),
    ],
)
def test_mistakes_in_the_origins_name_place_and_cure(
    tmp_path: Path, origins: str, place: str, words: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, origins=origins)

    assert place in caught.value.place
    assert words in f"{caught.value} {caught.value.hint}"
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("one", "origins.toml: origin[0].shedule (one)"),
        ("o\\u001bne", "origins.toml: origin[0].shedule"),
        ("x" * 99, f"origins.toml: origin[0].shedule ({'x' * 64})"),
    ],
    ids=["a name", "a name that cannot be shown", "a name that is too long"],
)
def test_the_place_of_a_mistake_has_the_origins_name(tmp_path: Path, name: str, place: str) -> None:
    table = ONE.replace('"one"', f'"{name}"') + "shedule = 0\n"

    with pytest.raises(SettingsError) as caught:
        load(tmp_path, origins=table)

    assert caught.value.place == place


def test_internal_names_are_not_among_what_may_be_written(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, origins=ONE + "zzz = 1\n")

    assert caught.value.hint is not None
    for name in ("sig2_set", "politeness"):
        assert name not in caught.value.hint


def test_a_missing_file_names_what_writes_one(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        configuration.load(tmp_path / "crawler.toml")

    assert "crawl init" in (caught.value.hint or "")


def test_a_file_that_is_not_utf8_is_said(tmp_path: Path) -> None:
    load(tmp_path)
    (tmp_path / "origins.toml").write_bytes(b"\xff\xfe")

    with pytest.raises(SettingsError, match="cannot be read"):
        configuration.load(tmp_path / "crawler.toml")


@pytest.mark.parametrize(
    ("written", "seconds"),
    [(90, 90.0), (1.5, 1.5), ("90", 90.0), ("90s", 90.0), ("5m", 300.0), ("6h", 21600.0),
     ("1.5d", 129600.0), ("2w", 1209600.0)],
)  # fmt: skip
def test_durations_are_seconds_or_have_a_unit(written: object, seconds: float) -> None:
    assert configuration.duration(written) == seconds


@pytest.mark.parametrize(
    ("seconds", "written"),
    [
        (21600.0, "6h"),
        (2_592_000.0, "30d"),
        (5400.0, "90m"),
        (90.0, "90s"),
        (90.5, "90.5s"),
        (1_000_001.0, "1000001s"),
    ],
)
def test_a_duration_is_shown_as_it_may_be_written(seconds: float, written: str) -> None:
    assert configuration.written(seconds) == written
    assert configuration.duration(written) == seconds


@pytest.mark.parametrize("path", ["/card", "/.well-known/card.json", "/bots/card-1/~me"])
def test_the_card_may_stand_at_any_other_path(tmp_path: Path, path: str) -> None:
    assert load(tmp_path, f'{BOT}[publish]\ncard = "{path}"\n').publish.card == path


def test_what_the_card_says_is_read(tmp_path: Path) -> None:
    lines = '[card]\npurpose = "search"\nips_uri = "https://bot.example/ips.json"\n'

    card = load(tmp_path, f"{BOT}{lines}").card

    assert (card.purpose, card.targeted_content) == ("search", "")
    assert card.ips_uri == "https://bot.example/ips.json"


def test_components_are_a_choice_for_all_and_for_one(tmp_path: Path) -> None:
    two = ONE.replace('"one"', '"two"').replace("one.example", "two.example")
    settings = load(
        tmp_path,
        BOT + '[signatures]\ncomponents = ["@authority", "from"]\n',
        ONE + two + 'components = ["host", "@authority", "accept"]\n',
    )

    first, second = settings.origins
    assert first.components == ("@authority", "from")
    assert second.components == ("host", "@authority", "accept")


def test_a_fixed_profile_of_one_origin_may_stand_beside_a_choice_for_all(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        BOT + '[signatures]\ncomponents = ["@authority"]\n',
        ONE + 'profile = "legacy"\n',
    )

    assert settings.origins[0].profile is ProfileName.LEGACY


IMPOSSIBLE = [
    pytest.param('["@authority", "@status"]', "[1]", "only a response", id="@status"),
    pytest.param('["@query-param", "@authority"]', "[0]", "verifiers differ", id="@query-param"),
    pytest.param('["@authority", "accept;sf"]', "[1]", "not a name alone", id=";sf"),
    pytest.param('["@authority", "accept;bs"]', "[1]", "not a name alone", id=";bs"),
    pytest.param('["@authority", "accept;tr"]', "[1]", "not a name alone", id=";tr"),
    pytest.param('["@authority", "@port"]', "[1]", "is no component", id="unknown"),
    pytest.param('["@authority", "date"]', "[1]", "no field that we always send", id="a field"),
    pytest.param('["@authority", "cookie"]', "[1]", "not on every request", id="cookie"),
    pytest.param('["@authority", "if-none-match"]', "[1]", "not on every", id="validator"),
    pytest.param('["@authority", "@authority"]', "[1]", "stands twice", id="twice"),
    pytest.param('["@method"]', "", "'@authority' is not in it", id="any host"),
    pytest.param("[]", "", "'@authority' is not in it", id="nothing"),
]


@pytest.mark.parametrize(("components", "at", "problem"), IMPOSSIBLE)
def test_an_impossible_choice_of_components_is_a_mistake_with_its_place(
    tmp_path: Path, components: str, at: str, problem: str
) -> None:
    with pytest.raises(SettingsError) as shared:
        load(tmp_path, f"{BOT}[signatures]\ncomponents = {components}\n")
    with pytest.raises(SettingsError) as own:
        load(tmp_path, origins=f"{ONE}components = {components}\n")

    assert shared.value.place == f"crawler.toml: signatures.components{at}"
    assert own.value.place == f"origins.toml: origin[0].components{at} (one)"
    for caught in (shared.value, own.value):
        assert problem in caught.problem
        assert caught.hint


@pytest.mark.parametrize("profile", ["legacy", "published"])
def test_a_profile_with_a_form_of_its_own_leaves_no_choice(tmp_path: Path, profile: str) -> None:
    chosen = f'profile = "{profile}"\ncomponents = ["@authority"]\n'
    with pytest.raises(SettingsError) as shared:
        load(tmp_path, f"{BOT}[signatures]\n{chosen}")
    with pytest.raises(SettingsError) as own:
        load(tmp_path, origins=ONE + chosen)

    assert shared.value.place == "crawler.toml: signatures.components"
    assert own.value.place == "origins.toml: origin[0].components (one)"
    assert own.value.problem == f"what the {profile} profile covers is part of its form"
    assert own.value.hint == "take it out, or choose another profile"


def test_an_address_is_covered_only_where_there_is_one(tmp_path: Path) -> None:
    without = BOT.replace("mailto:a@bot.example", "https://bot.example/contact")

    with pytest.raises(SettingsError, match="'from' is not on every request"):
        load(tmp_path, without, ONE + 'components = ["@authority", "from"]\n')


def test_what_is_covered_has_to_be_ascii(tmp_path: Path) -> None:
    origin = ONE + 'types = ["text/ü"]\n'

    assert load(tmp_path, origins=origin)
    with pytest.raises(SettingsError, match="only ASCII can be signed"):
        load(tmp_path, origins=origin + 'components = ["@authority", "accept"]\n')
