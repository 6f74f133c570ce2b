"""Pages of the documentation that are written from the code when the site is built: a hook of mkdocs (mkdocs.yml).

- ``reference/options.md``: the catalogue of options, with what docs/internals/features.md says of each;
- ``reference/cli.md``: the commands of the program, from their own help;
- ``reference/procedures.md``: the procedures with their arguments, from their declarations;
- ``reference/system-tables.md``: the system tables and their columns;
- ``changelog.md``: CHANGELOG.md.

In ``reference/python-api.md`` the methods of a class stand under the groups that its docstring names.

It also lets the pages load the script that the search needs from the site itself, and not from the net.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from paimon_spark import __version__  # noqa: E402
from paimon_spark.cli.command_list import COMMANDS  # noqa: E402
from paimon_spark.cli.program import Commands  # noqa: E402
from paimon_spark.format.options.catalogue import CATALOGUE, IMMUTABLE_OPTIONS, Status  # noqa: E402
from paimon_spark.format.options.described import choices_of, default_text, option_type  # noqa: E402
from paimon_spark.format.options.option import Moment  # noqa: E402
from paimon_spark.format.options.table_settings import TABLE_OPTIONS  # noqa: E402
from paimon_spark.procedures.catalogue import DATABASE_PROCEDURES, GROUPS, PROCEDURES  # noqa: E402
from paimon_spark.procedures.procedure import (  # noqa: E402  # noqa: E402
    OPTIONS,
    Declaration,
    Declared,
    arguments_of,
    common_arguments,
    description,
    name_of,
    sentence,
    sql_signature,
)
from paimon_spark.store.system_tables.names import NAMES  # noqa: E402
from paimon_spark.store.system_tables.table import METADATA_TABLES  # noqa: E402

PAGES = ROOT / "docs"

OTHERS = "Others"
_SECTIONS = {  # the headings of the notes, where a user looks for something shorter
    "Table identity, keys, partition declaration": "Table, keys and partitions",
    "Bucketing and data layout": "Buckets and layout",
    "File format, compression, reading/writing batches": "Files",
    "Merge engine, row kinds, sequence": "Merge engines and sequence",
    "LSM / compaction": "Compaction",
    "Write buffer, spill, sort": "Writers",
    "Dynamic bucket, cross-partition, postpone bucket": "Dynamic and postponed buckets",
    "Deletion vectors, file index, global index": "Deletion vectors",
    "Manifest, statistics": "Manifests and statistics",
    "Snapshot, changelog, consumer retention": "Retention of snapshots, changelogs and consumers",
    "Partition maintenance": "Old partitions, complete partitions, old rows",
    "Scan, time travel, incremental, streaming": "Reads and time travel",
    "Per-field keys": "Options of columns",
}
_NONE = "&ndash;"
_SHIM = "https://unpkg.com/iframe-worker/shim"  # which the offline plugin of mkdocs-material names
_OWN_SHIM = "assets/frame-worker.js"
_SHELL_FLAGS = ("install_completion", "show_completion")


def on_config(config: Any) -> Any:
    """Each page tells the release at its foot."""
    config.copyright = f"paimon-spark {__version__}"
    return config


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages to those of docs/."""
    from mkdocs.structure.files import File  # only mkdocs calls this

    for name, text in written_pages().items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """A page of the API with the methods of classes under the groups that the docstrings of these name."""
    return re.sub(
        r"^::: (\S+)\n    options:\n      by_group: true$",
        lambda found: grouped_methods(found[1]),
        markdown,
        flags=re.MULTILINE,
    )


def on_post_page(output: str, page: Any, config: Any) -> str:
    """A page with all its scripts in the site."""
    depth = page.url.count("/")
    shown = output.replace("_NO_OPTIONS", "{}")  # the default of arguments, by the name that only the code knows
    return shown.replace(_SHIM, "../" * depth + _OWN_SHIM)


def on_post_template(output_content: str, template_name: str, config: Any) -> str:
    """The page for addresses that are not there, which lies at the root."""
    return output_content.replace(_SHIM, _OWN_SHIM)


