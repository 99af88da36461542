"""Secrets leave, prose stays."""

from __future__ import annotations

import pytest

from skillopt.core.redact import MARK, redact, secret_spans

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"


def fake(prefix: str, length: int = 40, alphabet: str = "aB3dE5gH7jK9") -> str:
    """Built at run time, so that no scanner takes this file for a leak."""
    return prefix + (alphabet * 10)[:length]


@pytest.mark.parametrize(
    "secret",
    [
        fake("sk-"),
        fake("sk-proj-"),
        fake("sk-ant-api03-"),
        fake("ghp_", 36),
        fake("github_pat_", 60),
        fake("AKIA", 16, "ABCD2345"),
        fake("AIza", 35),
        fake("xoxb-", 30),
        fake("xoxp-", 30),
        fake("hf_", 34),
        fake("glpat-", 20),
        fake("npm_", 36),
        fake("sk_live_", 24),
        fake("ya29.", 60),
        fake("gsk_", 52),
        fake("SG.", 22) + fake(".", 43),
        JWT,
    ],
)
def test_known_shapes_are_removed(secret):
    out = redact(f"request failed with {secret}, try again")
    assert secret not in out and secret[8:] not in out
    assert out.startswith("request failed with ") and out.endswith(", try again")


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("Authorization: Bearer abc123DEF456", "abc123DEF456"),
        ("use Basic dXNlcjpodW50ZXIy0Q== here", "dXNlcjpodW50ZXIy0Q"),
        ('{"Authorization": "Bearer plainwordtoken"}', "plainwordtoken"),
        ('{"api_key": "some value", "model": "m"}', "some value"),
        ("AZURE_OPENAI_API_KEY=0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdef"),
        ("api-key: 0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdef"),
        ("key: 0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdef"),
        ("https://user:hunter2@host.example/x", "hunter2"),
        ("postgres://me:p%40ss@db/x", "p%40ss"),
        ("GET https://h.example/v1?key=abcdefgh1234&x=1", "abcdefgh1234"),
        ("a -----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY----- b", "MIIE"),
        ("cut -----BEGIN PRIVATE KEY-----\nMIIEabc", "MIIEabc"),
        ("password=correct1horse2battery", "correct1horse2battery"),
    ],
)
def test_labelled_values_are_removed(text, gone):
    out = redact(text)
    assert gone not in out and MARK in out


@pytest.mark.parametrize(
    "text",
    [
        "Invalid API key",
        "Error 401: Invalid API key provided. Check your api_key setting",
        "api_key: must not be empty",
        "set OPENAI_API_KEY in the environment",
        "the bearer of this letter",
        "basic arithmetic and token counts: 4096",
        "loading and basic queries. See the basic error-handling guide",
        "max_completion_tokens=16384 prompt_tokens: 1234567",
        "digest 0123456789abcdef0123456789abcdef",
        "http://127.0.0.1:8080/v1/chat/completions",
        "step_0001 sk-learn task-oriented risk-averse",
        "e-mail me@host.example about https://a.example/b:c",
    ],
)
def test_prose_stays(text):
    assert redact(text) == text


def test_given_secrets_of_any_shape_are_removed():
    assert redact("login correcthorse failed", ["correcthorse"]) == f"login {MARK} failed"
    assert redact("abc", ["abc", ""]) == "abc"
    assert "longer" not in redact("secret-longer", ["secret", "secret-longer"])


def test_redaction_is_idempotent():
    text = f'"api_key": "{fake("sk-")}" https://u:p@h/ Bearer {JWT}'
    assert redact(redact(text)) == redact(text)


def test_the_spans_of_secrets_are_what_redact_takes_out():
    key = fake("sk-")
    text = f"one {key} two\npassword=correct1horse2battery; https://user:hunter2@host.example/x"
    values = [text[start:end] for start, end in secret_spans(text)]
    assert values == [key, "correct1horse2battery", "user:hunter2"]
    assert secret_spans("Invalid API key: set OPENAI_API_KEY") == []
