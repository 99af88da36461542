"""What is looked for first: a text that is passed over holds nothing that a pattern covers."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from skillopt.core.redact import _SHAPES, redact_reply, secret_spans
from skillopt.core.redact_labels import CERTAIN, certain_in
from tests.model.key_shapes import LABELLED, PLAIN

LABELS = (
    "api_key", "API-KEY", "Authorization", "bearer", "Basic", "token", "to\u212aen", "\u017fecret", "access_\u212aey",
    "password", "pwd", "passphrase", "x-amz-security-token", "AWS4-HMAC-SHA256", "signature", "S\u0131gnature",
    "S\u0130gnature", "key", "sid",
    "JSESSIONID", "Stripe-Signature", "v1", "https://hooks.slack.com/services/", "?", "&", "%26",
    "csrftoken", "__Secure-x",
)  # fmt: skip
VALUES = (
    "a1b2c3d4e5f6g7h8i9", "0123456789abcdef0123456789abcdef", "abcdefabcdefabcdefabcdefabcdefab",
    "T00000000/B00000000/abcd1234", "\u0661bcdefghijklmnopqr", "hunter22", "abcdefgh", "internationalization",
)  # fmt: skip
BETWEEN = ("=", ": ", " ", "\n", "\t", '": "', '\\": \\"', "%3d", ";", ",", "\x1c", "\u00a0", "=sha256=")
MIXED = st.lists(st.sampled_from((*LABELS, *VALUES, *BETWEEN)), max_size=12).map("".join)


@given(MIXED)
def test_no_pattern_that_covers_something_is_passed_over(text: str) -> None:
    passed = [pattern.pattern for pattern in CERTAIN if pattern.search(text) and pattern not in set(certain_in(text))]
    assert passed == []


@given(st.sampled_from(sorted(PLAIN)), st.integers(0, 2**32))
def test_a_shape_that_is_passed_over_holds_no_key(name: str, seed: int) -> None:
    key = PLAIN[name](random.Random(seed))
    assert secret_spans(f"it is {key} here")
    assert any(any(word in key for word in ([held] if isinstance(held, str) else held)) for held, _ in _SHAPES) or (
        "PRIVATE KEY" in key
    )


@given(st.sampled_from(sorted(LABELLED)), st.integers(0, 2**32))
def test_a_labelled_key_in_prose_is_found(name: str, seed: int) -> None:
    template, make = LABELLED[name]
    key = make(random.Random(seed))
    assert key not in redact_reply("The right key to it: see Table 3. " + template.format(key) + " and so on")
