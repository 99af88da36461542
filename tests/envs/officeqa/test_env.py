"""OfficeQA as an environment: the corpus and its index, the functions, oracle pages, the search service."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from skillopt.core.errors import ConfigError
from skillopt.core.item import Item
from skillopt.core.outcome import Missing, Scored
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.envs.data.loading import read_rows
from skillopt.envs.officeqa import corpus as corpora
from skillopt.envs.officeqa.adapter import OfficeQAEnv, OfficeQASettings
from skillopt.envs.officeqa.corpus import Corpus, Refused, files_with, make_index
from skillopt.envs.officeqa.dataloader import pages_of, several, to_item
from skillopt.envs.officeqa.pages import oracle_pages, rendered
from skillopt.envs.officeqa.search import SearchEpisode, SearchFault, Service, queries_in
from skillopt.envs.rollout import Call, run_one
from skillopt.envs.scoring import Scoring
from skillopt.model.types import ChatReply, ChatRequest, ToolCall, Usage
from skillopt.store.journal import Journal
from tests.envs.conftest import SHARED, Config, Model, write

REAL = SHARED / "tatqa/officeqa_format"
SKILL = Skill("Mind the unit.")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpora.platformdirs, "user_cache_dir", lambda *_, **__: str(tmp_path / "cache"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "docs"
    write(place / "bulletin_1977_03.txt", "Receipts\nin millions\n1976 | 298,060\nmore\n" * 30)
    write(place / "sub/bulletin_1978_01.txt", "Outlays in 1977: 402,725\nÄrger über 5%\n")
    table = (
        "<table><tr><th>Year</th><th colspan='2'>Receipts</th></tr><tr><td>1976</td><td>298|060</td><td>x</td></table>"
    )
    elements = [
        {"content": "Cover", "bbox": [{"page_id": 1}]},
        {"content": f"Table FD-1 {table}", "bbox": [{"page_id": 5}]},
    ]
    write(place / "jsons/bulletin_1977_03.json", {"document": {"elements": elements}})
    rows = [{"uid": f"u{n}", "question": f"What were receipts in 1976 ({n})?", "ground_truth": "298,060 million",
             "category": "easy", "source_files": "bulletin_1977_03.txt",
             "source_docs": f"https://example.org/{n}?page=5"} for n in range(10)]  # fmt: skip
    write(tmp_path / "items.json", rows)
    return place


def env_of(root: Path, **settings: Any) -> OfficeQAEnv:
    config = Config(name="officeqa", data_path=str(root.parent / "items.json"), max_turns=settings.pop("max_turns", 6))
    return OfficeQAEnv(config, OfficeQASettings(data_dirs=(str(root),), **settings))


def item_of(root: Path) -> Item:
    return to_item(read_rows(root.parent / "items.json")[0])


async def rolled(env: OfficeQAEnv, item: Item, model: Model, scoring: Scoring | None = None) -> Rollout:
    return await run_one(env, item, SKILL, model, Call("rollout", scoring=scoring or Scoring()))


def call(name: str, arguments: str) -> ChatReply:
    return ChatReply("", "tool_calls", Usage(1, 1), tool_calls=(ToolCall(f"c-{name}", name, arguments),))


def said(*replies: str | ChatReply) -> Model:
    def answer(request: ChatRequest) -> str | ChatReply:
        return replies[min(sum(m.role == "assistant" for m in request.messages), len(replies) - 1)]

    return Model(answer)


async def test_functions_over_the_items_own_files(root: Path) -> None:
    model = said(
        call("glob", '{"pattern": "*"}'),
        call("grep", '{"pattern": "RECEIPTS", "path": "*"}'),
        call("read", '{"path": "bulletin_1977_03.txt", "start": 3, "limit": 1}'),
        call("read", '{"path": "sub/bulletin_1978_01.txt"}'),
        call("read", '{"path": "bulletin_1977_03.txt", "start": "x"}'),
        "<answer>298,060 million</answer>",
    )
    rollout = await rolled(env_of(root), item_of(root), model)
    assert rollout.outcome == Scored(1.0, 1.0, predicted="298,060 million", detail={"protocol": "oracle_pages"})
    seen = [str(row["obs"]) for row in rollout.trajectory if row.get("type") == "tool_call"]
    assert seen[0] == "bulletin_1977_03.txt"
    assert seen[1].startswith("bulletin_1977_03.txt:1: Receipts") and seen[1].endswith("narrow the text or the path")
    assert seen[2] == "3: 1976 | 298,060"
    assert seen[3].startswith("error: there is no file") and seen[4].startswith("error: start must be a whole number")
    assert rollout.agent["turns"] == 6
    user = str(model.requests[0].messages[1].content)
    assert (
        user.index("What were receipts")
        < user.index("bulletin_1977_03, page 5")
        < user.index("| 1976 | 298\\|060 | x |")
    )
    assert "Mind the unit." in str(model.requests[0].messages[0].content)


async def test_retrieval_is_another_protocol(root: Path) -> None:
    rollout = await rolled(env_of(root, oracle_pages=False), item_of(root), said("I give up."))
    assert isinstance(rollout.outcome, Scored)
    assert rollout.outcome.detail == {"protocol": "retrieval"}
    assert rollout.outcome.fail_reason.startswith("no-answer")
    assert "298" not in rollout.user_prompt


async def test_without_functions_it_is_one_call(root: Path) -> None:
    model = said("298,060")
    rollout = await rolled(env_of(root, use_local_tools=False), item_of(root), model)
    assert isinstance(rollout.outcome, Scored) and rollout.outcome.hard == 1.0
    assert not model.requests[0].tools and len(model.requests) == 1


async def test_broken_calls_go_back_and_out_of_turns_is_cut(root: Path) -> None:
    rollout = await rolled(
        env_of(root, max_turns=2), item_of(root), said(call("glob", "{'pattern'"), call("fly", "{}"))
    )
    seen = [str(row["obs"]) for row in rollout.trajectory if row.get("type") == "tool_call"]
    assert "are not a JSON object" in seen[0] and "there is no tool 'fly'" in seen[1]
    assert isinstance(rollout.outcome, Scored) and rollout.outcome.fail_reason.startswith("out-of-turns: 2")


async def test_a_resumed_item_reads_nothing_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal.open(root.parent / "journal.sqlite3")
    replies = (call("grep", '{"pattern": "receipts", "path": ""}'), "<answer>298060</answer>")
    first = await rolled(env_of(root), item_of(root), said(*replies), Scoring(journal=journal))
    monkeypatch.setattr(Corpus, "grep", None)
    assert await rolled(env_of(root), item_of(root), said(*replies), Scoring(journal=journal)) == first
    journal.close()


async def test_a_broken_page_is_missing(root: Path) -> None:
    (root / "jsons/bulletin_1977_03.json").write_text("{")
    outcome = (await rolled(env_of(root), item_of(root), said("<answer>1</answer>"))).outcome
    assert isinstance(outcome, Missing) and "bulletin_1977_03.json: is not JSON" in outcome.error


def test_no_corpus_is_said_before_the_run(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OFFICEQA_DOCS_DIR", raising=False)
    config = Config(name="officeqa", data_path=str(root.parent / "items.json"))
    for dirs, words in [((), "OFFICEQA_DOCS_DIR is not set"), (("/no/where",), "/no/where is no directory")]:
        with pytest.raises(ConfigError, match=words):
            OfficeQAEnv(config, OfficeQASettings(data_dirs=dirs)).load()
    monkeypatch.setenv("OFFICEQA_DOCS_DIR", str(root))
    assert len(OfficeQAEnv(config, OfficeQASettings()).load().test) == 7


def test_the_index_is_made_once_and_finds_what_a_scan_finds(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Corpus((root,))
    texts = ("outlays", "298,060", "ÄRGER", "no such text", "5%", "1977:")
    scanned = [whole.grep(text) for text in texts]
    place = make_index((root,))
    assert place is not None and place.is_file()
    before = place.stat().st_mtime_ns
    assert make_index((root,)) == place and place.stat().st_mtime_ns == before
    assert [
        Corpus((root,)).grep(text) for text in ("outlays", "298,060", "ÄRGER", "no such text", "5%", "1977:")
    ] == scanned
    assert files_with((root,), "outlays") == {str(root / "sub/bulletin_1978_01.txt")}
    assert files_with((root,), "ÄRGER") is None and files_with((root,), "5%") is None
    read: list[str] = []
    plain = corpora._lines
    monkeypatch.setattr(corpora, "_lines", lambda path: (read.append(path.name), plain(path))[1])
    Corpus((root,)).grep("Outlays")
    assert read == ["bulletin_1978_01.txt"]


def test_limits_and_refusals(root: Path) -> None:
    whole = Corpus((root,))
    assert whole.glob("*1978*") == "sub/bulletin_1978_01.txt" and "no file matches" in whole.glob("zzz")
    assert whole.grep("outlays", "sub").startswith("sub/bulletin_1978_01.txt:1:")
    assert len(whole.read("bulletin_1977_03.txt", 1, 10_000)) <= 4100
    for refused in (lambda: whole.read("/etc/passwd"), lambda: whole.read("bulletin_1977_03.txt", 999),
                    lambda: whole.grep(" "), lambda: whole.grep("x", "nowhere"), lambda: whole.glob("")):  # fmt: skip
        with pytest.raises(Refused):
            refused()


def test_pages_are_cut_and_lists_are_read(root: Path) -> None:
    long = {"document": {"elements": [{"content": "x" * 90_000, "bbox": [{"page_id": n}]} for n in range(1, 9)]}}
    write(root / "jsons/long.json", long)
    text = oracle_pages((root,), [("long", n) for n in range(1, 9)])
    assert len(text) <= 80_100 and text.count("[… cut]") == 4
    assert rendered("plain | text ") == "plain | text"
    assert several('["a", "b"]') == several("a; b") == several(["a", "b"]) == several("a\nb") == ["a", "b"]
    assert pages_of(item_of(root)) == [("bulletin_1977_03", 5)]


@pytest.mark.parametrize(
    ("reply", "queries"),
    [
        ('<search_queries>["a b", "c", "a b"]</search_queries>', ["a b", "c"]),
        ("<search_queries>\n- one\n2. two\n</search_queries>", ["one", "two"]),
        ("<SEARCH_QUERIES>one\ntwo\nthree\nfour\nfive</search_queries>", ["one", "two", "three", "four"]),
        ("none", []),
        ("<search_queries>open", []),
    ],
)
def test_queries(reply: str, queries: list[str]) -> None:
    assert queries_in(reply) == queries


class Service503:
    """Refuses twice, then answers; keeps what it was asked."""

    def __init__(self, *statuses: int) -> None:
        self.statuses, self.asked = list(statuses), list[Any]()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append((json.loads(request.content), request.headers.get("Authorization")))
        status = self.statuses.pop(0) if self.statuses else 200
        return httpx.Response(status, json={"results": [{"title": "FD-1", "url": "u", "snippet": "298,060"}]})


async def searched(service: Service503, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("OFFICEQA_SEARCH_API_KEY", "key-1")
    episode = SearchEpisode(Service("http://service/search", provider="p", first_wait_s=0), rounds=3)
    await episode.reset(1)
    assert episode._client is not None
    headers = episode._client.headers
    await episode._client.aclose()
    episode._client = httpx.AsyncClient(transport=httpx.MockTransport(service), headers=headers)
    try:
        return (await episode.step('<search_queries>["receipts 1976"]</search_queries>')).observation
    finally:
        await episode.close()


async def test_the_search_service_is_asked_again_when_it_is_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service503(503, 429, 408)
    assert "1. FD-1 u\n298,060" in await searched(service, monkeypatch)
    assert service.asked == [({"query": "receipts 1976", "max_num_results": 5, "provider": "p"}, "Bearer key-1")] * 4
    for statuses, tries in (((500,) * 4, 4), ((401,), 1)):
        service = Service503(*statuses)
        with pytest.raises(SearchFault, match=f"{statuses[0]}"):
            await searched(service, monkeypatch)
        assert len(service.asked) == tries


async def test_a_search_service_that_is_gone_is_missing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refused(self: SearchEpisode, body: Any) -> str:
        raise SearchFault("the search service http://x: ConnectError")

    monkeypatch.setattr(SearchEpisode, "_posted", refused)
    env = env_of(root, search_mode="custom_search", search_url="http://127.0.0.1:9/search")
    outcome = (await rolled(env, item_of(root), said('<search_queries>["a"]</search_queries>'))).outcome
    assert isinstance(outcome, Missing) and "the search service http://x: ConnectError" in outcome.error
    with pytest.raises(ConfigError, match=r"needs env\.search_url"):
        env_of(root, search_mode="custom_search").load()


async def test_the_last_round_must_answer(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def found(self: SearchEpisode, query: str) -> str:
        return f"about {query}"

    monkeypatch.setattr(SearchEpisode, "_found", found)
    env = env_of(root, search_mode="custom_search", search_url="http://127.0.0.1:9/s", max_turns=3)
    model = said(
        '<search_queries>["a"]</search_queries>', '<search_queries>["b"]</search_queries>', "<answer>298060</answer>"
    )
    rollout = await rolled(env, item_of(root), model)
    assert isinstance(rollout.outcome, Scored) and rollout.outcome.hard == 1.0
    told = [str(m.content) for m in model.requests[-1].messages if m.role == "user"]
    assert told[1] == "## a\n\nabout a" and told[2].endswith("the next reply must hold the answer in answer tags.")


@pytest.mark.skipif(not REAL.is_dir(), reason=f"{REAL}: the real items are not on this machine")
def test_real_items_are_read_and_found() -> None:
    config = Config(name="officeqa", split_mode="split_dir", split_dir=str(REAL))
    env = OfficeQAEnv(config, OfficeQASettings(data_dirs=(str(REAL / "docs"),)))
    splits = env.load()
    assert [len(s) for s in (splits.train, splits.selection, splits.test)] == [34, 17, 121]
    item = splits.train[0]
    assert item.task_type in ("easy", "hard")
    assert list(env.given_files(item)) == [f"docs/{item.data['source_files'][0]}"]
    held = Corpus((REAL / "docs",), frozenset(str(n) for n in item.data["source_files"]))
    assert held.read(str(item.data["source_files"][0])).startswith("1: ")
