"""SealQA's documented variables for the model that grades."""

from __future__ import annotations

import pytest

from skillopt.config.resolve import resolve
from skillopt.config.sources.environment import read_environment
from skillopt.config.sources.layers import Layer, Origin, Raw
from skillopt.envs.registry import settings_schemas


@pytest.mark.parametrize(
    ("env", "options", "variables", "judge"),
    [
        ("sealqa", {"backend": "openai_chat"}, {"AZURE_MODEL": "a", "MODEL": "m", "OPENAI_MODEL": "o"}, "a"),
        ("sealqa", {"backend": "openai_compatible"}, {"AZURE_MODEL": "a", "MODEL": "m", "OPENAI_MODEL": "o"}, "o"),
        ("sealqa", {"backend": "openai_compatible"}, {"AZURE_MODEL": "a", "MODEL": "m"}, "m"),
        ("sealqa", {"backend": "openai_chat", "judge_backend": "openai_compatible"}, {"OPENAI_MODEL": "o"}, "o"),
        ("sealqa", {"backend": "local"}, {"AZURE_MODEL": "a", "MODEL": "m", "OPENAI_MODEL": "o"}, ""),
        ("babyvision", {"backend": "openai_chat"}, {"AZURE_MODEL": "a", "MODEL": "m"}, ""),
        ("sealqa", {"backend": "openai_chat", "judge": "from-the-file"}, {"MODEL": "m"}, "m"),
    ],
)
def test_the_graders_variables_of_sealqa_name_its_judge_at_the_backend_they_are_for(
    env: str, options: dict[str, str], variables: dict[str, str], judge: str
) -> None:
    entries = [Raw(f"model.{name}", value, Origin("file", "f")) for name, value in options.items()]
    layers = [
        Layer("file", (Raw("env.name", env, Origin("file", "f")), *entries)),
        read_environment({f"SEALQA_GRADER_{name}": value for name, value in variables.items()}),
    ]
    assert resolve(layers, settings_schemas()).config.model.judge == judge


def test_a_flag_is_above_a_graders_variable() -> None:
    flag = Raw("model.judge", "mine", Origin("flag", "--judge_model"))
    layers = [
        Layer("file", (Raw("env.name", "sealqa", Origin("file", "f")),)),
        read_environment({"SEALQA_GRADER_MODEL": "m", "AZURE_OPENAI_DEPLOYMENT": "d"}),
    ]
    assert resolve(layers, settings_schemas()).config.model.judge == "m"
    assert resolve([*layers, Layer("flag", (flag,))], settings_schemas()).config.model.judge == "mine"
