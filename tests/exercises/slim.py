"""The part of a solution's file that one exercise needs: much less to read and to compile.

Thousands of variations of a solution are graded, each in a file, and a chapter's file has the solutions of all others.
"""

import ast


def slim(text: str, name: str) -> str:
    """The file with lines left empty where it defines functions and classes that `name` does not come to use.

    Imports and assignments stay, and so do the numbers of the lines. Of two definitions the last one counts.
    """
    body = ast.parse(text).body
    defined = {node.name: node for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    needed: set[ast.AST] = {node for node in body if not isinstance(node, ast.FunctionDef | ast.ClassDef)}
    new = needed | {defined[name]}
    while new:
        needed |= new
        new = {defined[used] for node in new for used in _names(node) if used in defined} - needed
    lines = text.split("\n")
    for node in (node for node in body if node not in needed):
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        lines[first - 1 : node.end_lineno] = [""] * (node.end_lineno - first + 1)
    return "\n".join(lines)


def _names(node: ast.AST) -> set[str]:
    return {inside.id for inside in ast.walk(node) if isinstance(inside, ast.Name)}
