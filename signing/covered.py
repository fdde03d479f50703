"""What a signature covers, and what that binds (RFC 9421, sections 2 and 2.2.2)."""

from functools import cached_property
from typing import Final

from signing.message import Component

# What each reader of a target gets out of @target-uri.
_IN_TARGET_URI: Final = frozenset({"@scheme", "@authority", "@path", "@query"})


class Covered(tuple[Component, ...]):
    """Components in their order, and the answers to what is asked about them, each found once."""

    @cached_property
    def identifiers(self) -> tuple[str, ...]:
        """Each component as it stands in the list."""
        return tuple([item.identifier for item in self])

    @cached_property
    def bound(self) -> frozenset[str]:
        """The names that are covered as a whole; @target-uri brings those of its parts."""
        names = frozenset([item.name for item in self if not item.params])
        return names | _IN_TARGET_URI if "@target-uri" in names else names

    @cached_property
    def digests(self) -> frozenset[object]:
        """The members of Content-Digest that are covered, None for the field as a whole."""
        return frozenset(
            [dict(item.params).get("key") for item in self if item.name == "content-digest"]
        )
