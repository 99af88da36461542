"""Write the generated pages of `docs/reference/` from the command line's help and the configuration's schema."""

from pathlib import Path

from skillopt.cli.reference import pages

if __name__ == "__main__":
    for name, text in pages().items():
        path = Path(__file__).parents[1] / "docs/reference" / name
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path}")
