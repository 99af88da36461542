"""Canonical bytes and their digests: the identity of items, skills, calls and prompts.

Identity is a hash of content, never a list position or a path. Canonical JSON is UTF-8, keys sorted, no spaces, floats
in Python's shortest round-trip form; NaN and infinities are refused because they have no JSON.
"""

from __future__ import annotations

import hashlib
import json


def canonical_json(value: object) -> str:
    """One text for one value, on every platform. Raises `ValueError` for NaN, `TypeError` for what JSON cannot hold."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(value: object) -> str:
    """SHA-256 of the canonical JSON, 64 hex digits."""
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


def text_digest(text: str) -> str:
    """SHA-256 of the UTF-8 text, 64 hex digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def skill_hash(text: str) -> str:
    """First 16 hex digits of SHA-256 of the UTF-8 text; the published identity of a skill."""
    return text_digest(text)[:16]
