"""What a run will take and what it can show, said before anything is spent.

Calls come from `forecast.workload`. Tokens come from the prompts that the first items really give, and from what
earlier calls of the same run used (its journal's ledger) when there are any. Prices that are unknown make the money
unknown, never smaller. A split too small to decide anything is refused or warned about, with the numbers.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from skillopt.config import Config, role_settings
from skillopt.config.derived import Sizes, rule_name
from skillopt.core.errors import DataError, JournalError
from skillopt.core.skill import Skill
from skillopt.engine.acceptance.choose import look_level, rule_of
from skillopt.engine.run.batching import batching, refuse_batches
from skillopt.engine.run.compatibility import refuse_combinations
from skillopt.engine.run.prepare import Work
from skillopt.engine.run.targets import check_target
from skillopt.envs.base import Env, Splits
from skillopt.envs.data.splits import CUT_REASON
from skillopt.envs.judged import judge_calls
from skillopt.forecast.batches import SHORTEST_S, Batched, as_batches, offer
from skillopt.forecast.estimate import Estimate, PerCall, observed_calls
from skillopt.forecast.planned import Plan, StagePlan
from skillopt.forecast.pools import in_flight, pools_of
from skillopt.forecast.range import Range, spread, total
from skillopt.forecast.workload import StageCalls, Workload, of_seeds, with_judge, workload
from skillopt.gate.power import NOISE, detectable_gain, items_for, items_to_see, points_of, smallest_gain
from skillopt.model.prices import Price, PriceTable, load_prices
from skillopt.model.types import Usage
from skillopt.records.directory import JOURNAL
from skillopt.records.vocabulary import Stage
from skillopt.store.journal import Journal, LedgerRow

SMALL_SPLIT = 20
"""Below this many items a split decides next to nothing; the plan says so with numbers."""


def make_plan(
    config: Config,
    env: Env,
    splits: Splits,
    initial: Skill,
    prices: PriceTable,
    *,
    observed: Mapping[tuple[str, str], PerCall] | None = None,
    seeds: int = 1,
) -> Plan:
    """Forecast a run, or `seeds` of them side by side. Sends nothing to any model. Raises `ConfigError` for impossible
    sizes and combinations."""
    check_target(config, env)
    refuse_combinations(config, env)
    asked_singly = refuse_batches(config, env)
    evaluation = config.evaluation
    sizes = Sizes(
        len(splits.train),
        _used(len(splits.selection), evaluation.sel_env_num),
        _used(len(splits.test), evaluation.test_env_num),
    )
    work = with_judge(of_seeds(workload(config, sizes), seeds, sizes.test), judge_calls(env))
    estimate = Estimate(config, env, splits, initial, work, observed or {})
    used = any(batching(config, env, line.role).stages for line in work.stages)
    stages = tuple(_stage(line, config, env, work, estimate, prices, offered=not used) for line in work.stages)
    fits = _fits(config, work, stages)
    warnings, refusals = _remarks(config, sizes, splits, work, fits)
    gate = rule_of(config).promise(sizes.selection, work.total_steps)
    return Plan(
        stages=stages,
        sizes=sizes,
        total_steps=work.total_steps,
        steps_per_epoch=work.per_epoch,
        selection_gain=_proves(config, sizes.selection),
        test_gain=detectable_gain(sizes.test),
        fits_steps=fits,
        warnings=(*warnings, *asked_singly),
        refusals=(*refusals, *gate.refusals),
        gate_notes=(*_cut_note(splits), *gate.notes, *_joint(config, sizes.selection, seeds)),
        batches=offer(config, [(s.live_usd, s.batched_usd, s.waits) for s in stages], used=used),
        pools=pools_of(config, sorted({line.role for line in work.stages})),
        seeds=seeds,
    )


def _proves(config: Config, selection: int) -> float:
    """What the selection split can show, by the test that will be used on it."""
    if rule_name(config) not in ("paired", "proof", "factorial"):
        return detectable_gain(selection)
    return smallest_gain(selection, NOISE, alpha=look_level(config)) or 1.0


def _needs(config: Config, gain: float) -> int:
    """Selection items that show a gain, by the same test."""
    if rule_name(config) not in ("paired", "proof", "factorial"):
        return items_for(gain)
    return items_to_see(gain, NOISE, alpha=look_level(config)) or items_for(gain)


def _joint(config: Config, selection: int, seeds: int) -> tuple[str, ...]:
    """What several runs may claim together."""
    if seeds == 1 or rule_name(config) not in ("proof", "factorial"):
        return ()
    alpha = config.evaluation.gate_alpha
    gain = smallest_gain(selection, NOISE, alpha=look_level(config) / seeds)
    shown = "no gain" if gain is None else f"gains of {points_of(gain)} points or more"
    return (
        f"{seeds} seeds: each run's claim holds at its own {100 * alpha:g} %; jointly (Holm, {100 * alpha:g} % over "
        f"all runs) one run alone proves {shown}, several runs that prove something prove it with less",
    )


def _cut_note(splits: Splits) -> tuple[str, ...]:
    """Why a list was cut as it was."""
    reason = splits.manifest.get(CUT_REASON)
    return (str(reason),) if reason else ()


def _used(size: int, count: int) -> int:
    return min(size, count) if count else size


def _stage(
    line: StageCalls, config: Config, env: Env, work: Workload, estimate: Estimate, prices: PriceTable, *, offered: bool
) -> StagePlan:
    prompt, completion = estimate.per_call(line)
    optimizer = line.role == "optimizer"
    settings = role_settings(config.model, line.role)
    turns = config.env.max_turns if config.model.target_agent == "chat" else config.model.tool_loop_max_turns
    calls = line.calls * spread(1, turns) if line.role == "target" else line.calls
    price = prices.find(settings.model, backend=settings.backend)
    live = _money(price, calls, prompt, completion)
    share = price.batch if price is not None else 1.0
    sets = as_batches(config, env, work, line, calls, share, offered=offered)
    usd = batched = live
    if sets is not None and share < 1:
        batched = _money(price, sets.calls, prompt, completion, batched=True)
    if settings.batch != "never" and sets is not None:
        calls, usd = sets.calls, batched
    width = in_flight(settings, config.gradient.analyst_workers if optimizer else config.env.workers)
    if settings.backend == "local":
        width = 1
    return StagePlan(
        role=line.role,
        model=settings.model,
        stage=line.stage,
        label=line.label,
        calls=calls,
        prompt_tokens=calls * prompt,
        completion_tokens=calls * completion,
        usd=usd,
        seconds=_time(config, estimate, line, calls, prompt, completion, width, sets),
        observed=estimate.known(line) is not None,
        live_usd=live,
        batched_usd=batched,
        waits=sets.waits if sets is not None else 0,
    )


def _money(
    price: Price | None, calls: Range, prompt: Range, completion: Range, *, batched: bool = False
) -> Range | None:
    if price is None:
        return None
    cheap, likely = (
        price.usd(Usage(round(tokens[0]), round(tokens[1])), batched=batched) or 0.0
        for tokens in ((prompt.low, completion.low), (prompt.likely, completion.likely))
    )
    return calls * Range(cheap, price.bound(round(prompt.high), round(completion.high), batched=batched), likely)


def _time(
    config: Config, estimate: Estimate, line: StageCalls, calls: Range, prompt: Range, completion: Range, width: int,
    offered: Batched | None,
) -> Range:  # fmt: skip
    settings = role_settings(config.model, line.role)
    if offered is not None and settings.batch != "never":
        return spread(SHORTEST_S, 60 * float(config.model.batch_wait_minutes)).times(offered.waits)
    return (calls * estimate.seconds(line, settings.backend, prompt, completion)).times(1 / max(1, width))


def _fits(config: Config, work: Workload, stages: Sequence[StagePlan]) -> Range | None:
    """Steps that the tightest cap pays for, from the dear case to the cheap one."""
    budget = config.budget
    amounts: list[tuple[float | None, list[Range | None]]] = [
        (budget.max_calls, [_kept(line, s.calls) for line, s in zip(work.stages, stages, strict=True)]),
        (budget.max_tokens, [s.prompt_tokens + s.completion_tokens for s in stages]),
        (budget.max_usd, [s.usd for s in stages]),
    ]
    fits: list[Range] = []
    for cap, parts in amounts:
        known = [(line.when, part) for line, part in zip(work.stages, parts, strict=True) if part is not None]
        if cap is None or len(known) < len(parts):
            continue
        # What an epoch's end takes is spread over the epoch's steps.
        around = total(part for when, part in known if when in ("before", "after"))
        step = total(part for when, part in known if when in ("step", "epoch")).times(1 / work.total_steps)
        dear = _steps_for(cap - around.high, step.high, work.total_steps)
        cheap = _steps_for(cap - around.low, step.low, work.total_steps)
        fits.append(Range(dear, cheap))
    return Range(min(f.low for f in fits), min(f.high for f in fits)) if fits else None


def _kept(line: StageCalls, calls: Range) -> Range:
    """What a cap leaves to no step: the calls of the rule's end are set aside from the start, needed or not."""
    return Range(calls.high, calls.high) if (line.when, line.stage) == ("after", Stage.GATE) else calls


