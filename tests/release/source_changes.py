"""Small changes to source code that a test should notice: the mutants of ``mutation_share``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}

SIZES = frozenset({
    "APPEND_BUFFER_BYTES", "BATCH_ROWS", "COMMIT_BYTES", "GROUP_BYTES", "GROUP_HASHES", "KEPT_HASHES",
    "KEYS_AT_ONCE", "LEAST_BATCH_ROWS", "MAX_KEYS", "MAX_OPEN_FILES", "MAX_PROCESSES", "MEMORY_BYTES", "MOST_BYTES",
    "MOST_KEYS", "MOST_RANGES", "MOST_ROWS_KEPT", "MOST_ROWS_READ", "MOST_RUNS", "MOVE_THREADS", "NEAR_ROWS",
    "RANGE_BYTES", "READ_THREADS", "RUN_BYTES", "SAMPLED_FILES", "SAMPLED_FILES_OF_RANGE", "SAMPLED_ROWS",
    "SLICE_ROWS", "SMALL_BYTES", "SOURCE_BYTES", "TASK_BYTES", "THREADS", "WAITING_BYTES", "WAVES_AT_ONCE",
    "WAVE_TASKS", "WRITE_THREADS", "_AT_ONCE", "_BATCH_BYTES", "_BATCH_ROWS", "_BLOCK", "_BULK", "_CACHED_UNITS",
    "_CELL_BITS", "_CHUNK", "_GROWTH", "_HELD_ROWS", "_INDEX_FILE_COST", "_KEPT_HASHES", "_LEAST_LEADING",
    "_LEAST_PIECE", "_LEAST_SLICE_ROWS", "_LOOKAHEAD", "_MANIFESTS", "_MANIFEST_BYTES", "_META_BYTES",
    "_OPEN_BYTES", "_OPEN_FILES", "_PARSED",
    "_PIECE", "_PIECES", "_PROBES", "_PROBE_ROWS", "_SHARE_BYTES", "_SNAPSHOT_BYTES", "_TASK_BYTES", "_THREADS",
    "_UNPACKED",
})  # fmt: skip
"""Constants of modules that say how much is done at once: another number gives the same result."""


@dataclass(frozen=True)
class Mutation:
    """One change of one file.

    Attributes:
        kind: what was done, such as "comparison".
        line: of the file, from 1.
        before, after: the code, as ``ast.unparse`` prints it.
        source: the whole file after the change; its comments are lost.
    """

    kind: str
    line: int
    before: str
    after: str
    source: str


def count_places(source: str) -> int:
    """Counts the changes that can be made to a file.

    Messages, docstrings, annotations and logging stay. So does what no result depends on: SIZES, and ``strict`` of zip,
    which looks for an error that the code does not have.
    """
    return sum(1 for _ in _places(ast.parse(source)))


def mutate(source: str, index: int) -> Mutation:
    """Makes one of the changes of a file; index: from 0, below count_places."""
    tree = ast.parse(source)
    kind, node, parent, field, position, new = list(_places(tree))[index]
    before, after = ast.unparse(node), ast.unparse(new)
    _put(parent, field, position, new)
    return Mutation(kind, node.lineno, before, after, ast.unparse(ast.fix_missing_locations(tree)))


_Place = tuple[str, ast.stmt | ast.expr, ast.AST, str, int | None, ast.stmt | ast.expr]


def _put(parent: ast.AST, field: str, position: int | None, new: ast.AST) -> None:
    if position is None:
        setattr(parent, field, new)
    else:
        getattr(parent, field)[position] = new


def _places(tree: ast.AST) -> Iterator[_Place]:
    for field, value in ast.iter_fields(tree):
        children = value if isinstance(value, list) else [value]
        for position, child in enumerate(children):
            if not isinstance(child, ast.AST) or _is_left_alone(tree, field, child):
                continue
            if isinstance(child, ast.stmt | ast.expr):
                for kind, new in _changes(tree, field, child):
                    yield kind, child, tree, field, position if isinstance(value, list) else None, new
            yield from _places(child)


def _is_left_alone(parent: ast.AST, field: str, child: ast.AST) -> bool:
    if field in ("annotation", "returns", "decorator_list", "bases", "msg", "exc", "cause", "keywords"):
        return field != "keywords" or not isinstance(parent, ast.Call) or getattr(child, "arg", None) == "strict"
    if isinstance(child, ast.Import | ast.ImportFrom | ast.JoinedStr | ast.Assert):
        return True
    if isinstance(parent, ast.Module) and isinstance(child, ast.Assign) and ast.unparse(child.targets[0]) in SIZES:
        return True
    if isinstance(child, ast.If) and ast.unparse(child.test) in ("TYPE_CHECKING", "__name__ == '__main__'"):
        return True
    if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
        return True  # a docstring
    if isinstance(child, ast.Call):
        called = ast.unparse(child.func)
        return called.startswith(("_log.", "warnings.")) or called in ("cast", "TypeVar", "NewType")
    return False


def _changes(parent: ast.AST, field: str, node: ast.AST) -> Iterator[tuple[str, ast.stmt | ast.expr]]:
    match node:
        case ast.Compare(left, [operator], [right]) if type(operator) in COMPARISONS:
            yield "comparison", ast.Compare(left, [COMPARISONS[type(operator)]()], [right])
        case ast.BoolOp(operator, values):
            yield "and/or", ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values)
        case ast.UnaryOp(ast.Not(), operand):
            yield "not", operand
        case ast.BinOp(left, operator, right) if type(operator) in OPERATORS and not _is_text(left, right):
            yield "arithmetic", ast.BinOp(left, OPERATORS[type(operator)](), right)
        case ast.Constant(bool() as value):
            yield "constant", ast.Constant(not value)
        case ast.Constant(int() as value):
            yield "constant", ast.Constant(value + 1)
        case ast.If(test, body, orelse):
            yield "condition", ast.If(ast.UnaryOp(ast.Not(), test), body, orelse)
        case ast.IfExp(test, body, orelse):
            yield "condition", ast.IfExp(test, orelse, body)
        case ast.Raise():
            yield "no raise", ast.Pass()
        case ast.Return(ast.expr() as value) if not isinstance(value, ast.Constant):
            yield "return None", ast.Return(ast.Constant(None))
        case ast.Expr(ast.Call(func)) if not ast.unparse(func).startswith("_log."):
            yield "no call", ast.Expr(ast.Constant(None))
        case ast.Continue():
            yield "break", ast.Break()


def _is_text(*sides: ast.expr) -> bool:
    return any(
        isinstance(side, ast.JoinedStr) or isinstance(getattr(side, "value", None), str | bytes) for side in sides
    )
