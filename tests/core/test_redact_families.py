"""Whole families of labelled secrets leave, in every clothing; places, placeholders and data stay."""

from __future__ import annotations

import json
import random
import string

import pytest

from skillopt.core.lint import Document, lint
from skillopt.core.redact import MARK, redact, redact_reply, secret_spans
from skillopt.sleep.redact import redact as sleep_redact
from tests.timing import is_linear

HEX64 = "".join(random.Random(1).choices("0123456789abcdef", k=64))
MIXED40 = "a7" + "".join(random.Random(2).choices(string.ascii_letters + string.digits, k=38))
URL = "https://bucket.example/x.csv"

COOKIES = [
    "Set-Cookie: session={}; Path=/; HttpOnly; Max-Age=3600",
    "set-cookie: __Host-sid={}; Secure",
    "Cookie: theme=dark; sid={}",
    "Cookie: a={}; b=2",
    '{{"Set-Cookie": "session={}; Path=/"}}',
    "curl --cookie 'id={}' https://x.example",
    "JSESSIONID={}",
    "connect.sid: {}",
    'cookies = {{"sessionid": "{}"}}',
    "csrftoken={}",
]
SIGNED = [
    URL + "?X-Amz-Signature={}",
    URL + "?X-Amz-Date=20240101T000000Z&X-Amz-Security-Token={}&X-Amz-Expires=60",
    URL + "?X-Amz-Credential={}",
    "X-Amz-Signature={}",
    '{{"X-Amz-Signature": "{}"}}',
    "X-Goog-Signature={}",
    URL + "?Expires=17&Signature={}&Key-Pair-Id=K2J3",
    URL + "?sv=2022&sig={}",
    URL + "?a=1&amp;sig={}",
    URL + "?OSSAccessKeyId=x&Signature={}",
    URL + "?q-signature={}",
    URL + "?client_secret={}",
    "redirect=https%3A%2F%2Fx%2F%3Fa%3D1%26X-Amz-Signature%3D{}",
    "Authorization: AWS4-HMAC-SHA256 Credential=AKID/2024/us/s3/aws4_request, SignedHeaders=host, Signature={}",
]
HEADERS = [
    "X-Auth-Token: {}",
    "X-Vault-Token: {}",
    "X-Subscription-Token: {}",
    "PRIVATE-TOKEN: {}",
    "X-Csrf-Token: {}",
    "X-Hub-Signature-256: sha256={}",
    "Stripe-Signature: t=1492774577,v1={}",
    "Ocp-Apim-Subscription-Key: {}",
    "x-functions-key: {}",
    "Authorization: {}",
    "Proxy-Authorization: Basic {}",
    '{{"aws_session_token": "{}"}}',
    '{{"SecretAccessKey": "{}"}}',
    "client_secret={}",
]


CARRIERS = [
    "https://discord.com/api/webhooks/123456789012345678/{}",
    "machine api.example login me password {}",
    '{{"auths": {{"registry": {{"auth": "{}"}}}}}}',
    "client-key-data: {}",
    "VERCEL_TOKEN={}",
    "tool --api-key {}",
    "tool --auth-token={}",
    "<apiKey>{}</apiKey>",
    '<input name="csrf_token" value="{}">',
    "SSWS 00{}",
    "fm2_{}",
    "glc_{}",
    "sb_secret_{}",
]
SHAPED = [
    f"key-{HEX64[:32]}", f"SK{HEX64[:32]}", f"secret_{MIXED40}1a2", f"pat{MIXED40[:14]}.{HEX64}", f"LTAI{MIXED40[:20]}",
    f"pat-na1-{HEX64[:8]}-{HEX64[8:12]}-{HEX64[12:16]}-{HEX64[16:20]}-{HEX64[20:32]}", f"AKID{MIXED40[:32]}",
    f"MTA{MIXED40[:23]}.{MIXED40[:6]}.{MIXED40[2:40]}", f"{MIXED40[:14]}.atlasv1.{MIXED40}{MIXED40}",
    f"PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 1\n{HEX64}", f"https://{HEX64[:32]}@o1.ingest.example/5",
]  # fmt: skip


@pytest.mark.parametrize("text", SHAPED)
def test_further_shapes_leave(text: str) -> None:
    for clean in (redact, redact_reply, sleep_redact):
        out = clean(f"it said {text} and went on")
        assert text[-30:-4] not in out and MARK[:-1] in out and out.endswith(" and went on") and clean(out) == out


@pytest.mark.parametrize("form", CARRIERS + COOKIES + SIGNED + HEADERS)
@pytest.mark.parametrize("value", [HEX64, MIXED40], ids=["hex64", "mixed40"])
def test_value_leaves_also_from_replies_and_stays_out(form: str, value: str) -> None:
    if "v1=" in form or "AWS4" in form:
        value = HEX64
    text = form.format(value)
    for clean in (redact, redact_reply):
        for shown in (text, json.dumps({"log": text}), f"it said: {text}\nnext line"):
            out = clean(shown)
            assert value[:16] not in out and value[-16:] not in out and MARK in out
            assert clean(out) == out
    assert secret_spans(text)


def test_all_cookies_of_a_header_leave_and_attributes_stay() -> None:
    out = redact(f"Cookie: a={HEX64}; theme=dark; b={MIXED40}; Max-Age=3600")
    assert out == f"Cookie: a={MARK}; theme=dark; b={MARK}; Max-Age=3600"


@pytest.mark.parametrize(
    "text",
    [
        "PWD=/home/user1/projects/skillopt2",
        "OLDPWD=/srv/app1/releases/20240101",
        "PWD=C:\\Users\\me2\\projects",
        "private_key=/etc/ssl/private/server1.pem",
        "api_key: ./secrets/key_2024_prod.txt",
        "secret = ~/vault/key-1234567890.json",
        "Authorization: Bearer <placeholder>",
        "Authorization: Bearer <your-token-123>",
        "Authorization: Bearer $API_TOKEN",
        "Authorization: Bearer ${API_TOKEN_2}",
        "Authorization: Bearer {{ token_1 }}",
        "curl -H 'Authorization: Bearer YOUR_API_TOKEN'",
        "Authorization: Bearer ACCESS_TOKEN",
        "api_key=your-api-key-goes-here-1",
        'client = Client(api_key=os.environ["KEY_1"])',
        "Cookie: theme=dark; lang=en",
        "a cookie recipe: 200 g of flour, 2 eggs",
        "Set-Cookie: session=<session-id>; Path=/",
        f"{URL}?page=2&sort=date_2024-01-01&order=ascending",
        f"{URL}?X-Amz-Signature=<signature>",
        "max_tokens: 16384, token_budget=4096",
        "the signature: def f(x: int) -> str",
        "commit 0123456789abcdef0123456789abcdef01234567",
        "the session starts at 2024-01-01T10:00:00Z",
    ],
)
def test_no_false_positive(text: str) -> None:
    assert redact(text) == text and redact_reply(text) == text and secret_spans(text) == []


def test_a_placeholder_is_no_lint_error() -> None:
    skill = "# Calls\n\nSend `Authorization: Bearer <placeholder>` and stay in `PWD=/home/user1/project2`.\n"
    assert [f for f in lint(Document(skill)) if f.severity == "error"] == []


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    "unit",
    ["Cookie: a=", "x-amz-signature=", "bearer ", "?sig=&", "Set-Cookie: a=b;", "authorization: ", "pwd=", "token=a1"],
)
def test_time_is_linear(unit: str) -> None:
    assert is_linear(lambda length: redact(unit * (length // len(unit))), 20_000, factor=5, slack=0.2)
