"""Run as a script within a sandbox: a solution with INPUT_PATH and OUTPUT_PATH set to this case's files.

`run_solution.py solution.py input.xlsx output.xlsx`. The solution is compiled as the file it is, so strings over
several lines and `from __future__` stay what they are. Whatever it assigns to the two names itself is replaced by this
case's paths, in whichever form it is written. Imports nothing of the package.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import cast

NAMES = ("INPUT_PATH", "OUTPUT_PATH")


class Paths(ast.NodeTransformer):
    """Replaces what is assigned to the two names."""

    def __init__(self, values: dict[str, str]) -> None:
        self._values = values

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        """`INPUT_PATH = …`, `INPUT_PATH = OUTPUT_PATH = …`, `INPUT_PATH, OUTPUT_PATH = …`."""
        bound = [n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)]
        ours = [name for name in bound if name in NAMES]
        if not ours:
            return self.generic_visit(node)
        fixed: list[ast.stmt] = [ast.copy_location(self._fixed(name), node) for name in ours]
        return fixed if len(ours) == len(bound) else [node, *fixed]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """`INPUT_PATH: str = …`."""
        if isinstance(node.target, ast.Name) and node.target.id in NAMES and node.value is not None:
            node.value = ast.Constant(self._values[node.target.id])
        return node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.AST:
        """`(INPUT_PATH := …)`."""
        if node.target.id in NAMES:
            node.value = ast.Constant(self._values[node.target.id])
            return node
        return self.generic_visit(node)

    def _fixed(self, name: str) -> ast.Assign:
        return ast.Assign([ast.Name(name, ast.Store())], ast.Constant(self._values[name]))


def main(arguments: list[str]) -> None:
    """See the module."""
    solution, given, wanted = arguments
    values: dict[str, str] = dict(zip(NAMES, (given, wanted), strict=True))
    tree = ast.parse(Path(solution).read_bytes(), filename=solution)
    tree = cast("ast.Module", ast.fix_missing_locations(Paths(values).visit(tree)))
    sys.argv = [solution, given, wanted]
    exec(compile(tree, solution, "exec"), {"__name__": "__main__", "__file__": solution, **values})


if __name__ == "__main__":
    main(sys.argv[1:])
