"""A solution with one small mistake after another. A good grader rejects all of them.

A mutant changes one place of one function: a number by one, an operator, a bound, two partners exchanged, a statement
left out. Its name is what it does to the line, such as "right = (rank + 1) % P  ->  right = (rank + 2) % P". A few
mutants compute the same as the original; tests list those by name, with the reason.
"""

from __future__ import annotations

import ast
import copy
import pickle
from collections.abc import Callable, Iterator

SWAPS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
PARTNERS = ("dest", "source")


def mutants(source: str, function: str) -> Iterator[tuple[str, str]]:
    """Yield (name, source text) of every mutant of a function, each name once."""
    target = next(
        node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name == function
    )
    lines = source.splitlines()
    before, after = lines[: target.lineno - 1], lines[target.end_lineno :]
    seen, statements = {ast.unparse(target)}, _statements(target)
    frozen = pickle.dumps((target, statements))  # to load it takes a tenth of copy.deepcopy's time
    for index, statement in enumerate(statements):
        for change in _changes(statement):
            mutant, copies = pickle.loads(frozen)
            place = copies[index]
            change(place)
            text = ast.unparse(mutant)
            if text not in seen:
                seen.add(text)
                yield f"{_head(statement)}  ->  {_head(place)}", "\n".join([*before, text, *after, ""])


def _statements(function: ast.FunctionDef) -> list[ast.stmt]:
    """All statements of a function in a fixed order, docstrings left out."""
    nodes = [node for node in ast.walk(function) if isinstance(node, ast.stmt) and node is not function]
    return [node for node in nodes if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))]


def _head(statement: ast.stmt) -> str:
    """The first line of a statement."""
    return ast.unparse(statement).splitlines()[0]


def _changes(statement: ast.stmt) -> Iterator[Callable[[ast.stmt], None]]:
    """Functions that change a copy of the statement in one place; statements inside it have their own."""
    for number, node in enumerate(_expressions(statement)):
        for edit in _edits(node):
            yield lambda place, number=number, edit=edit: edit(_expressions(place)[number])
    if isinstance(statement, ast.AugAssign):
        yield _forget_to_add
    if not isinstance(statement, ast.FunctionDef):
        yield _leave_out


def _expressions(statement: ast.stmt) -> list[ast.AST]:
    """The statement and the expressions in it, without the statements inside it."""
    inside = [statement]
    for node in inside:
        inside += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt)]
    return inside


def _edits(node: ast.AST) -> Iterator[Callable[[ast.AST], None]]:
    """Small mistakes in one node."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield lambda n: setattr(n, "value", n.value + 1)
        yield lambda n: setattr(n, "value", n.value - 1)
    if type(getattr(node, "op", None)) in SWAPS:
        yield lambda n: setattr(n, "op", SWAPS[type(n.op)]())
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        yield lambda n: n.ops.__setitem__(0, SWAPS[type(n.ops[0])]())
    if isinstance(node, ast.BinOp):
        yield lambda n: _become(n, n.left)
    if isinstance(node, ast.Call):
        if {keyword.arg for keyword in node.keywords} >= set(PARTNERS):
            yield _exchange_partners
        if isinstance(node.func, ast.Attribute) and not node.args and not node.keywords:
            yield lambda n: _become(n, n.func.value)  # x.copy() -> x
        if isinstance(node.func, ast.Name) and node.func.id == "range" and len(node.args) == 1:
            yield lambda n: _nudge(n, ast.Add())  # range(n) -> range(n + 1)
            yield lambda n: _nudge(n, ast.Sub())


def _become(node: ast.AST, other: ast.AST) -> None:
    """Put another expression in the place of this one."""
    other = copy.deepcopy(other)
    node.__class__ = other.__class__
    node.__dict__ = other.__dict__


def _nudge(call: ast.Call, op: ast.operator) -> None:
    call.args[0] = ast.BinOp(call.args[0], op, ast.Constant(1))


def _exchange_partners(call: ast.Call) -> None:
    for keyword in call.keywords:
        if keyword.arg in PARTNERS:
            keyword.arg = PARTNERS[1 - PARTNERS.index(keyword.arg)]


def _forget_to_add(statement: ast.AugAssign) -> None:
    """a += b  ->  a = b"""
    _become(statement, ast.Assign([statement.target], statement.value, lineno=statement.lineno))


def _leave_out(statement: ast.stmt) -> None:
    _become(statement, ast.Pass())
