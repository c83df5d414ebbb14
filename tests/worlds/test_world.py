"""What a world adds is found without being named, and a world of another package just so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from foreign_world import install, install_world, run_with_world

import workbench as wb
from workbench.report import Report
from workbench.report.tables import TABLES
from workbench.views.document import document
from workbench.views.kit.live_actions import list_actions
from workbench.views.panes.registry import list_panes
from workbench.views.tables.columns import list_columns
from workbench.worlds import world as worlds
from workbench.worlds.world import World, list_worlds


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder in which a package with a world of its own is installed."""
    install_world(tmp_path)
    return tmp_path


def test_a_world_of_another_package_adds_all_that_ours_do(site: Path) -> None:
    said = run_with_world(
        site,
        """
        import json
        import workbench as wb
        from stars import Sky, Star, add_stars
        from workbench.report import Report
        from workbench.views.document import document
        from workbench.views.kit.live_actions import list_actions
        report = add_stars(Report(), [Star("star.0", 3), Star("star.1", 4)])
        again = Report.from_json(json.loads(json.dumps(report.to_json())))
        print(wb.count_stars(again), "count_stars" in wb.__all__)
        print(again.frame("stars")["size"].tolist())
        (pane,) = [each for each in document(again)["panes"] if each["id"] == "stars"]
        print(pane["title"], pane["count"], pane["blocks"][0]["text"])
        print("It is clear." in wb.find_presenter().page(Sky()), "gaze" in list_actions())
        print(repr(Sky()).splitlines()[-1], "star.1" in report.to_html())
        from IPython.core.interactiveshell import InteractiveShell
        shell = InteractiveShell.instance()
        shell.user_ns["report"] = again
        wb.load_ipython_extension(shell)
        print(shell.run_line_magic("stars", "report -o count"), shell.user_ns["count"])
        shell.set_completer_frame()
        print(shell.complete(None, "%stars --out", 12)[1])
        wb.unload_ipython_extension(shell)
        print(shell.find_line_magic("stars"))
    """,
    )
    assert said[:4] == ["2 True", "[3, 4]", "Stars 2 2 stars.", "True True"]
    assert said[4:8] == ["- It is clear. True", "2 2", "['--output']", "None"]


def test_its_words_travel_with_each_document(site: Path) -> None:
    words = {"stars": {"Size": ["How large it is", "km"]}, "points": {"Per byte": ["A fee"]}}
    (site / "stars.terms.json").write_text(json.dumps(words))
    said = run_with_world(
        site,
        """
        import json
        from stars import Sky, Star, add_stars
        from workbench.glossary import find_term
        from workbench.report import Report
        from workbench.views.document import document
        from workbench.views.kit.block_wire import write_document
        from workbench.views.kit.blocks import Document
        print(json.dumps(document(add_stars(Report(), [Star("star.0", 3)]))["terms"]))
        print(json.dumps(write_document(Document("Sky", []))["terms"]))
        print(find_term("stars", "Size").unit, find_term("points", "Per byte").unit)
    """,
    )
    assert [json.loads(line) for line in said[:2]] == [{"stars": words["stars"]}] * 2
    assert said[2] == "km operations per byte"
    taken = "The section of terms 'points' of the world astronomy is left out: its name is"
    assert any(taken in line for line in said[3:])
    assert "terms" not in document(Report())


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "JSONDecodeError"),
        ("[]", "expected places with their words, got list"),
        ('{"stars": ["Size"]}', "'stars': expected words, got list"),
        ('{"stars": {"Size": "large"}}', "'stars', 'Size': expected a list of what it is"),
        ('{"stars": {"Size": ["large", 3]}}', "'stars', 'Size': expected a list of what it is"),
    ],
)
def test_words_of_another_form_are_left_out(site: Path, text: str, why: str) -> None:
    (site / "stars.terms.json").write_text(text)
    said = run_with_world(
        site,
        """
        from workbench.glossary import find_term, read_foreign_terms
        print(find_term("points", "Per byte").unit, read_foreign_terms())
    """,
    )
    assert said[0] == "operations per byte {}"
    left = [line for line in said[1:] if "Each section of terms of the world astronomy" in line]
    assert [why in line for line in left] == [True]


def test_its_action_is_offered_by_what_was_compiled_and_runs(site: Path) -> None:
    said = run_with_world(
        site,
        """
        import torch
        import workbench as wb
        compiled = wb.aot_compile(lambda x: x + 1, (torch.ones(2),))
        (action,) = [each for each in compiled.live_actions if each.id == "gaze"]
        action.start().result()
        print(wb.count_stars(compiled.report))
    """,
    )
    assert said[0] == "1"


def test_one_that_cannot_be_imported_is_left_out_with_a_warning(site: Path) -> None:
    said = run_with_world(
        site,
        """
        from workbench.worlds.world import list_worlds
        print([world.name for world in list_worlds()][-1])
    """,
    )
    assert said[0] == "astronomy"
    assert "The world broken of stars is left out: AttributeError: module 'stars' has" in said[1]