def written_pages() -> dict[str, str]:
    """The pages by their paths in docs/."""
    return {
        "reference/options.md": options_page(),
        "reference/cli.md": cli_page(),
        "reference/procedures.md": procedures_page(),
        "reference/system-tables.md": system_tables_page(),
        "changelog.md": (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
    }


# The Python API


def grouped_methods(path: str) -> str:
    """A class for mkdocstrings, its methods in the groups of its docstring: ``- Read: ``toDF``, ``count```` is one.

    Args:
        path: of the class, with its module.
    """
    module, _, name = path.rpartition(".")
    documented = getattr(importlib.import_module(module), name)
    lines = [f"::: {path}", "    options:", "      heading_level: 3", "      members: false"]
    lines += ["      inherited_members: false", ""]
    for heading, methods in method_groups(documented).items():
        lines += [f"#### {heading} {{ #{name}.{heading.lower().replace(' ', '-')} }}", ""]
        for method in methods:
            lines += [f"::: {path}.{method}", "    options:", "      heading_level: 5", ""]
    return "\n".join(lines)


def method_groups(documented: type) -> dict[str, list[str]]:
    """The public methods and properties of a class, each in the first group of the docstring that names it."""
    text = re.sub(r"\n\s{2,}(?!- )", " ", inspect.getdoc(documented) or "")
    left = [name for name in dir(documented) if not name.startswith("_")]
    found: dict[str, list[str]] = {}
    for heading, names in re.findall(r"^- ([A-Z][^:`]*): (``.*)$", text, flags=re.MULTILINE):
        found[heading] = [name for name in dict.fromkeys(re.findall(r"``(\w+)", names)) if name in left]
        left = [name for name in left if name not in found[heading]]
    return {heading: names for heading, names in {**found, OTHERS: left}.items() if names}


# Options


def options_page() -> str:
    noted = noted_options((PAGES / "internals" / "features.md").read_text(encoding="utf-8"))
    sections: dict[str, list[str]] = {}
    unnamed = []
    for key, entry in CATALOGUE.items():
        if entry.status is Status.HONOURED:
            section = noted.get(key, OTHERS)
            sections.setdefault(section, []).append(option_row(key))
        elif entry.status is Status.NO_EFFECT:
            unnamed.append(entry)
    lines = [(PAGES / "reference" / "_options_head.txt").read_text(encoding="utf-8")]
    for section in sorted(sections, key=lambda name: (name == OTHERS, section_order(noted, name))):
        lines += [f"### {section}", "", "| option | type | default | meaning |", "|---|---|---|---|"]
        lines += [*sorted(sections[section]), ""]
    lines += ["## Options that are refused", "", *refused_rows(Moment.READ), *refused_rows(Moment.WRITE)]
    lines += [*refused_rows(Moment.CALL), "## Options without effect", "", NO_EFFECT, ""]
    for reason in dict.fromkeys(entry.reason for entry in unnamed):
        keys = ", ".join(f"`{entry.key}`" for entry in unnamed if entry.reason == reason)
        lines += [f"**Reason: {reason}.** {keys}", ""]
    return "\n".join(lines)


NO_EFFECT = (
    "This release accepts the following options of the official system and does nothing with them. Rows and metadata "
    "come out the same."
)


def noted_options(text: str) -> dict[str, str]:
    """The section of each option, from the headings and tables of features 3."""
    found: dict[str, str] = {}
    section = ""
    for line in text.splitlines():
        if heading := re.match(r"### 3\.\d+ (.+?)(?: \(\d+\))?$", line):
            section = _SECTIONS.get(heading[1].partition(" (")[0], heading[1].partition(" (")[0])
        elif line.startswith("## "):
            section = ""
        elif section and (row := re.match(r"\|\s*`([^`]+)`†?\s*\|", line)):
            found.setdefault(row[1].replace("<f>[,<g>…]", "<column>").replace("<f>", "<column>"), section)
    return found


def section_order(noted: dict[str, str], name: str) -> int:
    return next((number for number, section in enumerate(noted.values()) if section == name), len(noted))


def option_row(key: str) -> str:
    option = TABLE_OPTIONS[key]
    fixed = " Cannot change once the table has data." if key in IMMUTABLE_OPTIONS else ""
    older = f" Older names: {', '.join(map(code, option.older))}." if option.older else ""
    return f"| `{key}` | {type_of(option)} | {default_of(option)} | {cell(option.meaning + older + fixed)} |"


def type_of(option: Any) -> str:
    choices = choices_of(option)
    return "one of " + ", ".join(map(code, choices)) if choices else option_type(option)


def default_of(option: Any) -> str:
    text = default_text(option, option_type(option))
    return text if text == "no limit" else code(text) if text else _NONE


def refused_rows(moment: Moment) -> Iterator[str]:
    heads = {
        Moment.READ: (
            "Refused for reading and writing",
            "A table with one of these options can neither be read nor written.",
        ),
        Moment.WRITE: ("Refused for writing", "A table with one of these options can be read, but not written."),
        Moment.CALL: (
            "Refused in a read or a write",
            "A table may store these options. With a read or a write they would do nothing, and are an error.",
        ),
    }
    title, text = heads[moment]
    yield from (f"### {title}", "", text, "", "| option | accepted values | what is not supported | what to do |")
    yield "|---|---|---|---|"
    for entry in CATALOGUE.values():
        for refusal in entry.refusals:
            if refusal.moment is moment:
                accepted = ", ".join(code(value) if value else "empty" for value in refusal.accepted) or "none"
                yield f"| `{entry.key}` | {accepted} | {cell(refusal.what)} | {cell(refusal.advice)} |"
    yield ""


# Commands


def cli_page() -> str:
    lines = [(PAGES / "reference" / "_cli_head.txt").read_text(encoding="utf-8")]
    commands = Commands(name="paimon-spark").commands
    for panel in dict.fromkeys(place.panel for place in COMMANDS.values()):
        lines += [f"## {panel}", ""]
        for name, place in COMMANDS.items():
            if place.panel == panel:
                loaded: Any = commands[name]
                lines += command_text(name, loaded.loaded())
    return "\n".join(lines)


def command_text(name: str, command: Any) -> Iterator[str]:
    places = [p for p in command.params if p.param_type_name == "argument"]
    flags = [p for p in command.params if p.param_type_name == "option" and p.name not in _SHELL_FLAGS]
    usage = " ".join(place_name(p) if p.required else f"[{place_name(p)}]" for p in places)
    yield from (f"### {name}", "", f"`paimon-spark {name} {usage}{' [OPTIONS]' if flags else ''}`", "")
    yield from (paragraph(text) + "\n" for text in (command.help or "").split("\n\n"))
    yield from ("| argument | |", "|---|---|")
    for parameter in places:
        yield f"| `{place_name(parameter)}` | {cell(getattr(parameter, 'help', '') or '')} |"
    for parameter in flags:
        names = ", ".join(map(code, parameter.opts))
        value = "" if parameter.is_flag else f" {code(value_of(parameter))}"
        yield f"| {names}{value} | {cell(parameter.help or '')}{default_of_flag(parameter)} |"
    yield ""


def place_name(parameter: Any) -> str:
    """What the help calls an argument without a flag."""
    return str(parameter.metavar or parameter.name.upper()).strip("{}[]")


def value_of(parameter: Any) -> str:
    """What a flag takes: the words of an enum, or the name of the value."""
    kind = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return ", ".join(str(member.value) for member in kind)
    return str(parameter.metavar or parameter.name.upper())


def default_of_flag(parameter: Any) -> str:
    value = parameter.default
    if parameter.is_flag or value is None or value in ("", (), []) or callable(value):
        return ""
    return f" Default: {code(str(getattr(value, 'value', value)))}."


# Procedures


def procedures_page() -> str:
    lines = [(PAGES / "reference" / "_procedures_head.txt").read_text(encoding="utf-8")]
    for heading, names in GROUPS.items():
        lines += [f"## {heading}", ""]
        for name in names:
            lines += procedure_text(PROCEDURES[name])
    lines += ["## Many tables", "", "Only SQL has these.", ""]
    for of_databases in DATABASE_PROCEDURES.values():
        lines += procedure_text(of_databases)
    return "\n".join([*lines, ""])


def procedure_text(procedure: type[Declaration]) -> Iterator[str]:
    name, arguments = name_of(procedure), arguments_of(procedure)
    yield from (f"### {name}", "", f"`CALL sys.{name}({sql_text(procedure)})`", "")
    yield from (paragraph(text) + "\n" for text in description(procedure).split("\n\n"))
    if arguments:
        yield from ("| argument | in SQL | default | |", "|---|---|---|---|")
        yield from map(argument_row, arguments.values())
    if procedure.absent:
        yield from ("", "Not in this release:", "")
        for name_in_sql, absent in procedure.absent.items():
            speed = " A number is accepted, and has no effect." if absent.is_speed else ""
            yield f"- {code(name_in_sql)}: {absent.why}.{speed}"
    yield ""


def sql_text(procedure: type[Declaration]) -> str:
    """The arguments that SQL takes in their order, and then those that it takes by name."""
    ordered, named = sql_signature(procedure)
    required = {declared.sql for declared in arguments_of(procedure).values() if declared.is_required}
    required |= {name for name in common_arguments(procedure) if name != OPTIONS}
    texts = (name if name in required else f"[{name}]" for name in ordered)
    return ", ".join([*texts, *(f"[{name} => ...]" for name in named)])


def argument_row(declared: Declared) -> str:
    in_sql = _NONE if declared.argument.only_python else code(declared.sql)
    text = f"{sentence(declared)} {declared.kind.python}".rstrip()
    words = " or ".join(code(repr(word)) for word in declared.argument.words)
    text += f" In SQL: {words}." if words else ""
    return f"| `{declared.name}` | {in_sql} | {default_of_argument(declared)} | {cell(text)} |"


def default_of_argument(declared: Declared) -> str:
    if declared.is_required:
        return "required"
    default = _NONE if declared.default in (None, {}) else code(str(declared.default))
    in_sql = declared.argument.sql_default
    return default if in_sql is None else f"{default}, in SQL {code(str(in_sql).lower())}"


# System tables


def system_tables_page() -> str:
    head = (PAGES / "reference" / "_system_tables_head.txt").read_text(encoding="utf-8")
    said = dict(re.findall(r"^\$(\w+): (.+)$", head, re.MULTILINE))
    lines = [re.sub(r"^\$\w+: .+\n", "", head, flags=re.MULTILINE)]
    missing = sorted(set(NAMES) - set(said))
    if missing:
        raise ValueError(f"docs/reference/_system_tables_head.txt says nothing of {missing}")
    for name in NAMES:
        lines += [f"### ${name}", "", said[name], ""]
        table = METADATA_TABLES.get(name)
        if table is not None:
            lines += ["| column | type |", "|---|---|"]
            lines += [f"| `{field.name}` | {type_text(field.type)} |" for field in table.fields]
            lines.append("")
    return "\n".join(lines)


def type_text(kind: Any) -> str:
    from paimon_spark.format.type_text import type_sql

    return cell(f"`{type_sql(kind).replace('`', '')}`")


def code(text: str) -> str:
    return f"`{text}`"


def cell(text: str) -> str:
    """Text as a cell of a table: one line, no bare bars, and placeholders that are no HTML."""
    line = escaped(" ".join(text.split()))
    return re.sub(r"(?<!\\)\|", r"\\|", line)


def paragraph(text: str) -> str:
    return escaped(" ".join(text.split()))


def escaped(line: str) -> str:
    """Angle brackets outside of code are no tags."""
    parts = re.split(r"(`[^`]*`)", line)
    return "".join(part if part.startswith("`") else re.sub(r"<(?=[\w/`]|$)", "&lt;", part) for part in parts)
