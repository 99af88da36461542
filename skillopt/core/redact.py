"""Secrets out of any text that is about to be written, logged, shown or put into an error.

Three nets: the values this process was given (exact, whatever their shape), shapes that only keys have, and values
behind a label that says what they are. Prose about keys stays as it is ("Invalid API key"): a label alone is never
enough, a value must follow it. `redact` is for what people read about a run; `redact_reply` for what a model said,
which is data: it takes out only what nobody could mean by anything but a key. Both are pure and idempotent.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from skillopt.core.redact_labels import LIKELY, certain_in, cookie_spans

MARK = "[redacted]"
_MIN_SECRET = 6
_MIN_ENVIRONMENT = 12
"""Shorter values of the environment are switches and words, not keys."""

_W, _B = r"[A-Za-z0-9_-]", r"[A-Za-z0-9]"
_NO_WORDS = r"(?!(?:(?:[a-z]{1,14}|\d{1,4})-){0,30}(?:[a-z]{1,14}|\d{1,4})(?![A-Za-z0-9_-]))"
"""Words with hyphens, of a page's address or a style sheet, are no key: `sk-container-id-1`."""
_DIGIT = rf"{_NO_WORDS}(?={_W}{{0,400}}\d)"
_SHAPES: tuple[tuple[str | tuple[str, ...], str], ...] = (
    # Model providers
    ("sk-", rf"sk-(?!ssh-ed25519|ecdsa-sha2){_DIGIT}{_W}{{16,}}"),
    ("gsk_", rf"gsk_{_W}{{20,}}"),
    ("r8_", rf"r8_{_W}{{20,}}"),
    ("hf_", rf"hf_{_W}{{20,}}"),
    ("fw_", rf"fw_{_W}{{20,}}"),
    ("pcsk_", rf"pcsk_{_W}{{20,}}"),
    ("xai-", rf"xai-{_DIGIT}{_W}{{20,}}"),
    ("pplx-", rf"pplx-{_DIGIT}{_W}{{20,}}"),
    ("nvapi-", rf"nvapi-{_DIGIT}{_W}{{20,}}"),
    ("csk-", rf"csk-{_DIGIT}{_W}{{20,}}"),
    ("tvly-", rf"tvly-{_DIGIT}{_W}{{20,}}"),
    ("lsv2_", rf"lsv2_(?:pt|sk)_{_W}{{20,}}"),
    ("api_org_", rf"api_org_{_B}{{20,}}"),
    ("pa-", rf"pa-{_DIGIT}{_W}{{40,}}"),
    # Clouds
    ("LTAI", rf"LTAI{_DIGIT}{_B}{{16,}}"),
    ("AKID", rf"AKID{_DIGIT}{_B}{{28,}}"),
    (("fm1_", "fm2_", "fm1r_", "fm2r_"), rf"fm[12]r?_{_DIGIT}{_B}{{20,}}"),
    (".atlasv1.", rf"{_B}{{14}}\.atlasv1\.{_W}{{40,}}"),
    ("AKIA", r"AKIA[A-Z0-9]{16}\b"),
    ("ASIA", r"ASIA[A-Z0-9]{16}\b"),
    ("AIza", rf"AIza{_W}{{30,}}"),
    ("ya29.", rf"ya29\.{_W}{{20,}}"),
    ("1//0", rf"1//0{_W}{{20,}}"),
    ("GOCSPX-", rf"GOCSPX-{_W}{{20,}}"),
    ("JQQJ99", rf"{_B}{{20,120}}?JQQJ99{_B}{{20,}}"),
    ("Q~", rf"{_W}{{3}}\dQ~[A-Za-z0-9_.~-]{{31,34}}"),
    ("_v1_", r"do[por]_v1_[a-f0-9]{40,}"),
    ("dapi", r"dapi[a-f0-9]{32}(?:-\d)?"),
    # Code and packages
    (("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), rf"gh[pousr]_{_B}{{20,}}"),
    ("github_pat_", r"github_pat_[A-Za-z0-9_]{20,}"),
    (
        ("glpat-", "gldt-", "glrt-", "glsoat-", "glcbt-", "glptt-", "glft-", "glagent-"),
        rf"gl(?:pat|dt|rt|soat|cbt|ptt|ft|agent)-{_W}{{16,}}",
    ),
    ("npm_", rf"npm_{_B}{{30,}}"),
    ("pypi-AgEI", rf"pypi-AgEI{_W}{{20,}}"),
    ("dckr_", rf"dckr_(?:pat|oat)_{_W}{{20,}}"),
    ("sntry", rf"sntry[su]_{_W}{{20,}}"),
    ("nfp_", rf"nfp_{_DIGIT}{_W}{{20,}}"),
    ("sbp_", rf"sbp_{_DIGIT}{_W}{{20,}}"),
    ("figd_", rf"figd_{_DIGIT}{_W}{{20,}}"),
    ("PMAK-", rf"PMAK-{_DIGIT}{_W}{{20,}}"),
    ("NRAK-", rf"NRAK-{_DIGIT}{_W}{{20,}}"),
    ("HRKU-", rf"HRKU-{_DIGIT}{_W}{{20,}}"),
    ("pul-", rf"pul-{_DIGIT}{_W}{{20,}}"),
    ("lin_api_", rf"lin_api_{_DIGIT}{_W}{{20,}}"),
    ("glc_", rf"glc_{_DIGIT}{_W}{{20,}}"),
    ("CCIPAT_", rf"CCIPAT_{_W}{{20,}}"),
    ("sb_secret_", rf"sb_secret_{_W}{{20,}}"),
    ("secret_", rf"secret_{_DIGIT}{_B}{{40,}}"),
    ("pat", rf"pat{_B}{{14}}\.[a-f0-9]{{64}}"),
    ("pat-", r"pat-[a-z]{2}\d-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    ("glsa_", rf"glsa_{_DIGIT}{_W}{{20,}}"),
    ("ntn_", rf"ntn_{_DIGIT}{_W}{{20,}}"),
    (("shpat_", "shpss_", "shpca_"), rf"shp(?:at|ss|ca)_{_DIGIT}{_W}{{20,}}"),
    ("pscale_", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{20,}"),
    # Messages, money, vaults
    ("xox", r"xox[abeoprs]-[A-Za-z0-9-]{10,}"),
    ("xapp-", r"xapp-\d-[A-Za-z0-9-]{20,}"),
    (("k_live_", "k_test_"), rf"[sr]k_(?:live|test)_{_B}{{16,}}"),
    ("whsec_", r"whsec_[A-Za-z0-9+/=]{20,}"),
    ("SG.", rf"SG\.{_W}{{16,80}}\.{_W}{{16,}}"),
    ("sq0", rf"sq0(?:atp|csp)-{_W}{{20,}}"),
    (":AA", rf"\d{{8,10}}:AA{_W}{{30,}}"),
    (("hvs.", "hvb.", "hvr."), rf"hv[sbr]\.{_W}{{20,}}"),
    (
        ("MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"),
        rf"(?:M[Tjz]|N[DTjz]|O[DT]){_DIGIT}{_W}{{21,26}}\.{_W}{{6}}\.{_W}{{27,40}}",
    ),
    ("key-", r"key-[0-9a-f]{32}\b"),
    ("SK", r"SK[0-9a-f]{32}\b"),
    ("SSWS ", rf"SSWS 00{_W}{{38,}}"),
    ("dp.", rf"dp\.(?:pt|st|ct|sa)\.{_B}{{30,}}"),
    ("ATATT3", r"ATATT3[A-Za-z0-9_=-]{30,}"),
    ("AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{50,}"),
    # Signed tokens
    ("eyJ", rf"eyJ{_W}{{8,2000}}\.{_W}{{8,20000}}\.{_W}*"),
)
"""(what every key of the shape holds, or one of what it holds, the shape): a text without need not be searched."""
# A key begins a word; a letter before it may belong to an escape (`\\n` in JSON text, `%20` in a URL).
_START = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrtbf])|(?<=%[0-9A-Fa-f]{2}))"
_WHOLE: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = (
    (
        ("PRIVATE KEY",),
        re.compile(
            # A program that looks for the line has it in quotes, with no key behind it.
            r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            r"(?=[ \t]{0,20}(?:\\{1,8}[nr]|[\r\n])|[\"',\s]{0,40}[A-Za-z0-9+/]{24}).*?"
            r"(?:-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
            re.DOTALL,
        ),
    ),
    *((held if isinstance(held, tuple) else (held,), re.compile(_START + shape)) for held, shape in _SHAPES),
)
_BY_WORD = [(word, pattern) for held, pattern in _WHOLE for word in held]
"""One row a word."""

_URL = re.compile(
    r"((?<![a-zA-Z0-9+.-])[a-zA-Z][a-zA-Z0-9+.-]{0,30}://)(?P<user>[^\s/@:\"'<>{}[\]`]{0,200}):"
    r"(?!(?P=user)@|[<>{}[\]`$]|%[a-z(]|\*{3}|x{4}|\.{3}|(?i:(?:my|your)?_?(?:pass(?:word|wd)?|pwd|pw|secret|token))@)[^\s/@\"']{1,400}@"
)
"""Patterns of an address hold none: `{user}:{password}@`, `user:password@`, `guest:guest@`."""
_SECRET_NAME = re.compile(r"(?i)(?:key|token|secret|password|passwd|passphrase|credentials?|_pat|_pwd|_auth|dsn)s?$")


def redact(text: str, secrets: Collection[str] = ()) -> str:
    """`text` with every given secret (six characters or more) and every key-shaped value replaced by `[redacted]`."""
    if len(text) < _MIN_SECRET:
        return text
    text = redact_reply(text, secrets)
    for pattern in LIKELY:
        text = pattern.sub(rf"\g<1>{MARK}", text)
    return text


def redact_reply(text: str, secrets: Collection[str] = ()) -> str:
    """`text` without the given secrets and without what can only be a key; labelled words and placeholders stay."""
    for secret in sorted({s for s in secrets if len(s) >= _MIN_SECRET}, key=len, reverse=True):
        text = text.replace(secret, MARK)
    for pattern in _shapes_in(text):
        text = pattern.sub(MARK, text)
    for pattern in certain_in(text):
        text = pattern.sub(rf"\g<1>{MARK}", text)
    for start, end in reversed(list(cookie_spans(text))):
        text = text[:start] + MARK + text[end:]
    return _URL.sub(rf"\g<1>{MARK}@", text) if "://" in text and "@" in text else text


def _shapes_in(text: str) -> list[re.Pattern[str]]:
    """The shapes of which the text has a word; every text that is written passes here, so this is one flat loop."""
    return list(dict.fromkeys([pattern for word, pattern in _BY_WORD if word in text]))


def shape_spans(text: str) -> list[tuple[int, int]]:
    """Where values stand that have a key's shape whatever is around them, pattern by pattern: quick on a long text."""
    return [match.span() for pattern in _shapes_in(text) for match in pattern.finditer(text)]


def secret_spans(text: str) -> list[tuple[int, int]]:
    """Where key-shaped values stand (half-open, without their labels), in order, overlapping ones joined."""
    found = shape_spans(text)
    found += [
        (match.end(1), match.end()) for pattern in (*certain_in(text), *LIKELY) for match in pattern.finditer(text)
    ]
    found += cookie_spans(text)
    found += [(match.end(1), match.end() - 1) for match in _URL.finditer(text)]
    spans: list[tuple[int, int]] = []
    for start, end in sorted(found):
        if spans and start < spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((start, end))
    return spans


def environment_secrets(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Values of the variables whose names say that they are secret; paths, addresses and short words are not."""
    return tuple(
        value
        for name, value in environ.items()
        if _SECRET_NAME.search(name)
        and len(value) >= _MIN_ENVIRONMENT
        and not value.startswith(("/", "~", "."))
        and "://" not in value
        and any(c.isdigit() for c in value)
    )