def test_its_table_is_kept_by_a_workbench_without_it(site: Path, tmp_path: Path) -> None:
    path = tmp_path / "stars.wbr"
    run_with_world(
        site,
        f"""
        from stars import Star
        from workbench.report import Report, Table
        Report(tables={{"stars": Table.of(Star, [Star("s0", 3)])}}).save({str(path)!r})
    """,
    )
    report = wb.Report.load(path)
    with pytest.raises(wb.UsageError, match="No installed package reads the table 'stars'"):
        report.frame("stars")
    report.save(path)
    assert (
        run_with_world(
            site,
            f"""
        import workbench as wb
        print(wb.Report.load({str(path)!r}).frame("stars")["size"].tolist())
    """,
        )[0]
        == "[3]"
    )


def test_each_world_of_this_package_is_where_its_name_says() -> None:
    for world in list_worlds():
        assert world.folder.name == world.name
        assert isinstance(world, World)
        for name, module in world.names.items():
            assert module.startswith(f"workbench.worlds.{world.name}.")
            assert getattr(wb, name).__module__ == module
        assert {*world.list_tables()} <= {*TABLES}
        assert {pane.id for pane in world.list_panes()} <= {pane.id for pane in list_panes()}
        assert {*world.list_columns()} <= {*list_columns()}
        assert {*world.list_actions()} <= {*list_actions()}
        if world.terms.exists() and world.list_columns():
            assert {*json.loads(world.terms.read_text("utf-8"))} <= {*world.list_columns()}


WRONG = '''
from IPython.core.magic import Magics, line_magic, magics_class

from workbench.report import Report, Table
from workbench.views.panes.pane import Content, Pane
from workbench.worlds.world import Command, World


@magics_class
class Taking(Magics):
    @line_magic
    def aot_compile(self, line):
        """Another one."""


class Wrong(World):
    name = "wrong"
    names = {"load": "wrong", "UsageError": "wrong"}

    def list_tables(self):
        return {"save": (int, "It is a method of a report."), "lists": (dict, "No data class.")}

    def list_panes(self):
        taken = Pane("kernels", "Kernels", lambda report, context: Content({}))
        more = Pane("more", "More", lambda report, context: Content({"name": "gone"}))
        return (taken, 5, more, Pane("bad", "Bad", lambda report, context: 1 / 0))

    def list_cards(self):
        return {"more": [5]}

    def list_actions(self):
        raise RuntimeError("no action today")

    def list_starters(self, handle):
        return (1 / 0,)

    def list_magics(self):
        return (Taking, 7)

    def read_record(self, path):
        return object() if path.endswith("remarks") else int(path)


    def list_commands(self):
        return (Command("report", "", lambda parser: None, str), 8)


class Mute(World):
    name = "mute"

    def list_commands(self):
        return (Command("mute", "", lambda parser: parser.add_argument("5", no=1), str),)


class Nameless(World):
    pass


WORLD, AGAIN, NAMELESS, MUTE = Wrong(), Wrong(), Nameless(), Mute()
'''


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    """A folder with a package whose worlds do all that is not right."""
    install(tmp_path, "wrong", WRONG, {"a": "WORLD", "b": "AGAIN", "c": "NAMELESS", "d": "MUTE"})
    return tmp_path


def test_what_is_wrong_in_a_world_is_left_out_with_its_name_and_the_rest_works(wrong: Path) -> None:
    said = run_with_world(
        wrong,
        """
        import torch
        import workbench as wb
        from IPython.core.interactiveshell import InteractiveShell
        compiled = wb.aot_compile(lambda x: x + 1, (torch.ones(2),))
        print(wb.load.__module__, len(wb.__all__) == len(set(wb.__all__)))
        print(len(compiled.report.frame("kernels")), "Kernels" in compiled.report.to_html())
        print(any(action.id == "save" for action in compiled.live_actions))
        from workbench.views.document import document
        (bad,) = [pane for pane in document(compiled.report)["panes"] if pane["id"] == "bad"]
        print(bad["empty"]["text"])
        shell = InteractiveShell.instance()
        wb.load_ipython_extension(shell)
        print(shell.find_line_magic("aot_compile").__self__.__class__.__name__)
    """,
    )
    assert said[:3] == ["workbench.api.files True", "1 True", "True"]
    assert said[3] == "The code of the world wrong raised ZeroDivisionError: division by zero."
    assert said[4] == "WorkbenchMagics"
    warned = " ".join(said[5:])
    for words in (
        "A world of wrong is left out: its name None",
        "The world wrong of wrong is left out: its name is taken",
        "The name 'load' of the world wrong is left out",
        "Each table of the world wrong is left out: TypeError: the rows of the table save are",
        "The pane 'kernels' of the world wrong is left out",
        "A pane of the world wrong is left out: 5 is not one",
        "'name' of the pane more is left out",
        "Each card of the world wrong is left out: TypeError: a card of more is of type int",
        "Each action of the world wrong is left out: RuntimeError: no action today",
        "Each live action of the world wrong is left out: ZeroDivisionError",
        "The magics Taking are left out: it takes aot_compile",
    ):
        assert words in warned, words