def _steps_for(amount: float, step: float, most: int) -> int:
    if amount <= 0:
        return 0
    return most if step <= 0 else min(most, math.floor(amount / step))


def _remarks(
    config: Config, sizes: Sizes, splits: Splits, work: Workload, fits: Range | None
) -> tuple[list[str], list[str]]:
    warnings = [str(w) for w in splits.manifest.get("warnings", ())]
    refusals: list[str] = []
    if sizes.selection < 2:
        refusals.append(
            "the selection split has 1 item, and one item cannot tell a better skill from a luckier one: "
            f"add items ({SMALL_SPLIT} or more; {_needs(config, 0.2)} show a gain of 20 points)"
        )
    for name, size in (("selection", sizes.selection), ("test", sizes.test)):
        if 1 < size < SMALL_SPLIT or (name == "test" and size == 1):
            proof = name == "selection"
            gain = _proves(config, size) if proof else detectable_gain(size)
            needs = [_needs(config, wanted) if proof else items_for(wanted) for wanted in (0.2, 0.1)]
            least = f"gains below {points_of(gain)} points" if gain < 1 else "no gain at all"
            verb = "stay unseen" if gain < 1 else "can be shown"
            warnings.append(
                f"the {name} split has {size} item{'' if size == 1 else 's'}: {least} {verb}; "
                f"{needs[0]} items show 20 points, {needs[1]} show 10"
            )
    if fits is not None:
        if fits.high < 1:
            refusals.append(
                f"the budget ends before the first of {work.total_steps} steps is done "
                f"(one step takes {_span(work.per_step)} calls): raise budget.max_* or lower train.batch_size"
            )
        elif fits.low < work.total_steps:
            warnings.append(f"the budget pays for {_span(fits)} of {work.total_steps} steps")
    return warnings, refusals


def _span(span: Range) -> str:
    low, high = round(span.low), round(span.high)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def plan_of(work: Work, out_root: Path, *, seeds: int = 1) -> Plan:
    """The forecast, informed by what earlier calls of the same run directory used; with several seeds, of the runs
    below it."""
    config = work.config
    prices = load_prices(Path(config.model.prices) if config.model.prices else None)
    ledger: list[LedgerRow] = []
    for path in [out_root / JOURNAL, *sorted(out_root.glob(f"seed_*/{JOURNAL}") if seeds > 1 else ())]:
        if not path.is_file():
            continue
        # A journal that cannot be read yet (a run killed in its first milliseconds) only means that nothing was
        # observed; opening the run says what is wrong with it, or makes it anew.
        with contextlib.suppress(JournalError):
            journal = Journal.open(path, replay=True)
            try:
                ledger += journal.ledger()
            finally:
                journal.close()
    observed = observed_calls(ledger)
    return make_plan(config, work.env, work.splits, work.initial, prices, observed=observed, seeds=seeds)


def refuse(plan: Plan) -> None:
    """Raises `DataError` with the first reason not to start."""
    if plan.refusals:
        raise DataError(plan.refusals[0])
