"""The forms that our signatures can have, prepared once for an identity."""

from crawler.settings import Settings
from signing import profile
from signing.message import Component
from signing.profile import Name, Profile, Wish


class Forms:
    """One identity's profiles, by name and by what an origin's signatures are to cover."""

    def __init__(self, settings: Settings) -> None:
        signatures = settings.signatures
        self._home = settings.bot.home
        self._lifetime = signatures.lifetime
        self._nonce_form = profile.NonceForm(signatures.nonce.value)
        self._second = profile.Second(
            label=signatures.second.label,
            algorithm=signatures.second.algorithm,
            tag=signatures.second.tag,
            alg=signatures.second.alg,
        )
        self._kept: dict[tuple[Name, tuple[str, ...]], Profile] = {}

    @property
    def second_label(self) -> str:
        """What sig2 is called."""
        return self._second.label

    def of(self, name: Name, components: tuple[str, ...]) -> Profile:
        """The profile that covers these components, unless its form has its own."""
        key = (name, () if name in profile.FIXED else components)
        if key not in self._kept:
            covered = None if name in profile.FIXED else tuple(map(Component, components))
            self._kept[key] = self._made(name, covered, None)
        return self._kept[key]

    def granting(self, name: Name, wish: Wish) -> Profile | None:
        """The profile as a server asked for it; None where its form grants nothing."""
        return None if name is Name.PUBLISHED else self._made(name, None, wish)

    def _made(
        self, name: Name, covered: tuple[Component, ...] | None, wish: Wish | None
    ) -> Profile:
        return Profile(
            name=name,
            home=self._home,
            lifetime=self._lifetime,
            second=self._second,
            nonce_form=self._nonce_form,
            covered=covered,
            wish=wish,
        )
