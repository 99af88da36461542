"""Write the generated pages of `docs/reference/` from the command line's help and the configuration's schema, and
`docs/llms.txt`, the list of all pages for language models, from the pages' first sentences."""

import re
from pathlib import Path

from skillopt.cli.reference import pages

ROOT = Path(__file__).parents[1]
ORDER = ("guide", "concepts", "sleep", "reference", "decisions")


def llms() -> str:
    """The text of `docs/llms.txt`."""
    lines = [
        "# SkillOpt",
        "",
        "> Trains an agent's skill document on items with right answers, past a gate and a sealed test.",
    ]
    for folder in ORDER:
        lines += ["", f"## {folder.capitalize()}", ""]
        for path in sorted((ROOT / "docs" / folder).rglob("*.md")):
            title, said = first_words(path.read_text(encoding="utf-8"))
            lines.append(f"- [{title}]({path.relative_to(ROOT / 'docs').as_posix()}){f': {said}' if said else ''}")
    lines += ["", "## Besides", "", "- [Glossary](glossary.md): one word for one thing."]
    return "\n".join(lines) + "\n"


def first_words(text: str) -> tuple[str, str]:
    """A page's title and its first sentence."""
    title = re.search(r"^# (.+)$", text, re.M)
    paragraphs = [" ".join(part.split()) for part in text.split("\n\n")]
    plain = next((p for p in paragraphs if re.match(r"[A-Z`*\"]", p) and not p.startswith("```")), "")
    sentence = re.split(r"(?<=[.:])\s", re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", plain))[0]
    return (title[1] if title else "?"), sentence[:200]


if __name__ == "__main__":
    for name, text in pages().items():
        path = Path(__file__).parents[1] / "docs/reference" / name
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path}")
    (ROOT / "docs/llms.txt").write_text(llms(), encoding="utf-8")
    print(f"wrote {ROOT / 'docs/llms.txt'}")
