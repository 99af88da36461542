"""Settings that are fine alone and senseless together, refused before anything is spent.

The schema checks each key by itself; here stands what only shows across sections, or once the environment is known.
"""

from __future__ import annotations

from skillopt.config import Config
from skillopt.config.derived import rule_name
from skillopt.core.errors import ConfigError
from skillopt.envs.base import Env, takes_readout


def refuse_combinations(config: Config, env: Env) -> None:
    """Raises `ConfigError` for the first combination that cannot work."""
    optimizer, gradient, evaluation = config.optimizer, config.gradient, config.evaluation
    if config.train.search == "factorial":
        _refuse_with_factorial(config)
    if config.env.skill_files:
        _refuse_with_files(config)
    compact = optimizer.analyst_profile == "compact"
    if optimizer.skill_update_mode != "patch" and compact:
        raise ConfigError(
            f"optimizer.skill_update_mode={optimizer.skill_update_mode}: the compact analyst profile writes rules only",
            hint="set optimizer.analyst_profile: full, or optimizer.skill_update_mode: patch",
        )
    if optimizer.use_skill_aware_reflection and compact:
        raise ConfigError(
            "optimizer.use_skill_aware_reflection: the compact analyst profile writes rules only, no reminders",
            hint="set optimizer.analyst_profile: full",
        )
    if gradient.use_deep_reflect and compact:
        raise ConfigError(
            "gradient.use_deep_reflect: the compact analyst profile shows answers only, no readout",
            hint="set optimizer.analyst_profile: full",
        )
    if gradient.use_deep_reflect and not takes_readout(env):
        raise ConfigError(
            f"gradient.use_deep_reflect: in this environment ({env.name}) the whole reply is the answer, so the target "
            "cannot be asked for a readout beside it",
            hint="use an answer format with a place of its own (answer_tag, last_line, boxed), or switch it off",
        )
    if evaluation.use_semantic_density and rule_name(config) not in ("strict", "off"):
        raise ConfigError(
            f"evaluation.use_semantic_density: a bonus for words is no measured difference, and gate_rule "
            f"{rule_name(config)} tests nothing else",
            hint="set evaluation.gate_rule: strict, or switch the bonus off",
        )


def _refuse_with_files(config: Config) -> None:
    if config.optimizer.skill_update_mode != "patch":
        raise ConfigError(
            f"optimizer.skill_update_mode={config.optimizer.skill_update_mode}: a rewrite gives one document, and "
            "env.skill_files asks for edits of several files",
            hint="set optimizer.skill_update_mode: patch, or leave env.skill_files blank",
        )
    if config.train.search == "factorial" or config.optimizer.analyst_profile == "compact":
        raise ConfigError(
            "env.skill_files: the factorial search and the compact analyst profile write rules of SKILL.md only",
            hint="set train.search: published and optimizer.analyst_profile: full, or leave env.skill_files blank",
        )


def _refuse_with_factorial(config: Config) -> None:
    if config.optimizer.skill_update_mode != "patch":
        raise ConfigError(
            f"optimizer.skill_update_mode={config.optimizer.skill_update_mode}: the factorial search tries edits",
            hint="set optimizer.skill_update_mode: patch, or train.search: published",
        )
    if not config.evaluation.use_gate:
        raise ConfigError(
            "evaluation.use_gate: false: the factorial search has no result without its one proof",
            hint="set evaluation.use_gate: true, or train.search: published",
        )


def refuse_target(config: Config, target: object) -> None:
    """Raises `ConfigError` where the target cannot be asked what it was deciding on; it says so with an attribute
    `takes_readout = False`."""
    if config.gradient.use_deep_reflect and not getattr(target, "takes_readout", True):
        raise ConfigError(
            f"gradient.use_deep_reflect: the target ({config.model.target_backend}) cannot be asked for a readout",
            hint="choose another target backend, or switch it off",
        )


def without_effect(config: Config) -> list[str]:
    """Settings that this combination leaves without effect, one notice each."""
    optimizer, evaluation = config.optimizer, config.evaluation
    notices: list[str] = []
    rule = rule_name(config)
    if rule == "factorial":
        idle = {
            "optimizer.use_slow_update": optimizer.use_slow_update,
            "optimizer.use_meta_skill": optimizer.use_meta_skill,
            "optimizer.use_meta_reflect": optimizer.use_meta_reflect,
            "optimizer.use_skill_aware_reflection": optimizer.use_skill_aware_reflection,
            "gradient.use_deep_reflect": config.gradient.use_deep_reflect,
            "budget.patience": config.budget.patience,
        }
        notices += [f"{name} has no effect with train.search factorial" for name, value in idle.items() if value]
    if rule in ("strict", "off"):
        idle = {"gate_min_effect": evaluation.gate_min_effect, "gate_shorter_margin": evaluation.gate_shorter_margin}
        why = "with evaluation.gate_rule strict" if rule == "strict" else "while evaluation.use_gate is off"
        notices += [f"evaluation.{name} has no effect {why}" for name, value in idle.items() if value]
    if rule == "off" and evaluation.gate_rule != "strict":
        notices.append(f"evaluation.gate_rule {evaluation.gate_rule} has no effect while evaluation.use_gate is off")
    if optimizer.use_skill_aware_reflection and optimizer.skill_update_mode == "full_rewrite_minibatch":
        notices.append(
            "optimizer.use_skill_aware_reflection has no effect in optimizer.skill_update_mode full_rewrite_minibatch"
        )
    if optimizer.lr_control_mode == "autonomous" and optimizer.skill_update_mode == "full_rewrite_minibatch":
        notices.append("optimizer.lr_control_mode has no effect in optimizer.skill_update_mode full_rewrite_minibatch")
    return notices
