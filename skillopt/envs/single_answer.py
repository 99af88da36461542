"""What benchmarks of one question and one answer share: prompts, images, review turns, version, loading.

A subclass reads a row (`to_item`), says what its user message shows (`shown`, `image_names`) and scores a reply; its
folder holds `prompts/rollout_system.md` and `prompts/rollout_user.md`. One turn by default; with `env.max_turns` above
1 each further message asks for a review of the previous answer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from skillopt.core.errors import DataError
from skillopt.core.hashing import digest
from skillopt.core.item import Item
from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.core.outcome import Outcome
from skillopt.envs.base import Attempt, EnvConfig, Sampling, ScoreContext, Splits, Turn, sampling_of
from skillopt.envs.data.loading import Row
from skillopt.envs.data.splits import Source, load_splits
from skillopt.envs.datasets.dataset import command
from skillopt.envs.images import Images
from skillopt.envs.templates import Template, supplement
from skillopt.model.types import Message

IMAGE_SHA = "image_sha256"


class PlainSettings(BaseModel):
    """Base of the settings of these benchmarks."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ImageSettings(PlainSettings):
    """Settings of benchmarks with images."""

    data_root: str = Field(
        default="",
        description="Directory of the images. Blank: beside the split directory (or the data file), then the working "
        "directory.",
    )
    image_detail: str = Field(
        default="auto", pattern="^(auto|low|high)$", description="Resolution that a provider reads: auto, low, high."
    )


S = TypeVar("S", bound=PlainSettings)


class SingleAnswerEnv(ABC, Generic[S]):
    """See the module."""

    name: ClassVar[str]
    module_file: ClassVar[str]
    """`__file__` of the subclass: its prompts lie beside it."""
    scorer_version: ClassVar[int] = 1
    pass_threshold = 1.0
    reads_workspace = False

    def __init__(self, config: EnvConfig, settings: S) -> None:
        self._config = config
        self._settings = settings
        self._system = Template.beside(self.module_file, "prompts/rollout_system.md")
        self._user = Template.beside(self.module_file, "prompts/rollout_user.md")
        self._review = Template.beside(__file__, "prompts/review.md")
        self._system_message = lru_cache(maxsize=8)(self._render_system)
        self._images = Images(_roots(config), given=getattr(settings, "data_root", ""),
                              detail=getattr(settings, "image_detail", "auto"))  # fmt: skip

    @abstractmethod
    def to_item(self, row: Row) -> Item:
        """Check one row. Raises `DataError` naming file, place and field."""

    @abstractmethod
    def shown(self, item: Item) -> Mapping[str, JsonValue]:
        """Values of the user template. No gold value among them."""

    @abstractmethod
    async def score(self, item: Item, attempt: Attempt, ctx: ScoreContext) -> Outcome:
        """See `Env`."""

    @abstractmethod
    def golds(self, item: Item) -> tuple[str, ...]:
        """See `Env`."""

    def image_names(self, item: Item) -> Sequence[str]:
        """Images of an item, in order; they follow the text."""
        del item
        return ()

    def version_extra(self) -> JsonValue:
        """What besides prompts and settings can change a request or a score."""
        return None

    @property
    def version(self) -> str:
        settings = self._settings.model_dump(mode="json", exclude={"data_root"})
        templates: list[JsonValue] = [self._system.digest, self._user.digest, self._review.digest]
        parts: list[JsonValue] = [self.scorer_version, settings, templates, self._config.max_turns]
        return digest([*parts, self.version_extra()])[:16]

    @property
    def sampling(self) -> Sampling:
        return sampling_of(self._config)

    def load(self) -> Splits:
        return load_splits(self._config, Source(self.to_item, self.same_text, command(self.name)))

    def same_text(self, item: Item) -> str:
        """What two items share when they are the same task."""
        return f"{self.task_text(item)} {' '.join(map(str, self._seen(item)))}"

    def messages(self, item: Item, skill_text: str) -> tuple[Message, ...]:
        return (self._system_message(skill_text), Message("user", self.content(item)))

    def content(self, item: Item) -> str | tuple[JsonObject, ...]:
        """The user message: text, then the images."""
        text = self._user.render(self.shown(item), where=f"item {item.id!r}")
        names = self.image_names(item)
        if not names:
            return text
        return ({"type": "text", "text": text}, *(self.image_part(item, name) for name in names))

    def image_part(self, item: Item, name: str) -> JsonObject:
        """One image as a part of a message. Raises `ItemFault` where it is not the one that the item was read with."""
        known = dict(zip(self.image_names(item), map(str, self._seen(item)), strict=False))
        return self._images.part(name, f"item {item.id!r}", known.get(name, ""))

    def next_turn(self, item: Item, turns: Sequence[Turn]) -> str | None:
        if len(turns) >= self._config.max_turns:
            return None
        return self._review.render({"previous": turns[-1].reply}, where=f"item {item.id!r}")

    def task_text(self, item: Item) -> str:
        return self._user.render(self.shown(item), where=f"item {item.id!r}").strip()

    def prompt(self, name: str) -> str | None:
        return supplement(self.module_file, name)

    def checked_images(self, row: Row, names: Sequence[str]) -> list[str]:
        """SHA-256 of each image, so that an item is its images too. Raises `DataError` for one that is missing, is no
        image, or is another than the row states."""
        sums = [self._images.digest(name, row.where, f"run: {command(self.name)}") for name in names]
        stated = row.data.get(IMAGE_SHA)
        if stated is not None and stated != (sums[0] if isinstance(stated, str) else sums):
            raise row.fault(
                f"its image {names[0]!r} is not the one that it was written with", hint=f"run: {command(self.name)}"
            )
        return sums

    def _seen(self, item: Item) -> Sequence[object]:
        sums = item.data.get(IMAGE_SHA, "")
        return [sums] if isinstance(sums, str) else sums

    def _render_system(self, skill_text: str) -> Message:
        values: dict[str, JsonValue] = {"skill": skill_text if skill_text.strip() else "", **self.instructions()}
        return Message("system", self._system.render(values))

    def instructions(self) -> Mapping[str, JsonValue]:
        """Further values of the system template; the same for every item."""
        return {}


def _roots(config: EnvConfig) -> list[Path]:
    """Where an item's files may lie."""
    place = Path(config.split_dir if config.split_mode == "split_dir" else config.data_path)
    base = place if config.split_mode == "split_dir" or place.is_dir() else place.parent
    return [base, base.absolute().parent, Path(".")]


def needs(package: str, what: str) -> DataError:
    """The error for an optional package that is not installed."""
    return DataError(f"{what} needs the package {package}", hint='run: pip install "skillopt[data]"')
