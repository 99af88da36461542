"""The names that are sent: those of the GenAI conventions, and our own under `skillopt.`.

The conventions' names are written here, because the package that holds them calls their module internal; a test
compares them with it.
"""

from __future__ import annotations

from collections.abc import Mapping

OPT_IN_VARIABLE = "OTEL_SEMCONV_STABILITY_OPT_IN"
OPT_IN = "gen_ai_latest_experimental"
SCOPE, SCOPE_VERSION = "skillopt", "2"
"""The version counts changes of the names and of the tree."""

OPERATION = "gen_ai.operation.name"
WORKFLOW = "gen_ai.workflow.name"
AGENT = "gen_ai.agent.name"
PROVIDER = "gen_ai.provider.name"
REQUEST_MODEL = "gen_ai.request.model"
RESPONSE_MODEL = "gen_ai.response.model"
FINISH_REASONS = "gen_ai.response.finish_reasons"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
CACHED_TOKENS = "gen_ai.usage.cache_read.input_tokens"
INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
EVALUATION_NAME = "gen_ai.evaluation.name"
EVALUATION_VALUE = "gen_ai.evaluation.score.value"
EVALUATION_LABEL = "gen_ai.evaluation.score.label"
EVALUATION_EXPLANATION = "gen_ai.evaluation.explanation"
ERROR_TYPE = "error.type"

EVALUATION_RESULT = "gen_ai.evaluation.result"
"""The name of the log event that says what a rollout scored."""

CONVENTIONS = (
    OPERATION, WORKFLOW, AGENT, PROVIDER, REQUEST_MODEL, RESPONSE_MODEL, FINISH_REASONS, INPUT_TOKENS, OUTPUT_TOKENS,
    CACHED_TOKENS, INPUT_MESSAGES, OUTPUT_MESSAGES, EVALUATION_NAME, EVALUATION_VALUE, EVALUATION_LABEL,
    EVALUATION_EXPLANATION, ERROR_TYPE,
)  # fmt: skip
"""All that is not our own."""

INVOKE_WORKFLOW, INVOKE_AGENT, CHAT = "invoke_workflow", "invoke_agent", "chat"

_PROVIDERS: Mapping[str, str] = {
    "openai_chat": "openai", "codex_exec": "openai", "claude_chat": "anthropic", "claude_code_exec": "anthropic",
    "copilot_chat": "github", "copilot_exec": "github", "gemini_exec": "gcp.gemini", "qwen_chat": "qwen",
    "qwen_exec": "qwen", "minimax_chat": "minimax",
}  # fmt: skip


def provider_of(backend: str, endpoint: str = "") -> str:
    """Who answers, in the conventions' words where they have one; else the backend's name, as they allow.

    >>> provider_of("openai_chat"), provider_of("openai_chat", "https://x.openai.azure.com"), provider_of("local")
    ('openai', 'azure.ai.openai', 'local')
    """
    if ".azure.com" in endpoint:
        return "azure.ai.openai"
    return _PROVIDERS.get(backend, backend)