def test_a_command_of_a_world_that_cannot_be_made_is_left_out(wrong: Path) -> None:
    said = run_with_world(
        wrong,
        """
        from workbench.command_line.main import build_command_parser
        commands = build_command_parser().commands
        print("profile" in commands, "mute" in commands)
    """,
    )
    assert said[0] == "True False"
    for words in (
        "The command 'report' of the world wrong is left out: its name is taken",
        "Each command of the world mute is left out: TypeError",
        "A command of the world wrong is left out: 8 is not one",
    ):
        assert any(words in row for row in said), words


NOTES = """
import json
from pathlib import Path

from workbench.analysis.quantities.quantities import Quantity
from workbench.errors import UsageError
from workbench.report.presenter import Presented
from workbench.views.kit.blocks import Document, Sentence
from workbench.views.kit.shown import Shown
from workbench.worlds.world import Command, World


class Notes(Presented):
    def __init__(self, count):
        self.count = count

    def _compare(self, other, names):
        return compare(self, other, names)


def compare(a, b, names):
    if not (isinstance(a, Notes) and isinstance(b, Notes)):
        raise UsageError("Notes are compared with notes.")
    return b.count - a.count


SHOWN = Shown(
    document=lambda notes: Document("Notes", [Sentence(f"{notes.count} notes.")]),
    numbers=lambda notes: [Quantity("notes", notes.count, "1", "counted")],
    compare=compare,
)


class NotesWorld(World):
    name = "notes"

    def find_shown(self, kind):
        return SHOWN if kind == "Notes" else None

    def read_record(self, path):
        if path.endswith(".notes"):
            return Notes(len(Path(path).read_text().splitlines()))

    def list_commands(self):
        add = lambda parser: parser.add_argument("count", type=int)
        return (Command("notes", "so many", add, lambda chosen: Notes(chosen.count)),)


WORLD = NotesWorld()
"""


def test_its_records_are_read_printed_and_compared_by_the_commands(tmp_path: Path) -> None:
    install(tmp_path, "notes", NOTES, {"notes": "WORLD"})
    (path := tmp_path / "a.notes").write_text("one\ntwo\n")
    said = run_with_world(
        tmp_path,
        f"""
        import json, sys
        import workbench as wb
        from notes import Notes
        from workbench.command_line.main import main
        print(main(["report", {str(path)!r}]), main(["notes", "3"]))
        sys.stdout.flush()
        print(wb.diff(Notes(2), Notes(5)))
        try:
            wb.diff(wb.Report(), Notes(5))
        except wb.UsageError as error:
            print(error)
        main(["report", {str(path)!r}, "--json"])
    """,
    )
    assert said[:6] == ["Notes", "- 2 notes.", "Notes", "- 3 notes.", "0 0", "3"]
    assert "Notes are compared with notes." in said
    document = json.loads("\n".join(said[said.index("{") :]))
    assert document["quantities"] == [
        {"name": "notes", "value": 2, "unit": "1", "source": "counted"}
    ]


def test_a_command_says_which_records_it_reads(wrong: Path) -> None:
    (path := wrong / "a.remarks").write_text("{}")
    said = run_with_world(
        wrong,
        f"""
        import sys
        from workbench.command_line.main import main
        sys.stderr = sys.stdout
        print(main(["report", {str(path)!r}]))
        print(main(["report", "five"]))
    """,
    )
    (why,) = [row for row in said if "The commands show" in row]
    assert "holds a value of type object. The commands show only reports" in why
    assert said.count("2") == 2
    (why,) = [row for row in said if "cannot read" in row]
    assert "The world wrong cannot read five: ValueError: invalid literal for int" in why


def test_a_table_of_a_world_is_dropped_with_the_sources_unless_it_may_be_shared(site: Path) -> None:
    said = run_with_world(
        site,
        """
        from stars import Star, WORLD, add_stars
        from workbench.report import Report
        from workbench.views.pages.redaction import redact
        report = add_stars(Report(), [Star("star.0", 3)])
        clean, dropped = redact(report)
        print(len(clean.stars), dropped)
        type(WORLD).shareable = ("stars",)
        print(len(redact(report)[0].stars))
    """,
    )
    assert said[:2] == ["0 ('the table stars (1 row)',)", "1"]


def test_type_checkers_know_every_name_of_a_world() -> None:
    stub = (Path(worlds.__file__).parent / "names.pyi").read_text("utf-8").splitlines()
    assert stub[2:] == [
        f"from {module} import {name} as {name}"
        for world in list_worlds()
        for name, module in sorted(world.names.items(), key=lambda item: item[::-1])
    ]
