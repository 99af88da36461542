"""Why a reply ended, in the words of every provider and of every agent program, read as one of ours.

Words are compared without case and punctuation (`MAX_TOKENS`, `max-tokens`, `maxTokens` are one). A word for a failure
is a failure of the provider; a word that nobody here knows is `unknown`: such a reply is never taken for a whole one.
A reply without any word (some servers send null) counts as finished.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal, cast

Finish = Literal["stop", "length", "refusal", "tool_calls", "unknown"]
Ending = Finish | Literal["failed"]

_WORDS: Mapping[Ending, str] = {
    "stop": "stop end_turn eos eos_token eot stop_sequence stop_token stop_string stopped complete completed "
    "completion finish finished finish_reason_stop end done success none null 1",
    "length": "length max_tokens model_length max_length max_output_tokens max_completion_tokens max_new_tokens "
    "token_limit token_limit_reached finish_reason_max_tokens finish_reason_length model_context_window_exceeded "
    "context_length context_length_exceeded context_window_exceeded context_overflow output_limit limit truncated "
    "incomplete max_model_len length_limit tokens_limit",
    "refusal": "content_filter content_filtered contentfilter refusal refused safety recitation blocklist blocked "
    "prohibited_content spii image_safety image_prohibited_content language sensitive guardrail guardrails "
    "guardrail_intervened moderation moderated content_moderation policy_violation finish_reason_safety "
    "finish_reason_recitation input_sensitive output_sensitive error_toxic",
    "tool_calls": "tool_calls tool_call function_call function_calls tool_use tools",
    "failed": "error failed failure network_error upstream_error provider_error server_error internal_error "
    "internal_server_error insufficient_system_resource engine_error engine_overloaded overloaded rate_limit "
    "model_error cancel cancelled canceled abort aborted interrupted disconnected timeout timed_out time_limit "
    "deadline_exceeded malformed_function_call malformed_response unexpected_tool_call error_limit user_cancel "
    "bad_gateway service_unavailable exception pause_turn",
}


def _plain(word: str) -> str:
    return re.sub(r"[^a-z0-9]", "", word.lower())


_KNOWN: Mapping[str, Ending] = {_plain(word): ending for ending, words in _WORDS.items() for word in words.split()}
# `error: upstream reset`, `ERROR_TIMEOUT`, `upstreamTimeout`: nobody can list every failure.
_FAILED = re.compile(r"\A(?:error|fail)|(?:error|errored|failed|failure|timeout|timedout|cancelled|aborted)\Z")


def ending_of(word: object, *, also: Iterable[tuple[str, Ending]] = ()) -> Ending:
    """How a reply ended. `also` are words that mean something else at one provider.

    >>> ending_of("MAX_TOKENS"), ending_of("cancelled"), ending_of(None), ending_of("moved_on")
    ('length', 'failed', 'stop', 'unknown')
    """
    if isinstance(word, Mapping):  # some say it with a sentence: {"type": "length", "message": …}
        told = cast("Mapping[str, object]", word)
        word = next((told[name] for name in ("type", "reason", "code", "name") if told.get(name)), "said by an object")
    if word is None or word is False or word == "":
        return "stop"
    plain = _plain(str(word))
    own: Mapping[str, Ending] = {_plain(name): ending for name, ending in also}
    return own.get(plain) or _KNOWN.get(plain) or ("failed" if _FAILED.search(plain) else "unknown")
