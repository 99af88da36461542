"""Data without a secret comes back as it is: what is scored and trained on must not be changed by the nets for keys.

Lines as they stand in code, configurations, logs, pages and answers, filled with values of the right form; and the
files of the standard library, which hold much of what looks like a key and is none.
"""

from __future__ import annotations

import base64
import random
import string
import uuid
from pathlib import Path

import pytest

from skillopt.core.redact import MARK, redact_reply

HEX, WORD = "0123456789abcdef", string.ascii_lowercase
LINES = (
    "commit {hex40} by {word}: fix #{n}",
    "git checkout {hex7} && git diff {hex40}..{hex40}",
    "sha256:{hex64}  dist/{word}-{n}.{n}.{n}-py3-none-any.whl",
    "--hash=sha256:{hex64}",
    '{{"id": "{uuid}", "etag": "{hex32}", "checksum": "{hex64}"}}',
    '"integrity": "sha512-{b64}=="',
    "![chart](data:image/png;base64,{b64})",
    "https://{word}.example/{word}/pa-{word}-{word}-{word}-{word}-{word}-{word}-{word}-{n4}?page={n}&q={word}",
    "https://{word}.example/watch?v={mixed11}&t={n}s&utm_source={word}",
    'engine = create_engine(f"postgresql://{{user}}:{{password}}@{{host}}:5432/{{name}}")',
    'url = "mysql+pymysql://user:password@localhost/{word}"',
    "amqp://guest:guest@localhost:5672//",
    "proxy: scheme://[user:passwd@]proxy.{word}:{n}",
    "private_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)",
    "def sign(self, private_key: ed25519.Ed25519PrivateKey, data{n}: bytes) -> bytes:",
    "session_token = self._get_v{n}_session_token(request)",
    'headers = {{"X-aws-ec2-metadata-token": imdsv2_session_token}}',
    'if "-----BEGIN PRIVATE KEY-----" in text{n}: raise ValueError(text{n})',
    'START = b"-----BEGIN OPENSSH PRIVATE KEY-----"  # {word}{n}',
    "#sk-container-id-{n} div.sk-toggleable {{ color: #{hex6}; }}",
    "sk-ecdsa-sha2-nistp256@openssh.com and sk-ssh-ed25519@openssh.com",
    "arn:aws:secretsmanager:us-west-2:123456789123:secret:{word}-{hex6}",
    "aws ec2 describe-instances --query 'Reservations[].[InstanceId,Tags[?Key==`Name`]|[0].Value,{word}{n}]'",
    "login / password: login_{n} = 0 if _netrc[0] else 1",
    "api_key: ${{API_KEY}}  # or os.environ['{word}_API_KEY_{n}']",
    "export TOKEN=<your-token-{n}>; PASSWORD=$(pass show {word})",
    '<input type="hidden" name="order" value="{uuid}">',
    '<input type="hidden" name="cart-id" value="{hex32}">',
    "$$\\sum_{{k=1}}^{{{n}}} \\frac{{1}}{{k^2}} = {float}$$ and 2^{n} = {n9}",
    "<answer>{hex32}</answer>",
    "<answer>{n9}{n9}</answer>",
    "keys = [{n}, {n}]; key=lambda x: x[{n}]; token = tokens[{n}]",
    "MIIB {word} {n9}; {b64}",
    "ssh-ed25519 {b64} {word}@{word}",
)


def filled(line: str, luck: random.Random) -> str:
    """A line with values."""

    def some(letters: str, count: int) -> str:
        return "".join(luck.choices(letters, k=count))

    values: dict[str, object] = {f"hex{n}": some(HEX, n) for n in (6, 7, 32, 40, 64)}
    values |= {
        "uuid": uuid.UUID(int=luck.getrandbits(128)), "n": luck.randrange(1, 400), "n4": luck.randrange(1000, 9999),
        "n9": some(string.digits, 9), "float": luck.random(), "word": some(WORD, luck.randrange(2, 12)),
        "mixed11": some(string.ascii_letters + string.digits, 11),
        "b64": base64.b64encode(luck.randbytes(luck.randrange(30, 300))).decode().rstrip("="),
    }  # fmt: skip
    return line.format(**values)


@pytest.mark.parametrize("line", LINES)
def test_data_stays_as_it_is(line: str) -> None:
    luck = random.Random(line)
    for _ in range(20):
        text = filled(line, luck)
        assert redact_reply(text) == text


@pytest.mark.slow_campaign
def test_ten_thousand_texts_stay_as_they_are() -> None:
    luck = random.Random(14)
    for _ in range(10_000):
        text = "\n".join(filled(line, luck) for line in luck.choices(LINES, k=8))
        assert redact_reply(text) == text


@pytest.mark.parametrize(
    "module", ["ssl", "smtplib", "netrc", "hashlib", "secrets", "uuid", "http.cookiejar", "base64"]
)
def test_programs_about_secrets_stay_as_they_are(module: str) -> None:
    source = Path(random.__file__).with_name(module.split(".")[0])
    path = source / f"{module.split('.')[1]}.py" if "." in module else source.with_suffix(".py")
    text = path.read_text(encoding="utf-8")
    assert redact_reply(text) == text


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("postgres://me:s3cr3t-{n}@db/x", "s3cr3t-"),
        ("https://user:user1@h/x", "user1"),
        ("cut -----BEGIN PRIVATE KEY-----\\nMIIEabc", "MIIEabc"),
        ('["-----BEGIN PRIVATE KEY-----", "MIIEvQIBADANBgkqhkiG9w0BAQEF"]', "MIIEvQ"),
        ("api_key=abcdefgh12345678ijkl", "abcdefgh1234"),
        ("sk-proj-a1B2c3D4e5F6g7H8i9J0", "a1B2c3D4"),
        ('"X-Auth-Token": "a1b2c3d4e5f6a7b8c9"', "a1b2c3d4"),
    ],
)
def test_what_is_one_still_goes(text: str, gone: str) -> None:
    assert gone not in redact_reply(text) and MARK in redact_reply(text)
