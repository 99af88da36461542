"""What a call costs, from a versioned table. A model that is not in the table has price None: unknown, never 0.

Rows are matched by exact model name, then without a date at its end (`gpt-4o-2024-08-06`), for the backends that send
to a provider; `backend:` rows match a kind of backend (`local`, `scripted`). Cached prompt tokens are part of the
prompt tokens; when the provider does not tell them apart, the whole prompt is priced as fresh.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, cast

import yaml

from skillopt.core.errors import ConfigError
from skillopt.model.types import Cache, Usage

_DATE = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8})$")
_MILLION = 1_000_000
_HOUR = 2.0
"""Writing a prompt to the cache for an hour, as a multiple of fresh input, where writing has a price of its own."""


@dataclass(frozen=True)
class Rates:
    """US dollars per million tokens. `cached` (read from the cache) and `written` (to it) None: as fresh input."""

    input: float
    output: float
    cached: float | None = None
    written: float | None = None

    def usd(
        self,
        prompt_tokens: int,
        completion_tokens: int,
        cached_tokens: int = 0,
        written_tokens: int = 0,
        hour_tokens: int = 0,
    ) -> float:
        """Cost of one request; `hour_tokens` are those of the written ones that are kept for an hour."""
        cached = min(cached_tokens, prompt_tokens)
        written = min(written_tokens, prompt_tokens - cached)
        read_rate = self.input if self.cached is None else self.cached
        write_rate = self.input if self.written is None else self.written
        prompt = (prompt_tokens - cached - written) * self.input + cached * read_rate + written * write_rate
        if write_rate > self.input:
            prompt += min(hour_tokens, written) * max(0.0, _HOUR * self.input - write_rate)
        return (prompt + completion_tokens * self.output) / _MILLION


@dataclass(frozen=True)
class Price:
    """One row: base rates, and other rates for prompts longer than `threshold` tokens. `source` says where and when."""

    rates: Rates
    threshold: int | None = None
    above: Rates | None = None
    free: bool = False
    source: str = ""
    batch: float = 1.0
    """What a request in a batch costs, as a share of the others; 1 where nobody knows of a lower price."""

    def usd(self, usage: Usage, *, batched: bool = False) -> float | None:
        """Cost of a request in dollars; None when the usage is unknown."""
        if self.free:
            return 0.0
        if usage.prompt_tokens is None or usage.completion_tokens is None:
            return None
        rates = self._rates(usage.prompt_tokens)
        usd = rates.usd(
            usage.prompt_tokens,
            usage.completion_tokens,
            usage.cached_tokens or 0,
            usage.written_tokens or 0,
            usage.hour_tokens or 0,
        )
        return usd * self.batch if batched else usd

    def bound(
        self, prompt_tokens: int, completion_tokens: int, *, cache: Cache = "minutes", batched: bool = False
    ) -> float:
        """The most a request may cost: nothing is read from a cache, all is written to it. What a reservation uses."""
        if self.free:
            return 0.0
        rates = self._rates(prompt_tokens)
        written = prompt_tokens if rates.written is not None and rates.written > rates.input else 0
        written = 0 if cache == "none" else written
        usd = rates.usd(prompt_tokens, completion_tokens, 0, written, written if cache == "hour" else 0)
        return usd * self.batch if batched else usd

    def _rates(self, prompt_tokens: int) -> Rates:
        if self.threshold is not None and self.above is not None and prompt_tokens > self.threshold:
            return self.above
        return self.rates


class PriceTable:
    """Lookup of prices. Later tables win over earlier ones, row by row."""

    def __init__(self, *tables: Mapping[tuple[str, str], Price]) -> None:
        self._rows: dict[tuple[str, str], Price] = {}
        for table in tables:
            self._rows.update(table)

    def find(self, model: str, *, backend: str = "") -> Price | None:
        """The price of a model asked through a kind of backend, or None when it is unknown."""
        undated = _DATE.sub("", model)
        for key in ((backend, model), (backend, undated), (backend, "*"), ("", model), ("", undated)):
            if key in self._rows:
                return self._rows[key]
        return None


def load_prices(override: Path | None = None) -> PriceTable:
    """The shipped table with the rows of an override file on top. Raises `ConfigError` naming file, row and field."""
    shipped = resources.files("skillopt.model").joinpath("prices.yaml")
    tables = [_parse(shipped.read_text(encoding="utf-8"), "prices.yaml")]
    if override is not None:
        try:
            text = override.read_text(encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"price file {override}: {error.strerror}", hint="check price_file") from None
        tables.append(_parse(text, str(override)))
    return PriceTable(*tables)


def _parse(text: str, where: str) -> dict[tuple[str, str], Price]:
    try:
        # The C loader where it was built: the table is read at every start.
        raw: Any = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{where} is not valid YAML: {' '.join(str(error).split())}") from None
    rows = cast("Mapping[str, Any]", raw).get("rows") if isinstance(raw, Mapping) else None
    if not isinstance(rows, Sequence) or isinstance(rows, str):
        raise ConfigError(f"{where}: a price table is a mapping with a list `rows`")
    table: dict[tuple[str, str], Price] = {}
    for number, row in enumerate(cast("Sequence[Any]", rows), start=1):
        if not isinstance(row, Mapping):
            raise ConfigError(f"{where}, row {number}: a row is a mapping")
        fields = cast("Mapping[str, Any]", row)
        key = (str(fields.get("backend", "")), _name(fields, f"{where}, row {number}"))
        table[key] = _price(fields, f"{where}, row {number} ({key[1]})")
    return table


def _name(row: Mapping[str, Any], where: str) -> str:
    model = row.get("model")
    if not isinstance(model, str) or not model:
        raise ConfigError(f"{where}: `model` must be a name, got {model!r}")
    return model


def _price(row: Mapping[str, Any], where: str) -> Price:
    unknown = set(row) - {
        "backend",
        "model",
        "free",
        "input",
        "cached",
        "written",
        "output",
        "above",
        "source",
        "batch",
    }
    if unknown:
        raise ConfigError(
            f"{where}: unknown field {sorted(unknown)[0]!r}", hint="known: input, cached, written, output, above, batch"
        )
    source, batch = _source(row.get("source")), _share(row.get("batch"), where)
    if row.get("free") is True:
        return Price(Rates(0.0, 0.0), free=True, source=source)
    above: Any = row.get("above")
    if above is None:
        return Price(_rates(row, where), source=source, batch=batch)
    if not isinstance(above, Mapping) or not isinstance(cast("Mapping[str, Any]", above).get("prompt_tokens"), int):
        raise ConfigError(f"{where}: `above` needs prompt_tokens, input and output")
    tier = cast("Mapping[str, Any]", above)
    return Price(
        _rates(row, where),
        threshold=int(tier["prompt_tokens"]),
        above=_rates(tier, where),
        source=source,
        batch=batch,
    )


def _rates(row: Mapping[str, Any], where: str) -> Rates:
    cached, written = row.get("cached"), row.get("written")
    return Rates(
        input=_amount(row.get("input"), "input", where),
        output=_amount(row.get("output"), "output", where),
        cached=None if cached is None else _amount(cached, "cached", where),
        written=None if written is None else _amount(written, "written", where),
    )


def _amount(value: object, name: str, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e6:
        raise ConfigError(
            f"{where}: `{name}` must be dollars per million tokens, got {value!r}", hint="a free model has `free: true`"
        )
    return float(value)


def _share(value: object, where: str) -> float:
    if value is None:
        return 1.0
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= 1:
        raise ConfigError(f"{where}: `batch` is a share of the price, above 0 and up to 1, got {value!r}")
    return float(value)


def _source(raw: object) -> str:
    if isinstance(raw, Mapping):
        source = cast("Mapping[str, Any]", raw)
        return f"{source.get('note', '')} ({source.get('date', 'no date')})"
    return str(raw or "")
