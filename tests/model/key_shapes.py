"""Keys as they look in the wild, made up from a generator: every name is one shape."""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable, Mapping

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
WIDE = ALNUM + "-_"


def some(alphabet: str, length: int) -> Callable[[random.Random], str]:
    """A run of characters that holds at least one letter and one digit."""

    def make(r: random.Random) -> str:
        body = [r.choice(alphabet) for _ in range(length)]
        first, second = r.sample(range(1, length - 1), 2)
        body[first] = r.choice([c for c in alphabet if c.isdigit()])
        body[second] = r.choice([c for c in alphabet if c.isalpha()])
        for end in (0, -1):
            body[end] = r.choice([c for c in alphabet if c.isalnum()])
        return "".join(body)

    return make


def after(prefix: str, length: int, alphabet: str = ALNUM) -> Callable[[random.Random], str]:
    body = some(alphabet, length)
    return lambda r: prefix + body(r)


def jwt(r: random.Random) -> str:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return f"{part({'alg': 'HS256', 'typ': 'JWT'})}.{part({'sub': r.randrange(10**9)})}.{some(WIDE, 43)(r)}"


def pem(kind: str) -> Callable[[random.Random], str]:
    def make(r: random.Random) -> str:
        lines = "\n".join(some(ALNUM + "+/", 64)(r) for _ in range(4))
        return f"-----BEGIN {kind}-----\n{lines}\n-----END {kind}-----"

    return make


PLAIN: Mapping[str, Callable[[random.Random], str]] = {
    "openai": after("sk-", 48),
    "openai project": after("sk-proj-", 80, WIDE),
    "openai service account": after("sk-svcacct-", 60, WIDE),
    "openai admin": after("sk-admin-", 60, WIDE),
    "anthropic": after("sk-ant-api03-", 93, WIDE),
    "anthropic oauth": after("sk-ant-oat01-", 93, WIDE),
    "openrouter": after("sk-or-v1-", 64, HEX),
    "langfuse": after("sk-lf-", 36, HEX + "-"),
    "groq": after("gsk_", 52),
    "replicate": after("r8_", 37),
    "hugging face": after("hf_", 34),
    "hugging face organisation": after("api_org_", 34),
    "fireworks": after("fw_", 24),
    "pinecone": after("pcsk_", 60, ALNUM + "_"),
    "xai": after("xai-", 80),
    "perplexity": after("pplx-", 48),
    "nvidia": after("nvapi-", 64, WIDE),
    "cerebras": after("csk-", 48),
    "tavily": after("tvly-", 32),
    "langsmith": after("lsv2_pt_", 43, HEX + "_"),
    "aws access key": after("AKIA", 16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
    "aws temporary": after("ASIA", 16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
    "google api key": after("AIza", 35, WIDE),
    "google oauth": after("ya29.", 100, WIDE),
    "google refresh": after("1//0", 60, WIDE),
    "google client secret": after("GOCSPX-", 28, WIDE),
    "azure openai, 84 characters": lambda r: some(ALNUM, 52)(r) + "JQQJ99" + some(ALNUM, 26)(r),
    "azure client secret": lambda r: some(ALNUM, 5)(r)[:3] + "8Q~" + some(ALNUM, 34)(r),
    "digitalocean": after("dop_v1_", 64, HEX),
    "databricks": after("dapi", 32, HEX),
    "github classic": after("ghp_", 36),
    "github oauth": after("gho_", 36),
    "github server": after("ghs_", 36),
    "github fine-grained": after("github_pat_", 82, ALNUM + "_"),
    "gitlab": after("glpat-", 20, WIDE),
    "npm": after("npm_", 36),
    "pypi": after("pypi-AgEI", 120, WIDE),
    "docker": after("dckr_pat_", 27, WIDE),
    "sentry": after("sntrys_", 60, ALNUM + "_"),
    "netlify": after("nfp_", 36),
    "supabase": after("sbp_", 40, HEX),
    "figma": after("figd_", 40, WIDE),
    "postman": after("PMAK-", 59, HEX + "-"),
    "grafana": after("glsa_", 41, ALNUM + "_"),
    "notion": after("ntn_", 46),
    "linear": after("lin_api_", 40),
    "shopify": after("shpat_", 32, HEX),
    "slack bot": lambda r: f"xoxb-{r.randrange(10**11)}-{r.randrange(10**11)}-{some(ALNUM, 24)(r)}",
    "slack user": lambda r: f"xoxp-{r.randrange(10**11)}-{r.randrange(10**11)}-{some(HEX, 32)(r)}",
    "slack app": lambda r: f"xapp-1-A0{some(string.ascii_uppercase + string.digits, 9)(r)}-{some(HEX, 64)(r)}",
    "stripe": after("sk_live_", 24),
    "stripe restricted": after("rk_live_", 24),
    "stripe webhook": after("whsec_", 32),
    "sendgrid": lambda r: f"SG.{some(WIDE, 22)(r)}.{some(WIDE, 43)(r)}",
    "square": after("sq0atp-", 22, WIDE),
    "telegram": lambda r: f"{r.randrange(10**8, 10**9)}:AA{some(WIDE, 33)(r)}",
    "vault": after("hvs.", 90, WIDE),
    "doppler": after("dp.pt.", 43),
    "atlassian": after("ATATT3", 180, WIDE),
    "age": after("AGE-SECRET-KEY-1", 58, string.ascii_uppercase + string.digits),
    "json web token": jwt,
    "rsa private key": pem("RSA PRIVATE KEY"),
    "openssh private key": pem("OPENSSH PRIVATE KEY"),
    "private key": pem("PRIVATE KEY"),
}
"""Recognised wherever they stand."""

LABELLED: Mapping[str, tuple[str, Callable[[random.Random], str]]] = {
    "azure hexadecimal": ("api-key: {}", some(HEX, 32)),
    "azure variable": ("AZURE_OPENAI_API_KEY={}", some(HEX, 32)),
    "bearer": ("Authorization: Bearer {}", some(WIDE, 40)),
    "basic": ("Authorization: Basic {}", some(ALNUM, 40)),
    "url password": ("postgres://user:{}@db.example/x", some(ALNUM, 16)),
    "aws secret": ("aws_secret_access_key = {}", some(ALNUM + "+/", 40)),
    "storage account": ("AccountName=x;AccountKey={}", lambda r: some(ALNUM + "+/", 86)(r) + "=="),
    "shared access signature": ("https://x.blob.core.windows.net/y?sv=1&sig={}", lambda r: some(ALNUM, 43)(r) + "%3D"),
    "json field": ('{{"client_secret": "{}"}}', some(WIDE, 40)),
    "query": ("GET https://api.example/v1?key={}&x=1", some(WIDE, 39)),
    "slack hook": (
        "https://hooks.slack.com/services/{}",
        lambda r: f"T{some(ALNUM, 8)(r)}/B{some(ALNUM, 8)(r)}/{some(ALNUM, 24)(r)}",
    ),
    "mistral": ("MISTRAL_API_KEY={}", some(ALNUM, 32)),
}
"""Recognised by what stands before them."""


def planted(seed: int) -> dict[str, tuple[str, str]]:
    """By name: (the text as it would be written, the secret in it)."""
    r = random.Random(seed)
    found = {name: (key, key) for name, key in ((name, make(r)) for name, make in PLAIN.items())}
    for name, (template, make) in LABELLED.items():
        key = make(r)
        found[name] = (template.format(key), key)
    return found
