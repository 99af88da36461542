"""Every shape of key leaves, wherever it stands; what only resembles one stays."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.core.redact import MARK, environment_secrets, redact, redact_reply
from tests.model.key_shapes import LABELLED, PLAIN, planted
from tests.timing import is_linear

AROUND = [("", ""), ("failed with ", ", try again"), ('{"a": "', '"}'), ("(", ")"), ("key=", "\n"), ("`", "`"),
          ("<answer>", "</answer>"), ("a\\n", "\\nb"), ("https://x.example/", "/y")]  # fmt: skip


def test_there_are_many_shapes() -> None:
    assert len(PLAIN) + len(LABELLED) >= 70


@pytest.mark.parametrize("name", PLAIN)
@given(seed=st.integers(0, 2**32), around=st.sampled_from(AROUND))
def test_plain_shapes(name: str, seed: int, around: tuple[str, str]) -> None:
    key = PLAIN[name](random.Random(seed))
    before, behind = around
    for clean in (redact, redact_reply):
        out = clean(f"{before}{key}{behind}")
        assert key not in out and MARK in out
        assert key[len(key) // 2 :] not in out, "half a key is still most of a key"
        assert clean(out) == out


@pytest.mark.parametrize("name", LABELLED)
@given(seed=st.integers(0, 2**32))
def test_labelled_shapes(name: str, seed: int) -> None:
    template, make = LABELLED[name]
    key = make(random.Random(seed))
    for clean in (redact, redact_reply):
        out = clean(f"it said {template.format(key)} and stopped")
        assert key not in out and key[len(key) // 2 :] not in out
        assert out.endswith("and stopped") and clean(out) == out


@given(seed=st.integers(0, 2**32))
def test_all_at_once(seed: int) -> None:
    keys = planted(seed)
    out = redact("\n".join(text for text, _ in keys.values()))
    assert [name for name, (_, key) in keys.items() if key in out] == []


@pytest.mark.parametrize(
    "text",
    [
        'login(password="YOUR_PASSWORD")',
        '{"api_key": "YOUR_API_KEY", "password": "string"}',
        "password: must be at least 16 characters",
        "Set the api_key = os.environ['OPENAI_API_KEY'] first",
        "sk-learn-pipelines-and-their-parameters are fine",
        "the sha256 is e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "uuid 123e4567-e89b-12d3-a456-426614174000",
        "order 1234567890:AB",
        "basic error-handling. bearer of news",
        "https://example.com/a?key=value&token=next",
        "def key(x): return x  # secret sauce",
        "hf_model = AutoModel; gsk_width = 3; npm_config_registry",
        "<answer>GOLD-1234567890123456</answer>",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUA",
        "The answer is 3.14159265358979323846",
    ],
)
def test_what_a_model_may_well_say_stays(text: str) -> None:
    assert redact_reply(text) == text


@given(st.text())
def test_any_text_is_cleaned_twice_as_once(text: str) -> None:
    assert redact_reply(redact_reply(text)) == redact_reply(text)
    assert redact(redact(text)) == redact(text)


def test_secrets_of_the_environment() -> None:
    environ = {
        "ACME_API_KEY": "value-of-acme-1",
        "DB_PASSWORD": "correcthorse7battery",
        "GITHUB_TOKEN": "t0ken-of-github",
        "MY_PAT": "personal-access-1",
        "PWD": "/work/secret-folder-1",
        "GOOGLE_APPLICATION_CREDENTIALS": "/home/me/key1.json",
        "PUBLIC_KEY_URL": "https://x.example/1",
        "SOME_TOKEN": "true",
        "PATH": "/usr/bin:/bin:1234567",
        "KEYBOARD": "de-latin1-nodeadkeys",
        "SSH_AUTH_SOCK": "/tmp/ssh-1",
    }
    assert environment_secrets(environ) == (
        "value-of-acme-1", "correcthorse7battery", "t0ken-of-github", "personal-access-1",
    )  # fmt: skip


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    "unit",
    ["a_b-", "api_", "eyJaaaaaaaa.", "-----BEGIN PRIVATE KEY-----", "bearer ", "password=", "sk-", "a://b:", "0a",
     "key\\\"", "JQQJ99", "x:AA1", "basic:", "secret_", "?key="],
)  # fmt: skip
def test_the_time_is_linear_in_the_text(unit: str) -> None:
    """A megabyte of anything must not hold up a run: four times the text, four times the time, with room for noise."""
    assert is_linear(lambda length: redact(unit * (length // len(unit))), 40_000, factor=10, slack=0.2)
