"""minimax_chat: MiniMax's two regions, on `openai_compatible`'s wire.

MiniMax thinks unless told not to, and reports many failures inside a 200 (`base_resp`): those are put into their class
here, so that none is taken for an answer.
"""

from __future__ import annotations

from collections.abc import Mapping

from skillopt.core.errors import Cause, ContextOverflow, FatalModelError, ModelError, TransientModelError
from skillopt.core.json_types import parse_json
from skillopt.core.shorten import shorten
from skillopt.model.providers.openai_compatible import CompatibleBackend, compatible_settings
from skillopt.model.providers.wire import sdk
from skillopt.model.providers.wire.reply import LONGEST_WORDS, as_mapping
from skillopt.model.types import BackendSettings, ChatReply

BASE_URL = "https://api.minimax.io/v1"
MODEL = "MiniMax-M3"
_THINKING = {"enabled": {"type": "adaptive"}, "disabled": {"type": "disabled"}}
_BAD_REQUEST = 2013
_REFUSED: Mapping[int, Cause] = {1004: "key", 2049: "key", 1008: "credit", _BAD_REQUEST: "request"}
_OVERLOADED = frozenset({1002, 1041, 2045})
_FILTERED = frozenset({1026, 1027})
_TOO_LONG = 1039


def create(settings: BackendSettings) -> MinimaxBackend:
    """Backend from a role's settings: model, base_url, api_key, temperature, max_tokens, timeout_seconds, thinking.
    Raises `ConfigError`."""
    thinking = _THINKING.get(str(settings.get("thinking") or ""))
    return MinimaxBackend(
        compatible_settings(
            settings,
            model=str(settings.get("model") or MODEL),
            base_url=str(settings.get("base_url") or BASE_URL).rstrip("/"),
            extra_body={"thinking": thinking} if thinking else {},
        ),
        kind="minimax_chat",
    )


class MinimaxBackend(CompatibleBackend):
    """A `Backend` at MiniMax."""

    def read(self, text: str, where: str) -> ChatReply:
        error = self._inner_failure(text, where)
        if error is not None:
            raise error
        return super().read(text, where)

    def _inner_failure(self, text: str, where: str) -> ModelError | None:
        """The failure that a 200 reports, if it does. Raises `sdk.Filtered` when it is the content filter's."""
        if "base_resp" not in text:
            return None
        try:
            found = as_mapping(as_mapping(parse_json(text)).get("base_resp"))
        except ValueError:
            return None
        code = found.get("status_code")
        if not isinstance(code, int) or code == 0:
            return None
        words = shorten(str(found.get("status_msg") or "no explanation"), LONGEST_WORDS, self.secrets)
        message = (
            f"{where} answered 400: {words} (code {code})" if code == _BAD_REQUEST else f"{where}: {words} ({code})"
        )
        if code in _FILTERED:
            raise sdk.Filtered
        if code == _TOO_LONG:
            return ContextOverflow(message)
        if code in _REFUSED:
            return FatalModelError(message, cause=_REFUSED[code])
        return TransientModelError(
            message, overloaded=code in _OVERLOADED, cause="busy" if code in _OVERLOADED else "broken"
        )
