"""How a survey looks on a screen and in `--json`: sessions by source and class, clusters, drafts, what waits."""

from __future__ import annotations

from collections.abc import Iterator

from skillopt.core.json_types import JsonValue
from skillopt.sleep.mining.clusters import Cluster
from skillopt.sleep.redact import clean
from skillopt.sleep.survey import Survey

_SHOWN = 20


def survey_lines(survey: Survey) -> Iterator[str]:
    """What was read and what keeps coming back."""
    for source in survey.report.sources:
        if source.files or source.name in survey.by_origin:
            classes = survey.by_origin.get(source.name, {})
            kept = ", ".join(f"{n} {origin}" for origin, n in sorted(classes.items())) or "none"
            yield f"{source.name}: {kept}  ({source.files} files, {source.opened} opened{_skipped(source.outcomes)})"
    for warning in survey.report.warnings:
        yield f"WARNING {warning}"
    if not any(source.files for source in survey.report.sources):
        places = ", ".join(str(place) for source in survey.report.sources for place in source.places)
        yield f"no session files found; looked in {places}"
    chosen = survey.selection
    yield (
        f"{len(chosen.clusters)} kinds of request come back ({chosen.too_rare} came once), "
        f"{len(chosen.drafts)} sessions to learn from"
    )
    for cluster in chosen.clusters[:_SHOWN]:
        yield f"  {cluster.support:3} sessions, {cluster.corrected} corrected: {title(cluster)}  [{cluster.id}]"
    if chosen.left_out:
        yield f"  {len(chosen.left_out)} more kinds wait for the next night"


def survey_json(survey: Survey) -> dict[str, JsonValue]:
    """The same for a program."""
    chosen = survey.selection
    clusters: list[JsonValue] = [
        {"id": c.id, "title": title(c), "support": c.support, "corrected": c.corrected, "sessions": list(c.sessions)}
        for c in chosen.clusters
    ]
    return {
        "sessions_by_class": {source: dict(origins) for source, origins in survey.by_origin.items()},
        "n_sessions": survey.sessions,
        "files": {s.name: {"files": s.files, "opened": s.opened, **dict(s.outcomes)} for s in survey.report.sources},
        "warnings": list(survey.report.warnings),
        "clusters": clusters,
        "n_tasks": len(chosen.drafts),
        "n_pairs": sum(draft.is_pair for draft in chosen.drafts),
        "left_out": list(chosen.left_out),
        "too_rare": chosen.too_rare,
    }


def title(cluster: Cluster) -> str:
    """The cluster's name, else its first request on one line."""
    return cluster.name or clean(" ".join(cluster.members[0].opening.split()), 80)


def _skipped(outcomes: dict[str, int]) -> str:
    words = {
        "other_project": "of other projects", "no_project": "without a directory", "not_understood": "not understood",
        "bad_time": "with a bad time", "unreadable": "unreadable",
    }  # fmt: skip
    return "".join(f", {outcomes[name]} {said}" for name, said in words.items() if outcomes.get(name))
