"""What the general way reads of a request, in the form in which the quick way gives it."""

from signing import agent, claim
from signing.base import SignatureParams, signature_base
from signing.claim import Claim, Claims, Ready
from signing.errors import SigningError
from signing.judgement import Policy, Reason
from signing.message import Message


def generally(message: Message, policy: Policy) -> Claims | None:
    """All that the general way reads of a request, None where anything at all is wrong."""
    found = claim.read(message, policy)
    if isinstance(found, Reason):
        return None
    ours: list[tuple[str, str, Claim | Reason]] = []
    for label, tag, stated in found.ours:
        if isinstance(stated, Reason) or not isinstance(stated.source, SignatureParams):
            return None
        url = agent.resolve(message, label, stated.covered, policy.keying)
        if isinstance(url, Reason):
            return None
        try:
            base = signature_base(message, stated.source)
        except SigningError:
            return None
        ours.append((label, tag, stated._replace(source=Ready(url, base))))
    return Claims(ours, found.passed_over)
