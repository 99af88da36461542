"""Prompt templates: Jinja in a sandbox, undefined names are errors, nothing is escaped or stripped.

A value that is no text is shown as JSON, and nothing for null. Text of items and skills only ever enters as a value,
so a passage that looks like a template stays a passage. Jinja is imported by the first template: a misspelt key is
told without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from skillopt.core.errors import ConfigError, DataError
from skillopt.core.hashing import text_digest
from skillopt.core.json_types import JsonValue
from skillopt.envs.data.fields import shown_value


class Template:
    """One compiled template with the name that its errors carry. Raises `ConfigError` for a syntax error."""

    def __init__(self, source: str, *, name: str) -> None:
        import jinja2
        from jinja2 import meta
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        self.name = name
        self.digest = text_digest(source)
        environment = ImmutableSandboxedEnvironment(undefined=jinja2.StrictUndefined, autoescape=False, finalize=_shown)
        try:
            self.variables = frozenset(meta.find_undeclared_variables(environment.parse(source)))
            self._compiled = environment.from_string(source)
        except jinja2.TemplateSyntaxError as error:
            raise ConfigError(f"{name}, line {error.lineno}: {error.message}", hint="correct the template") from error

    @classmethod
    def beside(cls, module_file: str, relative: str) -> Template:
        """A template that ships beside a module, for example `prompts/rollout_system.md`."""
        path = Path(module_file).parent / relative
        return cls(path.read_text(encoding="utf-8"), name=f"{path.parent.parent.name}/{relative}")

    def render(self, values: Mapping[str, Any], *, where: str = "") -> str:
        """The text. Raises `DataError` naming the template's variable and `where` (an item)."""
        from jinja2 import TemplateError

        try:
            return self._compiled.render(values)
        except (TemplateError, TypeError, ValueError, ArithmeticError) as error:
            place = f"{self.name}{f', {where}' if where else ''}"
            raise DataError(f"{place}: {error}", hint=f"known names: {', '.join(sorted(values)) or 'none'}") from error


def _shown(value: object) -> object:
    """What a prompt shows of a value."""
    return shown_value(cast("JsonValue", value)) if value is None or isinstance(value, (bool, dict, list)) else value


def supplement(module_file: str, name: str) -> str | None:
    """Text of `prompts/<name>.md` beside an environment's module, or None when it adds nothing to that prompt."""
    path = Path(module_file).parent / "prompts" / f"{name}.md"
    return path.read_text(encoding="utf-8") if name.isidentifier() and path.is_file() else None
