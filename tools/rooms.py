"""The map of the code, read from its charters: ``docs/internals/rooms.md`` and ``docs/internals/layers.svg``.

A room is a package or a module whose docstring has a line ``May import:``. That docstring is its charter. Sentences of
these forms are read from it, and tests/test_rooms.py compares them with the code:

- "May import: ``a``, ``b``.": the room may import these rooms, and what these may import. "May import: nothing.": none.
- "No Spark, no storage." and "No ``store.read``.": nothing that the room imports leads there. FENCES has the words.
- "Libraries: ``a``; ``b`` in ``module``.": third-party libraries that only rooms with such a sentence import.

The second and the third also stand in the docstring of a package, for all rooms below it.

``./dev docs`` and ``python tools/rooms.py`` write both files.
"""

from __future__ import annotations

import ast
import functools
import re
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "paimon_spark"
PAGE = ROOT / "docs/internals/rooms.md"
PICTURE = ROOT / "docs/internals/layers.svg"
ENTRIES = {PACKAGE, f"{PACKAGE}.__main__"}  # they are in no room
COMMON = {"numpy", "pyarrow"}  # libraries that any room may import, unless a fence keeps them out


@dataclass(frozen=True)
class Fence:
    """What "No <word>" in a charter keeps out.

    Attributes:
        modules: that nothing in the room leads to, through all its imports.
        own: that no module of the room itself imports.
        uses: functions, and attributes with a dot before them, that no module of the room itself uses.
    """

    modules: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()


_STORAGE = (f"{PACKAGE}.file_io", "obstore", "socket", "subprocess", "urllib3")
_OWN_FILES = ("pathlib", "shutil", "tempfile", "glob")
_OPENED = ("open", ".read_text", ".write_text", ".write_bytes", ".listdir", ".scandir", ".unlink", ".urlopen")
_WRITES = (".open_output", ".write_bytes", ".create_if_absent", ".overwrite", ".delete", ".delete_many")
_MOVES = (".make_directory", ".move_directory", ".move_file", ".delete_directory", ".remove_empty_directory")
_JVM = ("._jvm", "._jdf", "._jsparkSession", "._sc", ".sparkContext", ".rdd")
FENCES = {
    "Spark": Fence(modules=("pyspark", "py4j", f"{PACKAGE}.spark")),
    "Arrow": Fence(modules=("pyarrow",)),
    "storage": Fence(modules=_STORAGE, own=_OWN_FILES, uses=_OPENED),
    "clock": Fence(own=("time",), uses=(".now", ".utcnow", ".today")),
    "writes": Fence(uses=_WRITES + _MOVES),
    "JVM": Fence(modules=("py4j",), uses=_JVM),
}


@dataclass(frozen=True)
class Charter:
    """What the docstring of a room, or of a package of rooms, says.

    Attributes:
        name: without the name of the product: ``store.commit``.
        text: the docstring.
        imports: the rooms that it names; None for a package that is no room.
        without: the words of its fences.
        libraries: the modules that import a library, by its name; no module stands for all.
    """

    name: str
    text: str
    imports: tuple[str, ...] | None
    without: tuple[str, ...]
    libraries: Mapping[str, tuple[str, ...]]

    @property
    def title(self) -> str:
        return " ".join(self.text.partition("\n\n")[0].split())


_WORD = r"(?:``[\w.]+``|[\w/]+(?: \w+)?)"


def charter(name: str, text: str) -> Charter:
    flat = " ".join(text.split())
    imports = re.search(r"May import: (.*?)\.(?=\s|$)", flat)
    libraries = re.search(r"Libraries: (.*?)\.(?=\s|$)", flat)
    fences = re.findall(rf"(?:^|[.] )No ({_WORD}(?:, no {_WORD})*)[.](?=\s|$)", flat)
    return Charter(
        name,
        text,
        None if imports is None else _names(imports[1]),
        tuple(word.strip("` ") for fence in fences for word in re.split(r", no ", fence)),
        {} if libraries is None else _libraries(libraries[1]),
    )


def _names(text: str) -> tuple[str, ...]:
    """The names of a list; anything else between them is no list."""
    names = tuple(re.findall(r"``([\w.]+)``", text))
    if text != ("nothing" if not names else ", ".join(f"``{name}``" for name in names)):
        raise ValueError(f"{text!r} is not a list of names such as ``a``, ``b``")
    return names


