from __future__ import annotations

import json
from dataclasses import replace

import workbench as wb
from tests.made_profile import make_profile, run
from workbench.views.static_html.render import summarize
from workbench.worlds.profiles.rows.profile_rows import (
    DeviceEvent,
    Gap,
    HostSpan,
    LineTime,
    ModuleTime,
    ProfileOpportunity,
    RanKernel,
)
from workbench.worlds.profiles.rows.run_profile import RunProfile
from workbench.worlds.profiles.views.profile_document import document
from workbench.worlds.profiles.views.profile_page import build_blocks
from workbench.worlds.profiles.views.profile_tracks import draw_tracks

MM = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_cublas"
PRODUCT = run("k0", MM, "aten::mm", (2048, 3584), (3584, 5184), time_us=120.0, line="model.py:7")
COPY = run("k1", "Memcpy HtoD (Pageable -> Device)", "aten::copy_", (64,), kind="copy")


def modules(layers: int) -> list[ModuleTime]:
    own = [ModuleTime(id="m", name="Model_0", time_us=130.0)]
    return own + [
        ModuleTime(id=f"l{n}", parent="m", name=f"Layer_{n}", depth=1, time_us=130.0 / layers)
        for n in range(layers)
    ]


def test_events_travel_as_differences_in_nanoseconds() -> None:
    events = [
        DeviceEvent("k0", 10.0, 120.0, 0, 7, 4.0, "1"),
        DeviceEvent("k1", 130.5, 10.0, 0, 7, None, ""),
    ]
    spans = [HostSpan("1", "Model_0", "module", 0.0, 150.0, 0)]
    drawn = draw_tracks(make_profile(kernels=[PRODUCT, COPY], events=events, host=spans))
    thread, stream = drawn.tracks
    assert stream["begins"] == [10_000, 120_500]
    assert stream["lasts"] == [120_000, 10_000]
    assert stream["of"] == [0, 1]
    assert stream["launched"] == [6_000, -1]
    assert stream["launched_from"] == [0, -1]
    assert (thread["is_device"], drawn.names) == (False, ["Model_0"])


def test_events_that_overlap_stand_on_levels_of_their_own() -> None:
    events = [DeviceEvent("k0", at, 10.0, 0, 7) for at in (0.0, 5.0, 12.0)]
    (stream,) = draw_tracks(make_profile(kernels=[PRODUCT], events=events)).tracks
    assert stream["levels"] == [0, 1, 0]


def test_what_overlaps_by_less_than_clocks_can_tell_stays_on_its_level() -> None:
    spans = ((0.0, 10.0), (9.4, 10.0), (19.4, 0.2), (19.5, 0.05))
    events = [DeviceEvent("k0", at, us, 0, 7) for at, us in spans]
    (stream,) = draw_tracks(make_profile(kernels=[PRODUCT], events=events)).tracks
    assert stream["levels"] == [0, 0, 0, 1]  # the last one would end before the one before
    assert stream["lasts"][0] == 10_000


def test_kernels_of_one_title_say_in_what_they_differ() -> None:
    def add(id: str, **more: object) -> RanKernel:
        return run(id, f"kernel_{id}", "aten::add", (64, 64), **more)

    kernels = [
        add("k0"),
        add("k1", is_backward=True),
        add("k2", dtype="float", module="Model.Norm"),
        add("k3", dtype="float", module="Model.Head"),
        run("k4", "cat", "aten::cat", ((16, 32), (16, 32))),
    ]
    titles = document(make_profile(kernels=kernels))["titles"]
    assert titles == [
        "add 64 × 64, bfloat16",
        "add 64 × 64, backward",
        "add 64 × 64, float32, Norm",
        "add 64 × 64, float32, Head",
        "cat 16 × 32",
    ]


def test_what_is_wrong_with_a_trace_is_told_apart_from_what_it_lacks() -> None:
    profile = make_profile(kernels=[PRODUCT])
    cut = "The trace was not read to its end."
    header = replace(profile.header, notes=(cut,), missing=(("No memory", "profile_memory=True"),))
    shown = document(RunProfile(header, profile.tables))
    assert (shown["warnings"], shown["notes"]) == ([cut], ["No memory: profile_memory=True."])


def test_the_width_of_modules_says_what_runs_beside_other_work() -> None:
    profile = make_profile(kernels=[PRODUCT, COPY])
    assert document(profile)["boxes_words"] == "width is device time, 130 µs"
    header = replace(profile.header, busy_us=120.0)
    words = document(RunProfile(header, profile.tables))["boxes_words"]
    assert words.endswith("130 µs: 10.0 µs of it overlaps other work")


