"""Configuration files that may be started: what lies in the directories of configurations and of own projects.

A page names a file as the list does; what is not in it is refused, so that no path is taken from outside.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from skillopt.core.errors import ConfigError

_BASES = "_base_"
_FEATURES = "features"


@dataclass(frozen=True)
class ConfigFile:
    """One file. `name` is what a page calls it; `own` are projects for somebody's own tasks."""

    name: str
    path: Path
    own: bool = False

    @property
    def group(self) -> str:
        """The directory it is listed under."""
        return str(Path(self.name).parent)

    @property
    def base(self) -> tuple[str, ...]:
        """Overrides without which it would only work from its own directory."""
        here = self.path.parent
        if not self.own:
            return ()
        skill = next((name for name in ("skill.md", "skill") if (here / name).exists()), "")
        data = sorted(p for p in (here / "data").glob("*") if p.is_file()) if (here / "data").is_dir() else []
        found = [f"env.skill_init={here / skill}"] if skill else []
        return (*found, *([f"env.data_path={data[0]}"] if len(data) == 1 else []))


@dataclass(frozen=True)
class ConfigFiles:
    """See the module."""

    configs: tuple[Path, ...]
    projects: Path

    def all(self) -> list[ConfigFile]:
        """Own projects first, then what is shipped, by name. Blocking."""
        found = [
            ConfigFile(f"{self.projects.name}/{path.relative_to(self.projects).as_posix()}", path.resolve(), own=True)
            for path in sorted(self.projects.glob("*/config.yaml"))
            if path.resolve().is_relative_to(self.projects.resolve())
        ]
        for root in self.configs:
            for path in sorted((*root.rglob("*.yaml"), *root.rglob("*.yml"))):
                place = path.relative_to(root)
                if place.parts[0] not in (_BASES, _FEATURES) and path.resolve().is_relative_to(root.resolve()):
                    found.append(ConfigFile(f"{root.name}/{place.as_posix()}", path.resolve()))
        return found

    def named(self, name: str) -> ConfigFile:
        """The file of this name. Raises `ConfigError` for one that is not in the list. Blocking."""
        for each in self.all():
            if each.name == name:
                return each
        raise ConfigError("there is no such configuration here", hint="choose one from the list")
