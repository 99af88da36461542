"""ALFWorld without a game: actions in replies, outcomes, and bad set-ups in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillopt.agents.base import Attempt, EpisodeEnd
from skillopt.core.errors import ConfigError, DataError
from skillopt.core.item import Item
from skillopt.envs.alfworld import adapter
from skillopt.envs.alfworld.adapter import ALFWorldEnv, ALFWorldSettings
from skillopt.envs.alfworld.dataloader import root_of
from skillopt.envs.alfworld.rollout import action_of, score
from tests.envs.conftest import Config, write


@pytest.mark.parametrize(
    ("reply", "action"),
    [
        ("<think>x</think><action>Go to Desk 1</action>", "go to desk 1"),
        ("<action>a</action> no: <ACTION>\n take  mug 1 </Action>", "take mug 1"),
        ("I will look around.", "look"),
        ("", "look"),
        ("<action></action>", "look"),
        ("<action>open", "look"),
    ],
)
def test_a_reply_without_an_action_looks_around(reply: str, action: str) -> None:
    assert action_of(reply) == action


def test_outcomes() -> None:
    def outcome(value: float, ended: str) -> tuple[float, float, str]:
        found = score(Attempt(episode=EpisodeEnd(value, ended, 50, "look")))
        return found.hard, found.soft, found.fail_reason

    assert outcome(1.0, "done") == (1.0, 1.0, "")
    assert outcome(0.0, "turns") == (0.0, 0.0, "Timeout after 50 steps")
    assert outcome(0.0, "done") == (0.0, 0.0, "Episode ended (done) after 50 steps")
    with pytest.raises(DataError, match="was no episode"):
        score(Attempt(text="x"))


def env_of(root: Path, rows: list[dict[str, str]]) -> ALFWorldEnv:
    path = write(root / "items.json", rows)
    config = Config(name="alfworld", data_path=str(path), max_turns=50)
    return ALFWorldEnv(config, ALFWorldSettings(data_root=str(root)))


def test_a_missing_game_names_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "find_spec", lambda name: name)
    for gamefile, words in (("g/game.tw-pddl", "No such file"), ("../game", "leads out of the games' directory")):
        with pytest.raises(DataError, match=words) as refused:
            env_of(tmp_path, [{"id": "a", "gamefile": gamefile, "task_type": "x"}]).load()
        assert "\n" not in str(refused.value)
    with pytest.raises(DataError, match="alfworld-download"):
        env_of(tmp_path, [{"id": "a", "gamefile": "g/game.tw-pddl", "task_type": "x"}]).load()


def test_the_extra_is_named_where_it_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install \"skillopt\[alfworld\]\""):
        env_of(tmp_path, []).load()


def test_an_absent_split_says_what_it_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "find_spec", lambda name: name)
    config = Config(name="alfworld", split_mode="split_dir", split_dir=str(tmp_path / "absent"))
    with pytest.raises(DataError, match=r"absent: env\.split_dir does not exist.*the published path manifest"):
        ALFWorldEnv(config, ALFWorldSettings()).load()


def test_where_the_games_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALFWORLD_DATA", "/games")
    assert (root_of(""), root_of("/mine")) == (Path("/games"), Path("/mine"))
    monkeypatch.delenv("ALFWORLD_DATA")
    assert root_of(" ") == Path("~/.cache/alfworld").expanduser()


def test_another_game_is_another_item(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "find_spec", lambda name: name)
    names = [f"pick_two_obj_and_place-{n}/game.tw-pddl" for n in range(10)]
    for name in names:
        write(tmp_path / name, "{}")
    env = env_of(tmp_path, [{"id": str(n), "gamefile": name} for n, name in enumerate(names)])

    def known() -> dict[str, Item]:
        return {i.id: i for i in env.load().test}

    before = known()
    assert {i.task_type for i in before.values()} == {"pick_two_obj_and_place"}
    changed = next(iter(before))
    (tmp_path / names[int(changed)]).write_text("{} ")
    assert {i for i, item in known().items() if item.digest != before[i].digest} == {changed}