def _libraries(text: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for part in text.split("; "):
        names, _, modules = part.partition(" in ")
        found |= dict.fromkeys(_names(names), _names(modules) if modules else ())
    return found


@functools.cache
def charters() -> Mapping[str, Charter]:
    """The charters of rooms and of packages of rooms, by name, those of the ground first."""
    found = {}
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        if module in ENTRIES:
            continue
        name = module.removeprefix(f"{PACKAGE}.")
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        try:
            read = charter(name, text)
        except ValueError as error:
            raise ValueError(f"the charter of {name}: {error}") from None
        if path.name == "__init__.py" or read.imports is not None:
            found[name] = read
    floors = {name: _floor(name, found) for name in found}
    return dict(sorted(found.items(), key=lambda item: (floors[item[0]], item[0])))


def rooms() -> dict[str, Charter]:
    return {name: read for name, read in charters().items() if read.imports is not None}


def room_of(module: str) -> str | None:
    """The room of a module: the module itself, or the package that is nearest."""
    name = module.removeprefix(f"{PACKAGE}.")
    while name and name not in charters():
        name = name.rpartition(".")[0]
    return name if name in rooms() else None


def may_import(room: str) -> frozenset[str]:
    """All rooms that a room may import."""
    named = rooms()[room].imports or ()
    return frozenset(named).union(*(may_import(name) for name in named))


def above(room: str) -> list[Charter]:
    """The charters whose fences and libraries hold for a room: its own, and those of the packages around it."""
    parts = room.split(".")
    names = (".".join(parts[:count]) for count in range(1, len(parts) + 1))
    return [charters()[name] for name in names if name in charters()]


def _floor(name: str, found: Mapping[str, Charter], path: tuple[str, ...] = ()) -> int:
    """How many rooms stand below a room, one on the other."""
    if name in path:
        raise ValueError(f"the charters form a circle: {' -> '.join((*path, name))}")
    named = found[name].imports or ()
    unknown = [other for other in named if other not in found or found[other].imports is None]
    if unknown:
        raise ValueError(f"the charter of {name} names {unknown}, which are no rooms")
    return max((_floor(other, found, (*path, name)) + 1 for other in named), default=0)


# The page


def page() -> str:
    floors: dict[int, list[str]] = {}
    for name in rooms():
        floors.setdefault(_floor(name, charters()), []).append(name)
    lines = [_HEAD, "## Floors", "", "| floor | rooms |", "|---|---|"]
    lines += [f"| {floor} | {_listed(floors[floor])} |" for floor in sorted(floors, reverse=True)]
    lines += ["", "## Libraries", "", _LIBRARIES, "", "| library | imported by |", "|---|---|"]
    homes: dict[str, list[str]] = {}
    for read in charters().values():
        for library, modules in read.libraries.items():
            homes.setdefault(library, []).append(_home(read.name, modules))
    lines += [f"| `{library}` | {'; '.join(homes[library])} |" for library in sorted(homes)]
    lines += ["", "## Charters", ""]
    for package in packages():
        for read in charters().values():
            if read.name.split(".")[0] == package:
                lines += [f"### `{read.name}`", "", markdown(read.text), ""]
    return "\n".join(lines)


_HEAD = """# Rooms

<!-- Written by tools/rooms.py from the docstrings of the packages; ./dev docs writes it again. -->

A room is a folder of modules with one subject, or a module that stands alone. Its charter is the docstring of its
`__init__.py`: what lives there, what it may import, and what it keeps true. This page is written from the charters, and
`tests/test_rooms.py` compares them with the code.

- **May import** names rooms. A room may import these, and what these may import. The list is the shortest one: the room
  imports each room of it, and no room of it is implied by another.
- **No** (Spark, storage, Arrow, or a room): nothing that the room imports leads there. **No** (clock, writes, JVM): no
  module of the room calls them. Without the JVM of classic Spark, the same code runs on Spark Connect.
- **Libraries** are imported by this room, and otherwise only by rooms that say the same. This and **No** also hold for
  the rooms within a package: `format` says for all of `format.avro` that it has no clock.
- An **invariant** is what the room keeps true, whatever its callers do.

The floor of a room is the number of rooms that stand below it, one on the other. Rooms of one floor do not import each
other.
"""
_LIBRARIES = (
    """Any room may import `numpy`, and any but those with "No Arrow" `pyarrow`. Every other library has a home."""
)


def packages() -> list[str]:
    """The outermost folders and modules, the highest first."""
    tops = list(dict.fromkeys(name.split(".")[0] for name in charters()))
    return sorted(tops, key=lambda top: (-package_floors()[top], top))


def package_floors() -> dict[str, int]:
    below: dict[str, set[str]] = {}
    for name, read in charters().items():
        top = name.split(".")[0]
        below.setdefault(top, set()).update(other.split(".")[0] for other in read.imports or ())

    def floor(top: str, path: tuple[str, ...] = ()) -> int:
        if top in path:
            raise ValueError(f"the charters form a circle of packages: {' -> '.join((*path, top))}")
        return max((floor(other, (*path, top)) + 1 for other in below[top] - {top}), default=0)

    return {top: floor(top) for top in below}


def markdown(text: str) -> str:
    """A docstring as Markdown: code in single ticks, blocks behind ``::`` fenced, a paragraph in one line."""
    parts = []
    literal = False
    for block in text.split("\n\n"):
        if literal:
            parts.append(f"```text\n{textwrap.dedent(block)}\n```")
            literal = False
            continue
        literal = block.endswith("::")
        line = re.sub(r"``([^`]+)``", r"`\1`", " ".join(block.split()))
        line = line.removesuffix(":") if literal else line
        parts.append(re.sub(r"(?:^| )((?:May import|Libraries|Invariants?):) ", r"\n\n**\1** ", line).strip())
    return "\n\n".join(parts)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _home(room: str, modules: Iterable[str]) -> str:
    return f"`{room}`" + (f" ({_listed(modules)})" if modules else "")


# The picture

_WIDTH, _LEFT, _GAP = 760, 44, 12


def picture() -> str:
    """The packages in rows; each imports from the rows below it."""
    rows: dict[int, list[str]] = {}
    for package, floor in package_floors().items():
        rows.setdefault(floor, []).append(package)
    lines = []
    y = _GAP
    for floor in sorted(rows, reverse=True):
        names = sorted(rows[floor])
        width = (_WIDTH - _LEFT - _GAP * len(names)) // len(names)
        texts = {name: _wrapped(name, width) for name in names}
        height = 38 + 15 * max(map(len, texts.values()))
        for place, name in enumerate(names):
            lines += _box(_LEFT + place * (width + _GAP), y, width, height, name, texts[name])
        y += height + _GAP
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {y}" width="{_WIDTH}" height="{y}"'
        ' font-family="sans-serif" font-size="12">',
        f'  <rect width="{_WIDTH}" height="{y}" fill="#ffffff"/>',
        f'  <path d="M16 {_GAP}V{y - _GAP}m-5-9 5 9 5-9" stroke="#546e7a" stroke-width="1.5" fill="none"/>',
        f'  <text x="30" y="{y // 2}" transform="rotate(-90 30 {y // 2})" text-anchor="middle">'
        "each imports only from the rows below it</text>",
    ]
    return "\n".join([*head, *lines, "</svg>", ""])


def _wrapped(name: str, width: int) -> list[str]:
    title = charters()[name].title.replace("``", "").removesuffix(".")
    return textwrap.wrap(title, int((width - 20) / 7))  # about 7 pixels a letter


def _box(x: int, y: int, width: int, height: int, name: str, texts: Iterable[str]) -> list[str]:
    return [
        f'  <rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" fill="#e1f5fe" stroke="#546e7a"/>',
        f'  <text x="{x + 12}" y="{y + 21}" font-size="15" font-weight="bold" fill="#263238">{name}</text>',
        *(
            f'  <text x="{x + 12}" y="{y + 39 + 15 * line}" fill="#263238">{escape(text)}</text>'
            for line, text in enumerate(texts)
        ),
    ]


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")
    PICTURE.write_text(picture(), encoding="utf-8")


if __name__ == "__main__":
    main()
