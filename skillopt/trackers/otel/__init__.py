"""OpenTelemetry (extra `otel`): a trace of the run, `invoke_workflow` › `invoke_agent` › `chat`.

Names follow the GenAI conventions, which are still in development: nothing is sent unless the variable
`OTEL_SEMCONV_STABILITY_OPT_IN` holds `gen_ai_latest_experimental`, and the scope carries our version. Figures and names
only, unless `capture_content` is True; what is sent then went through the run's redaction.
"""

from __future__ import annotations

from skillopt.trackers.otel.names import OPT_IN, OPT_IN_VARIABLE, SCOPE, SCOPE_VERSION
from skillopt.trackers.otel.tracker import OTel

__all__ = ["OPT_IN", "OPT_IN_VARIABLE", "SCOPE", "SCOPE_VERSION", "OTel"]
