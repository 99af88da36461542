"""Prompts are Jinja templates in `prompts/*.md`; an environment may add its own vocabulary to the analysts' prompts.

A rendered prompt is part of the journal key, so an edited template never meets an old answer. Text that came from a
task or a trajectory is data: `fenced` puts it between fences longer than any run of backticks inside it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from typing import TYPE_CHECKING

from skillopt.core.fencing import fenced as fenced
from skillopt.core.hashing import digest

if TYPE_CHECKING:
    import jinja2

_SUPPLEMENTED = {
    "analyst_error_system": "analyst_error",
    "analyst_success_system": "analyst_success",
    "analyst_compact_system": "analyst_error",
    "analyst_error_rewrite_system": "analyst_error",
    "analyst_success_rewrite_system": "analyst_success",
    "analyst_error_full_rewrite_system": "analyst_error",
    "analyst_success_full_rewrite_system": "analyst_success",
    "analyst_factorial_system": "analyst_error",
    "rewrite_system": "rewrite_skill",
    "deep_probe_system": "deep_probe",
}
"""Template → the name by which an environment is asked for its own vocabulary."""


@cache
def compiled() -> jinja2.Environment:
    """All templates; each is compiled once a process, by whichever run needs it first."""
    import jinja2

    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("skillopt.optimizer", "prompts"),
        undefined=jinja2.StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )
    templates.filters["fenced"] = fenced  # pyright: ignore[reportUnknownMemberType]
    return templates


class PromptBook:
    """Renders the optimizer's prompts. `supplement(name)` is the environment's own addition, or None; `files` says that
    the skill's document holds other files of its package."""

    def __init__(self, supplement: Callable[[str], str | None] = lambda name: None, *, files: bool = False) -> None:
        self._supplement, self._files = supplement, files

    def render(self, name: str, **values: object) -> str:
        """Render `prompts/<name>.md`; an analyst's instructions get the environment's supplement."""
        prompt = _SUPPLEMENTED.get(name)
        supplement = (self._supplement(prompt) or "").strip() if prompt else ""
        template = compiled().get_template(f"{name}.md")
        return template.render(supplement=supplement, files=self._files, **values).strip() + "\n"

    @cached_property
    def version(self) -> str:
        """Hash over all templates and supplements; shown in records."""
        templates = compiled()
        loader = templates.loader
        sources = {n: loader.get_source(templates, n)[0] for n in templates.list_templates()} if loader else {}
        own = {n: self._supplement(n) for n in sorted(set(_SUPPLEMENTED.values()))}
        return digest({"templates": sources, "supplements": own})[:16]
