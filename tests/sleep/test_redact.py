"""S24: canaries of every kind are gone, wherever they stand; prose about secrets stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.sleep.redact import clean, redact, redact_strictly

CANARIES = {
    "openai": "sk-proj-Ab3dEfGh1jKlMnOpQrStUvWx",
    "anthropic": "sk-ant-api03-Ab3dEfGh1jKlMnOpQrStUvWxYz",
    "stripe": "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
    "stripe restricted": "rk_live_4eC39HqLyjWDarjtT1zdp7dc",
    "aws": "AKIAIOSFODNN7EXAMPLQ",
    "aws session": "ASIAIOSFODNN7EXAMPLQ",
    "github": "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "github app": "ghs_16C7e42F292c6912E7710c838347Ae178B4a",
    "github fine": "github_pat_11ABCDEFG0abcdefghij_klmnopqrstuvwxyz",
    "gitlab": "glpat-Ab3dEfGh1jKlMnOpQrSt",
    "slack": "xoxb-123456789012-abcdefABCDEF",
    "slack app": "xapp-1-A0123456789-abcdef0123456789",
    "google": "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "huggingface": "hf_AbCdEfGhIjKlMnOpQrStUvWxYz",
    "npm": "npm_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789",
    "pypi": "pypi-AgEIcHlwaS5vcmcCJDAbCdEfGhIjKlMnOpQ",
    "sendgrid": "SG.AbCdEfGhIjKlMnOpQrStUv.WxYzAbCdEfGhIjKlMnOpQrStUvWxYz01",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
}
IN_PLACE = {
    "authorization": ("Authorization: Bearer {}", "a1b2c3d4e5f6a7b8"),
    "basic": ("use Basic {} there", "dXNlcjpwYXNzd29yZDE="),
    "cookie": ("Cookie: session={}; theme=dark", "8f14e45fceea167a5a36dedd4bea2543"),
    "user": ("curl -u ana:{} https://x", "hunter2secret"),
    "url": ("https://ana:{}@git.example/x.git", "hunter2secret"),
    "database": ("postgres://app:{}@db.internal:5432/shop", "s3cr3tpw"),
    "sas": ("https://x.blob.core.windows.net/c?sv=1&sig={}", "Zm9vYmFyYmF6cXV4%3D12"),
    "account": ("AccountName=x;AccountKey={};End", "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4=="),
    "assignment": ("DB_PASSWORD={}", "correct-horse-9"),
    "json": ('{{"client_secret": "{}"}}', "q8w7e6r5t4"),
    "prose": ("the password is {}, use it", "Tr0ub4dor&3"),
    "prose token": ("here is the token {} for staging", "8f14e45fceea167a"),
    "pem": ("-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----", "MIIEpAIBAAKCAQEA7bq"),
    "pem cut": ("see\n-----BEGIN OPENSSH PRIVATE KEY-----\n{}", "b3BlbnNzaC1rZXktdjE"),
    "email": ("write to {} please", "ana.lopez@example-shop.com"),
    "phone": ("call {} at noon", "+49 151 23456789"),
}
PLACES = ["{}", 'key "{}" there', "KEY={}\n", "(see {})", "a\\n{}\\nb"]


@pytest.mark.parametrize("kind", CANARIES)
@pytest.mark.parametrize("place", PLACES)
def test_s24_a_key_is_gone_wherever_it_stands(kind: str, place: str) -> None:
    assert CANARIES[kind] not in redact(place.format(CANARIES[kind]))
    assert "[redacted:" in redact(place.format(CANARIES[kind]))


@pytest.mark.parametrize("kind", IN_PLACE)
def test_s24_what_only_its_surroundings_tell_is_gone(kind: str) -> None:
    pattern, secret = IN_PLACE[kind]
    assert secret not in redact(pattern.format(secret))


def test_kinds_are_named() -> None:
    assert redact(CANARIES["github"]) == "[redacted:github]"
    assert redact(CANARIES["anthropic"]) == "[redacted:anthropic]"
    assert redact("mail ana@example.com") == "mail [redacted:email]"


@pytest.mark.parametrize(
    "text",
    [
        "Invalid API key", "reset the password form", "the token count is 1200", "basic error-handling",
        "make it 2026-03-02", "use port 8080 and version 1.4.2", "the secret is to rest the dough",
        "@pytest.fixture", "key = value", "call 3 times", "rename get_token to fetch_token",
        "see RFC 7231 section 4.3.1", "commit 0e1f2a3b", "10.0.0.1:8000", "bearer of news",
    ],
)  # fmt: skip
def test_prose_stays(text: str) -> None:
    assert redact(text) == text


def test_the_home_directory_is_a_tilde() -> None:
    assert redact("in /home/ana/shop/x.py and /home/anabel/x", home="/home/ana") == "in ~/shop/x.py and /home/anabel/x"


def test_masked_first_and_cut_afterwards() -> None:
    text = "x " * 20 + CANARIES["github"]
    for limit in range(38, 80):
        assert "ghp_" not in clean(text, limit)
        assert len(clean(text, limit)) <= limit


@pytest.mark.parametrize("text", ["https://u:p@h/x", "postgres://me:p%40ss@db/x", "https://ana:{}@git.example/x.git"])
def test_a_password_in_an_address_is_masked_once(text: str) -> None:
    assert redact(text).count("[redacted") == 1
    assert redact(redact(text)) == redact(text)


def test_random_tokens_go_from_staged_documents() -> None:
    token = "q9Xk2LmP7vRt4WzY8bNc3HdF6jGs5KaE"
    assert token not in redact_strictly(f"use {token} here")
    assert redact_strictly("put docs/reference/configuration.md first") == "put docs/reference/configuration.md first"


PART = st.one_of(
    st.text(max_size=12), st.sampled_from([*CANARIES.values(), *(p.format(s) for p, s in IN_PLACE.values())])
)


@given(st.lists(PART, max_size=5))
def test_redacting_twice_changes_nothing(parts: list[str]) -> None:
    once = redact(" ".join(parts))
    assert redact(once) == once
