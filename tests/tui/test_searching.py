"""Finding one's way in the workbench: filters of the lists, orders, marks, and what belongs to a row."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path

import pytest
from textual import events

from mcp_tui.journal.records import FrameHead
from mcp_tui.protocol.requests import State
from mcp_tui.tui.screens.cancel_dialogs import MarkedScreen
from mcp_tui.tui.screens.dialog import MenuScreen
from mcp_tui.view.columns import NEWEST
from mcp_tui.view.table_columns import SORTS
from tests.control import Control
from tests.tui.driving import Driven, answering, driving


async def over(driven: Driven, *names: str) -> None:
    for name in names:
        id_ = driven.call(name, a=1, b=2) if name == "add" else driven.call(name)
        await driven.until(lambda id_=id_: not driven.row(id_).open)


async def test_keys_that_come_in_one_burst_are_each_for_where_the_one_before_led():
    async with driving(size=(140, 40)) as driven:
        await driven.in_flight("silent")
        before = driven.inside("requests")
        for key in ("2", "slash", *"echo"):
            driven.app.post_message(events.Key(key, "/" if key == "slash" else key))
        await driven.until(lambda: "count" not in driven.inside("catalogue"))
        assert "echo" in driven.inside("catalogue")
        assert "silent" in driven.inside("requests")
        assert before.splitlines()[0] == driven.inside("requests").splitlines()[0]


class TestMarks:
    async def test_marked_requests_are_cancelled_for_one_reason(self) -> None:
        async with driving() as driven:
            rows = [await driven.in_flight("silent") for _ in range(3)]
            await driven.press("space", "space")
            assert "2 marked" in driven.text()
            await driven.press("c")
            assert isinstance(driven.top, MarkedScreen)
            assert "Cancel 2 requests" in driven.text()
            await driven.type("wrong table")
            await driven.press("enter")
            await driven.until(lambda: rows[2].cancel_at is not None and rows[1].cancel_at is not None)
            assert (rows[1].reason, rows[2].reason) == ("wrong table", "wrong table")
            assert rows[0].open
            assert "marked" not in driven.inside("requests")

    async def test_r_repeats_all_marked(self) -> None:
        async with driving() as driven:
            await over(driven, "add", "add")
            before = len(driven.session.client.requests.order)
            await driven.press("space", "space", "r")
            await driven.until(lambda: len(driven.session.client.requests.order) == before + 2)
            assert not driven.bench.table.marks

    async def test_what_is_repeated_several_times_is_summed_up_when_all_is_over(self) -> None:
        async with driving(size=(120, 36)) as driven:
            await over(driven, "add")
            before = len(driven.session.client.requests.order)
            await driven.press("R", "backspace", "0", "enter")
            assert "0 is not a number from 1 to 100. Nothing was sent." in driven.text()
            driven.app.guard.release()
            await driven.press("R", "backspace", "3", "enter")
            await driven.until(lambda: "3 × tools/call add: median " in driven.inside("keys"))
            assert "0 failed, 0 late" in driven.inside("keys")
            assert len(driven.session.client.requests.order) == before + 3
            await driven.press("4")
            await driven.until(lambda: "3 × tools/call add: " in driven.plain("log"))

    @pytest.mark.parametrize(("keys", "ending"), [(("enter",), "jsonl"), (("down", "enter"), "md")])
    async def test_e_writes_the_marked_to_a_file_of_their_own(
        self, keys: tuple[str, ...], ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        async with driving() as driven:
            await over(driven, "add", "add")
            await driven.press("space", "space", "E")
            assert isinstance(driven.top, MenuScreen)
            await driven.press(*keys)
            path = tmp_path / f"mcp-tui-2-requests.{ending}"
            await driven.until(path.exists)
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            text = path.read_text()
            if ending == "jsonl":
                found = [json.loads(line) for line in text.splitlines()]
                assert [each["request"]["params"]["name"] for each in found] == ["add", "add"]
                assert all("result" in each["response"] for each in found)
            else:
                assert text.startswith("# 2 requests\n")
                assert text.count("tools/call add`: completed") == 2


class TestCopies:
    async def test_an_issue_block_has_what_a_colleague_needs_and_y_repeats_its_kind(self) -> None:
        async with driving() as driven:
            row = await driven.in_flight("silent")
            await driven.press("C")
            await driven.until(lambda: row.state is State.CANCELLED)
            await driven.press("y")
            assert isinstance(driven.top, MenuScreen)
            assert "Copy 6 tools/call silent" in driven.text()
            await driven.press("end", "enter")
            block = re.sub(r"watched [\d.]+ s", "watched", driven.app.clipboard)
            assert block.startswith("### `tools/call silent`: ")
            named = (
                "- server: `mcp-tui-demo",
                "- protocol: `2026-07-28`",
                "- mcp-tui: `",
                "- Python: `",
                "- OS: `",
            )
            assert [each for each in named if each not in block] == []
            assert "```sh\nmcp-tui call silent -- " in block
            assert '"method": "tools/call"' in block
            assert "No answer." in block
            assert "notifications/cancelled" in block.partition("#### Timeline")[2]
            driven.app.copy_to_clipboard("")
            await driven.press("Y")
            assert re.sub(r"watched [\d.]+ s", "watched", driven.app.clipboard) == block
            await driven.press("y", "down", "enter")
            assert driven.app.clipboard.startswith("mcp-tui call silent -- ")
            await driven.press("y", "down", "down", "enter")
            assert json.loads(driven.app.clipboard)["params"]["name"] == "silent"


class TestOrders:
    async def test_s_goes_through_the_orders_and_the_border_says_which(self) -> None:
        async with driving() as driven:
            await over(driven, "add")
            await driven.in_flight("silent")
            for sort in (*SORTS[1:], NEWEST):
                await driven.press("s")
                assert driven.bench.table.outline.sort is sort
                assert (f"sort {sort.value}" in driven.inside("requests")) is (sort is not NEWEST)


class TestFilters:
    async def test_the_catalogue_is_filtered_by_names_and_descriptions_and_called_from(self) -> None:
        async with driving() as driven:
            await driven.press("2", "/")
            await driven.type("code")
            shown = driven.inside("catalogue")
            assert "review" in shown
            assert "echo" not in shown
            assert "Resources" not in shown
            assert not driven.bench.table.wanted
            await driven.press("enter")
            assert driven.bench.focused is driven.bench.catalogue
            assert "filter code" in driven.inside("catalogue")
            await driven.press("enter")
            await driven.until(lambda: "Get review" in driven.text())
            await driven.press("escape")
            await driven.until(lambda: driven.top is driven.bench)
            await driven.press("escape")
            await driven.until(lambda: "Resources" in driven.inside("catalogue"))
            assert "›  review" in driven.inside("catalogue")
            assert "filter" not in driven.inside("catalogue")

    async def test_whole_messages_are_searched_and_what_is_of_the_log_is_said(self) -> None:
        async with driving(size=(120, 40)) as driven:
            for text in ("x" * 5000 + "NEEDLE", "hay"):
                id_ = driven.call("echo", text=text)
                await driven.until(lambda id_=id_: not driven.row(id_).open)
            shown = driven.bench.table.outline
            for typed, count in {
                "text:needle": 1,
                "result:/needle/": 1,
                "args:hay": 1,
                "-text:needle": 1,
            }.items():
                await driven.press("/")
                await driven.type(typed)
                await driven.until(lambda count=count: not shown.unfiltered and shown.shown == count)
                await driven.press("escape")
            await driven.press("/")
            await driven.type("source:stderr")
            await driven.until(lambda: "source: filters the Log. Press / in that pane." in driven.text())
            await driven.press("escape", "4", "/")
            await driven.type("violation:server")
            assert not driven.bench.filtering.passing.has_class("-problem")


class TestCancellations:
    async def test_they_are_counted_by_outcome_and_w_and_y_take_those_that_the_filter_shows(
        self, control: Control, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        async with driving(control.demo(), size=(140, 40)) as driven:
            for name in ("silent", "stubborn"):
                row = await driven.in_flight(name)
                await driven.press("C")
                control.release(name)
                await driven.until(lambda row=row: row.state is State.CANCELLED)
            await driven.press("3")
            await driven.until(lambda: "1 no reply" in driven.inside("cancellations"))
            await driven.until(lambda: "1 late result" in driven.inside("cancellations"))
            now = driven.session.client.now()
            monkeypatch.setattr(driven.session.client, "now", lambda: now)
            await driven.press("/")
            await driven.type("outcome:late")
            assert "no reply" not in driven.inside("cancellations")
            await driven.press("enter", "y")
            (copied,) = [json.loads(line) for line in driven.app.clipboard.splitlines()]
            assert (copied["id"], copied["outcome"], copied["cause"]) == (row.id, "late_result", "user")
            await driven.press("w")
            path = tmp_path / "mcp-tui-cancellations.jsonl"
            await driven.until(path.exists)
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert json.loads(path.read_text()) == copied


async def test_a_large_answer_is_not_copied_but_offered_as_a_file() -> None:
    async with driving(size=(140, 40)) as driven:
        id_ = driven.call("big", megabytes=1.1)
        await driven.until(lambda: not driven.row(id_).open)
        for keys in (("y", "enter"), ("Y",)):
            await driven.press(*keys)
            await driven.until(lambda: "too large to copy (1.1 MB). w saves it to a file." in driven.text())
            assert not driven.app.clipboard


async def test_a_huge_answer_is_begun_as_text_and_find_claims_no_more_than_it_looked_at() -> None:
    async with driving(size=(80, 30)) as driven:
        id_ = driven.call("big", megabytes=4.5)
        await driven.until(lambda: not driven.row(id_).open)
        await driven.press("1", "/")
        await driven.type("zzzz")
        shown = driven.inside("detail")
        assert "truncated; enter opens all of it" in shown
        assert "jsonrpc" not in shown
        assert "not found here" in shown


RESULTS = {
    "tools/list": {
        "tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("right", "wrong")]
    },
    "right": {"content": [{"type": "text", "text": "fine"}]},
    "wrong": {"content": "no list\x1b[2J"},
}


class TestSchema:
    async def test_a_frame_that_breaks_the_schema_is_marked_and_says_why_once_it_is_opened(self) -> None:
        async with driving(answering(RESULTS)) as driven:
            for name in ("right", "wrong"):
                id_ = driven.call(name)
                await driven.until(lambda id_=id_: not driven.row(id_).open)
            await driven.press("t")
            await driven.until(lambda: "←✗" in driven.inside("wire"))
            assert driven.inside("wire").count("✗") == 1
            await driven.press("end")
            assert "Schema violation: result.content" in driven.text()
            await driven.press("enter")
            await driven.until(lambda: "Schema violation" in driven.inside("detail"))
            assert "\x1b" not in driven.text()
            titles = [section.title for section in driven.sections]
            assert titles == ["", "Schema violation", "JSON", "Bytes"]
            assert driven.bench.pane == "detail"
            assert "← from the server" in driven.inside("detail")
            assert driven.sections[-1].lines[0].text.startswith('{"jsonrpc"')
            await driven.press("escape")
            assert driven.bench.focused is driven.bench.wire


async def test_the_footer_names_only_keys_that_work_while_text_is_typed() -> None:
    async with driving(size=(80, 24)) as driven:
        driven.call("add", a=1, b=2)
        await driven.press("/")
        await driven.until(lambda: "enter Done  esc Clear" in driven.text())
        assert "New" not in driven.text().splitlines()[-1]
        await driven.type("zzz:1")
        await driven.press("enter")
        await driven.until(lambda: "Unknown filter 'zzz'. Use" in driven.text() and "n New" in driven.text())
        await driven.press("escape", "1", "/")
        await driven.type("add")
        await driven.until(lambda: "enter Done  esc Clear" in driven.text())
        await driven.press("enter")
        await driven.until(lambda: "n N Next match" in driven.text())
        await driven.press("escape")
        await driven.until(lambda: "n New" in driven.text())


async def test_the_line_of_a_filter_goes_with_its_list() -> None:
    async with driving(size=(80, 24)) as driven:
        await driven.press("2", "/")
        await driven.type("add")
        await driven.press("enter")
        await driven.until(lambda: "Filter catalogue" in driven.text())
        await driven.press("4")
        await driven.until(lambda: "Filter catalogue" not in driven.text())
        await driven.press("2")
        await driven.until(lambda: "Filter catalogue" in driven.text())


async def test_a_filter_that_stands_lays_out_nothing_until_something_comes() -> None:
    async with driving() as driven:
        await over(driven, "add")
        await driven.press("slash", *"add", "enter")
        laid_out: list[str] = []
        passing = driven.bench.filtering.passing
        passing.update = lambda said="", **_: laid_out.append(str(said))  # type: ignore[method-assign]
        for _ in range(3):
            driven.bench.look()
        assert laid_out == []
        await over(driven, "add")
        driven.bench.look()
        assert laid_out
        assert laid_out[0].startswith("2 shown")


async def test_a_response_says_what_it_answers_and_one_of_ours_is_none_to_a_request_of_ours():
    async with driving(size=(140, 40)) as driven:
        await driven.press("5")
        await driven.until(lambda: "response 2 tools/list" in driven.inside("wire"))
        theirs = FrameHead(seq=9, at=1.0, direction="in", id=2)
        ours = FrameHead(seq=9, at=1.0, direction="out", id=2)
        assert driven.bench.messages.row_of(theirs) is driven.row(2)
        assert driven.bench.messages.row_of(ours) is None


async def test_a_table_that_is_empty_by_its_filter_says_so() -> None:
    async with driving() as driven:
        await driven.press("/")
        await driven.type("zzz")
        await driven.press("enter")
        driven.call("echo", text="x")
        await driven.until(lambda: "No match for 'zzz' (1 hidden)" in driven.inside("requests"))
        await driven.press("z")
        await driven.until(lambda: "0 of 1, 5 internal hidden" in driven.text())


async def test_mark_all_and_cancel_all_under_a_filter_mean_what_the_filter_shows() -> None:
    async with driving() as driven:
        first, second = await driven.in_flight("silent"), await driven.in_flight("silent")
        await driven.press("/")
        await driven.type("id:999")
        await driven.press("enter", "X")
        assert "The filter shows no running request" in driven.inside("keys")
        await driven.press("escape", "/")
        await driven.type(f"id:{first.id}")
        await driven.press("enter", "M")
        assert driven.bench.table.marked_rows == [first]
        await driven.press("M")
        assert not driven.bench.table.marks
        await driven.press("X")
        assert isinstance(driven.top, MarkedScreen)
        assert driven.top.open == [first]
        assert "Cancel 1 request (1 hidden by the filter keep running)" in driven.text()
        await driven.press("enter")
        await driven.until(lambda: not first.open)
        assert second.open


async def test_a_call_that_needs_sampling_says_how_to_turn_it_on() -> None:
    async with driving() as driven:
        driven.call("ask", what="sampling")
        await driven.until(lambda: "✗ failed" in driven.inside("requests"))
        await driven.until(lambda: "Sampling is off. S turns it on" in driven.inside("detail"))


async def test_the_catalogue_is_sorted_by_what_a_tool_costs_a_model_and_back():
    async with driving(size=(120, 40)) as driven:
        await driven.press("2", "s")
        assert "sort cost" in driven.inside("catalogue")
        tools = driven.inside("catalogue").splitlines()
        assert [line.split()[1] for line in tools if "≈" in line][1:3] == ["count", "send"]
        await driven.press("s")
        tools = driven.inside("catalogue").splitlines()
        assert [line.split()[1] for line in tools if "≈" in line][1:3] == ["echo", "add"]