def test_a_profile_of_the_cpu_speaks_of_operators() -> None:
    profile = make_profile(kernels=[PRODUCT])
    shown = document(RunProfile(replace(profile.header, on_cpu=True), profile.tables))
    assert shown["tables"][0]["title"] == "Operators"
    assert [track["title"] for track in shown["tracks"]] == ["Operators"]


def test_equal_layers_are_one_box_and_parents_come_first() -> None:
    rows = modules(6)
    events = [
        DeviceEvent("k0", 20.0 * n, 20.0, 0, 7, module=f"l{n}", line="model.py:7") for n in range(6)
    ]
    boxes = document(make_profile(kernels=[PRODUCT], events=events, modules=rows))["boxes"]
    titles = [(box["title"], box["parent"], box["level"]) for box in boxes]
    product = "matmul 2048 × 5184 × 3584"
    assert titles == [("Model", -1, 0), ("Layer × 6", 0, 1), ("mm", 1, 2), (product, 2, 3)]
    assert boxes[-1]["row"] == "kernels:0"
    assert {box["last_us"] for box in boxes} == {120.0}


def test_a_few_modules_of_a_class_keep_their_own_box() -> None:
    events = [DeviceEvent("k0", 20.0 * n, 20.0, 0, 7, module=f"l{n}") for n in range(2)]
    profile = make_profile(kernels=[PRODUCT], events=events, modules=modules(2))
    titles = [box["title"] for box in document(profile)["boxes"] if box["level"] == 1]
    assert titles == ["Layer", "Layer"]


def test_what_belongs_together_is_tied_each_way() -> None:
    line = LineTime(line="model.py:7", function="forward", time_us=120.0)
    gap = Gap(start_us=120.0, duration_us=5.0, cause="synchronisation", line="model.py:7")
    change = ProfileOpportunity(kind="sizes", title="Pad", of_us=120.0, kernels=("k0",), gaps=(0,))
    event = DeviceEvent("k0", 0.0, 120.0, 0, 7, module="m", line="model.py:7")
    profile = make_profile(
        kernels=[PRODUCT],
        events=[event],
        lines=[line],
        gaps=[gap],
        modules=modules(1)[:1],
        opportunities=[change],
    )
    ties = document(profile)["ties"]
    boxes = {"boxes:0", "boxes:1"}  # its module, its operator
    assert set(ties["kernels:0"]) == {"modules:0", "lines:0", "changes:0"} | boxes
    assert set(ties["changes:0"]) == {"kernels:0", "gaps:0"}
    assert "gaps:0" in ties["lines:0"]
    for id, others in ties.items():
        assert all(id in ties[other] for other in others)


def test_the_sentence_says_time_device_busy_and_what_took_longest() -> None:
    profile = make_profile(kernels=[PRODUCT, COPY], gaps=[Gap(duration_us=70.0, cause="launch")])
    text = "".join(piece["text"] for piece in document(profile)["answer"]["sentence"])
    assert text == "200 µs on H100 SXM5 80 GB: 65 % busy. Matmuls take 120 µs."


def test_every_row_of_a_table_has_its_card_and_an_empty_table_its_reason() -> None:
    profile = make_profile(kernels=[PRODUCT, COPY], gaps=[Gap(duration_us=70.0, cause="launch")])
    shown = document(profile)
    tables = {table["id"]: table for table in shown["tables"]}
    for name in ("kernels", "gaps"):
        assert all(row["row"] in shown["cards"] for row in tables[name]["rows"])
    assert "with_modules=True" in tables["modules"]["none"]
    assert "profile_memory=True" in tables["memory"]["none"]


def test_a_document_is_plain_json_even_of_an_empty_profile() -> None:
    assert json.loads(json.dumps(document(make_profile())))["tracks"] == []


def test_the_page_hides_folders_when_it_is_redacted() -> None:
    line = LineTime(line="model.py:7", function="forward", time_us=1.0, file="/home/me/model.py")
    profile = make_profile(kernels=[PRODUCT], lines=[line])
    assert "/home/me" in str(document(profile))
    assert "/home/me" not in profile.to_html(redact=True)


def test_the_summary_of_a_notebook_needs_no_script() -> None:
    summary = summarize(build_blocks(make_profile(kernels=[PRODUCT])))
    assert "matmul 2048 × 5184 × 3584" in summary
    assert "<script" not in summary


def test_a_profile_is_shown_as_it_is() -> None:
    profile = make_profile(kernels=[PRODUCT])
    assert wb.show(profile) is profile
