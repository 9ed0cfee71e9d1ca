"""The packing map: what it draws is what the nodes hold, for everybody who looks at it."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError, fromstring

import pytest
from hypothesis import given
from hypothesis import strategies as st

import binpackgen.report.packing_map
from binpackgen.report.packing_map import NodeRow, PackingMap, svg, text
from binpackgen.report.packing_map.cells import MOST_GROUPS, MOST_NODES
from binpackgen.report.packing_map.marks import COLORS, DARK_COLORS, PLAIN, marks
from binpackgen.report.packing_map.model import use_text
from binpackgen.report.printable import natural
from tests.unit.report.packing_maps import HOSTILE, cluster, filled, node, three
from tests.unit.report.wcag import DEFICIENCIES, contrast, distance

SVG = "{http://www.w3.org/2000/svg}"
BACKGROUNDS = ("#ffffff", "#0f1115")


def parsed(picture: str) -> Element:
    return fromstring(picture)  # noqa: S314 - our own text


def cells_of(picture: str) -> list[Element]:
    """The groups of nodes: those with a name of their own."""
    return [group for group in parsed(picture).iter(f"{SVG}g") if group.find(f"{SVG}title") is not None]


def squares(picture: str, kind: str) -> int:
    """How many squares of a class are drawn in cells; `c` stands for all jobs."""
    return sum(
        (path.get("d") or "").count("M")
        for cell in cells_of(picture)
        for path in cell.iter(f"{SVG}path")
        if re.fullmatch(kind if kind != "c" else r"c\d", path.get("class") or "")
    )


def frames(picture: str, kind: str) -> int:
    return sum(rect.get("class") == kind for cell in cells_of(picture) for rect in cell.findall(f"{SVG}rect"))


def words(picture: str) -> list[str]:
    return [element.text or "" for element in parsed(picture).iter(f"{SVG}text")]


class TestDrawn:
    """Squares, frames and letters are those of the nodes."""

    @pytest.mark.parametrize("gpu_nodes", [1, 20, 200])
    def test_every_device_is_a_square(self, gpu_nodes: int) -> None:
        """Held devices are filled and carry a letter, free ones are hollow; empty nodes have their own frame."""
        for drawn in three(gpu_nodes, gpu_nodes, 5):
            held = sum(node.used for node in drawn.nodes)
            free = sum(len(node.slots) for node in drawn.nodes) - held
            used = sum(node.in_use for node in drawn.nodes)
            picture = svg([drawn])
            letters = sum(
                len(element.text or "")
                for cell in cells_of(picture)
                for element in cell.iter(f"{SVG}text")
                if "letter" in (element.get("class") or "")
            )

            assert (held, free, held) == (squares(picture, "c"), squares(picture, "free"), letters)
            assert (used, len(drawn.nodes) - used) == (frames(picture, "used"), frames(picture, "empty"))

    def test_one_device_more_is_seen(self) -> None:
        """Negative control of the counts: a device that is taken moves a square from free to held."""
        before, after = node(), node(slots=("a", *[None] * 7))

        assert 0 == squares(svg([PackingMap("t", (before,))]), "c")
        assert 1 == squares(svg([PackingMap("t", (after,))]), "c")
        assert 7 == squares(svg([PackingMap("t", (after,))]), "free")

    def test_the_fullest_come_first(self) -> None:
        """Packing is seen as a short, full front, whatever the order of the rows."""
        rows = (
            node("n-1"),
            node("n-10", slots=("a",) * 8),
            node("n-2", slots=("a",) * 8),
            node("n-3", slots=("b", *[None] * 7)),
        )
        names = [
            str(cell.findtext(f"{SVG}title")).partition(":")[0]
            for cell in cells_of(svg([PackingMap("t", rows)]))
        ]

        assert ["n-2", "n-10", "n-3", "n-1"] == names

    def test_a_node_with_cpu_work_only_is_in_use(self) -> None:
        """Its devices are free, but it can't be given back."""
        picture = svg([PackingMap("t", (node(cpu=0.25),))])

        assert (1, 0, 8) == (frames(picture, "used"), frames(picture, "empty"), squares(picture, "free"))

    def test_a_node_without_devices_has_bars(self) -> None:
        """As long as the shares are, and with the figures in words."""
        picture = svg([PackingMap("t", (node("cpu-1", "cpu", (), 0.5, 0.2504),))])
        lengths = {
            kind: [
                float(rect.get("width", ""))
                for rect in parsed(picture).iter(f"{SVG}rect")
                if rect.get("class") == kind
            ]
            for kind in ("free", "share")
        }

        assert [0.5, 0.25] == [
            round(share / full, 2) for share, full in zip(lengths["share"], lengths["free"], strict=True)
        ]
        assert {"50.0%", "25.0%"} <= set(words(picture))

    def test_each_node_names_its_jobs(self) -> None:
        """In its title, which browsers show as a tooltip."""
        rows = (node("n-1", slots=("train", "train", "infer", *[None] * 5), cpu=0.613, memory=0.4),)
        titles = [cell.findtext(f"{SVG}title") for cell in cells_of(svg([PackingMap("t", rows)]))]

        assert ["n-1: 3 of 8 GPUs in use (train 2, infer 1), cpu 61.3%, memory 40.0%"] == titles

    @pytest.mark.parametrize(
        ("rows", "expected"),
        [
            ([], "no nodes"),
            ([node()], "0 of 1 node in use"),
            ([node(), node("b", slots=("j",) * 8)], "1 of 2 nodes in use, no GPU free on used nodes"),
            ([node("b", slots=(*["j"] * 7, None))], "1 of 1 node in use, 1 GPU free on used nodes"),
            ([node("b", slots=(None, "j", None))] * 2, "2 of 2 nodes in use, 4 GPUs free on used nodes"),
            (
                [node("c", "cpu", (), 0.5, 0.25), node("d", "cpu", (), 0.25, 0.25), node("e", "cpu", ())],
                "2 of 3 nodes in use, 62.5% of cpu and 75.0% of memory free on used nodes",
            ),
        ],
    )
    def test_the_counts_in_words(self, rows: list[NodeRow], expected: str) -> None:
        """What is free counts only where it costs: on nodes that are in use."""
        picture = svg([PackingMap("after", tuple(rows))])

        assert expected == use_text(rows)
        assert expected in str(parsed(picture).findtext(f"{SVG}desc"))
        assert set(expected.split(", ", 1)) <= set(words(picture))

    def test_the_legend_names_few_jobs(self) -> None:
        """Twelve jobs are named; of more, only how many there are is told."""
        few = PackingMap("t", tuple(node(f"n-{i}", slots=(f"job-{i}",)) for i in range(12)))
        many = PackingMap("t", tuple(node(f"n-{i}", slots=(f"job-{i}",)) for i in range(13)))

        assert {f"job-{i}" for i in range(12)} <= set(words(svg([few])))
        assert "13 jobs; each node's tooltip names its own" in words(svg([many]))
        assert "job-1" not in words(svg([many]))

    def test_nothing_is_drawn_outside(self) -> None:
        """Frames and bars lie within the picture, for nodes of 1 to 80 devices and none."""
        for slots in (0, 1, 2, 4, 7, 8, 16, 17, 64, 80):
            for count in (1, 41, 241):
                rows = tuple(
                    node(f"n-{i}", slots=("j", *[None] * (slots - 1)) if slots else ()) for i in range(count)
                )
                root = parsed(svg([PackingMap("t", rows)] * 3))
                _, _, width, height = map(float, str(root.get("viewBox")).split())
                for cell in root.iter(f"{SVG}g"):
                    x, y = map(float, re.findall(r"[\d.]+", cell.get("transform", "translate(0 0)")))
                    for rect in cell.findall(f"{SVG}rect"):
                        right = x + float(rect.get("x", "")) + float(rect.get("width", ""))
                        bottom = y + float(rect.get("y", "")) + float(rect.get("height", ""))

                        assert (right <= width, bottom <= height) == (True, True), (slots, count)


class TestCompared:
    """Maps side by side can be compared."""

    def test_a_job_keeps_its_mark(self) -> None:
        """In one picture, and in pictures that stand beside each other."""
        first = PackingMap("before", (node("n-1", slots=("b",)),))
        second = PackingMap("after", (node("n-1", slots=("a",)), node("n-2", slots=("b",))))

        def mark_of_b(picture: str) -> set[str | None]:
            return {
                path.get("class")
                for cell in cells_of(picture)
                if "(b 1)" in str(cell.findtext(f"{SVG}title"))
                for path in cell.iter(f"{SVG}path")
            }

        assert {"c1"} == mark_of_b(svg([first, second]))
        assert {"c1"} == mark_of_b(svg([first], beside=[second]))
        assert {"c0"} == mark_of_b(svg([first]))

    def test_pools_stand_at_one_height(self) -> None:
        """Also where a map has none of a pool, or more nodes in the pool above."""
        maps = [
            PackingMap("one", (node("a-1", "a"), node("b-1", "b"))),
            PackingMap("two", (*(node(f"a-{i}", "a") for i in range(9)), node("b-1", "b"))),
            PackingMap("three", (node("b-1", "b"),)),
        ]
        heights: dict[str, list[str | None]] = {}
        for element in parsed(svg(maps)).iter(f"{SVG}text"):
            if element.get("class") == "pool":
                heights.setdefault(str(element.text), []).append(element.get("y"))

        assert {"a": 2, "b": 3} == {pool: len(found) for pool, found in heights.items()}
        assert {"a": 1, "b": 1} == {pool: len(set(found)) for pool, found in heights.items()}

    def test_more_than_three_maps_go_below(self) -> None:
        """The picture is never wider than three."""
        maps = [PackingMap(str(i), (node(),)) for i in range(5)]

        assert parsed(svg(maps[:3])).get("width") == parsed(svg(maps)).get("width")
        assert float(str(parsed(svg(maps[:3])).get("height"))) < float(str(parsed(svg(maps)).get("height")))

    def test_no_maps(self) -> None:
        """An empty picture is a picture."""
        assert "no nodes" == parsed(svg([])).findtext(f"{SVG}title")


class TestSize:
    """Large clusters stay readable."""

    def test_every_node_up_to_the_limit(self) -> None:
        """And from there on, groups."""
        for count, cells in ((MOST_NODES, MOST_NODES), (MOST_NODES + 1, 1)):
            assert cells == len(cells_of(svg([PackingMap("t", tuple(node(f"n-{i}") for i in range(count)))])))

    @pytest.mark.parametrize("jobs", [40, 2500])
    def test_two_thousand_nodes(self, jobs: int) -> None:
        """Equal nodes are drawn once with their number; the numbers add up, and the file stays small."""
        for drawn in three(2000, jobs, 200):
            picture = svg([drawn])
            numbers = [word.removeprefix("× ") for word in words(picture) if re.fullmatch(r"× [\d,]+", word)]
            total = sum(int(number.replace(",", "")) for number in numbers)
            alone = len(cells_of(picture)) - len(numbers)

            assert len(drawn.nodes) == total + alone
            assert len(cells_of(picture)) <= MOST_GROUPS
            assert len(picture) < 100_000

    def test_grouped_nodes_still_show_their_jobs(self) -> None:
        """While there are few groups; devices in another order are the same group."""
        rows = [node(f"a-{i}", slots=("x", "y")) for i in range(200)]
        rows += [node(f"b-{i}", slots=("y", "x")) for i in range(100)]
        picture = svg([PackingMap("t", tuple(rows))])

        assert ["300 nodes like a-0: 2 of 2 GPUs in use (x 1, y 1), cpu 0.0%, memory 0.0%"] == [
            cell.findtext(f"{SVG}title") for cell in cells_of(picture)
        ]
        assert (2, 0) == (squares(picture, "c"), squares(picture, "plain"))

    def test_many_jobs_are_not_told_apart(self) -> None:
        """A thousand nodes with a job of their own would be a thousand groups; how full they are is one."""
        rows = tuple(node(f"n-{i}", slots=(f"job-{i}", None)) for i in range(1000))
        picture = svg([PackingMap("t", rows)])

        assert (1, 0, 1) == (len(cells_of(picture)), squares(picture, "c"), squares(picture, "plain"))


class TestSafe:
    """Names can be anything."""

    def hostile(self) -> PackingMap:
        rows = (
            node(HOSTILE, HOSTILE, (HOSTILE, None)),
            node(HOSTILE + "2", HOSTILE + "2", ()),
            node("\ud800", "", ("]]>", "--")),
        )
        return PackingMap(HOSTILE, rows)

    def test_names_change_no_structure(self) -> None:
        """The elements and attributes are those of a map with harmless names."""
        harmless = PackingMap(
            "t", (node("a", "a", ("a", None)), node("b", "b", ()), node("c", "", ("d", "e")))
        )

        def shape(picture: str) -> list[tuple[str, list[str]]]:
            return [(element.tag, sorted(element.attrib)) for element in parsed(picture).iter()]

        assert shape(svg([harmless])) == shape(svg([self.hostile()]))

    def test_unescaped_names_would_be_noticed(self) -> None:
        """Negative control: the same name put in without escaping breaks the file."""
        picture = svg([PackingMap("t", (node("NAME"),))])

        with pytest.raises(ParseError):
            parsed(picture.replace("NAME", HOSTILE))

    def test_no_character_steers_a_reader(self) -> None:
        """No control characters, terminal escapes or turned reading direction, in either form."""
        for form in (svg([self.hostile()]), text(self.hostile(), 80)):
            assert [] == [char for char in form if char != "\n" and not char.isprintable()]

    def test_no_scripts_and_nothing_from_outside(self) -> None:
        """The only address is the name of the SVG namespace."""
        picture = svg(three())
        tags = {element.tag.removeprefix(SVG) for element in parsed(picture).iter()}
        attributes = {name for element in parsed(picture).iter() for name in element.attrib}

        assert {"svg", "title", "desc", "style", "g", "rect", "path", "text"} == tags
        assert set() == {
            name for name in attributes if name.startswith("on") or "href" in name or name == "style"
        }
        assert ["http://www.w3.org/2000/svg"] == re.findall(r"\w+://[^\"']*", picture)
        assert [] == re.findall(r"@import|url\(|@font-face", picture)

    @given(
        st.lists(
            st.builds(
                NodeRow,
                st.text(max_size=30),
                st.sampled_from(["a", "b", "é\u0301\u200b", "漢字" * 20]),
                st.lists(st.none() | st.text(max_size=3), max_size=20).map(tuple),
                st.floats(0, 1.5),
                st.floats(0, 1.5),
            ),
            max_size=12,
        )
    )
    def test_any_map_can_be_drawn(self, rows: list[NodeRow]) -> None:
        """Whatever the names and shares, the picture is well-formed and has every node, the text every pool."""
        drawn = PackingMap("t", tuple(rows))

        assert len(rows) == len(cells_of(svg([drawn])))
        assert len(drawn.pools) <= text(drawn, 100).count("\n") - 1

    def test_long_names_are_shortened(self) -> None:
        """The whole name stands in the node's title; what is drawn keeps the end, where names differ."""
        name = "gpu-node-in-a-very-long-named-cluster-of-the-east-0001"
        picture = svg([PackingMap("t" * 300, (node(name, "p" * 300),))])

        assert max(len(word) for word in words(picture)) <= 40
        assert any(word.startswith("…") and word.endswith("-0001") for word in words(picture))
        assert name in str(cells_of(picture)[0].findtext(f"{SVG}title"))


class TestDeterminism:
    """The same maps give the same bytes."""

    def test_in_other_processes(self) -> None:
        """Whatever the hash seed."""
        code = (
            "from tests.unit.report.packing_maps import three\n"
            "from binpackgen.report.packing_map import svg, text\n"
            "print(svg(three()), svg(three(200, 400)), text(three()[1], 80))"
        )
        outputs = {
            subprocess.run(
                [sys.executable, "-c", code],
                env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
                cwd=Path(__file__).parents[3],
                check=True,
                capture_output=True,
            ).stdout
            for seed in ("1", "2")
        }

        assert 1 == len(outputs)

    def test_the_order_of_nodes_in_a_pool_is_none(self) -> None:
        """The rows come from a server, in any order."""
        rows = filled("t", 20, 30).nodes
        pool = [node for node in rows if node.pool == "gpu-a100"]

        assert svg([PackingMap("t", tuple(pool))]) == svg([PackingMap("t", tuple(reversed(pool)))])

    def test_another_map_gives_another_picture(self) -> None:
        """Negative control."""
        before, after, control = three()

        assert 3 == len({svg([before]), svg([after]), svg([control])})


class TestColors:
    """Color is never the only channel, and works for everybody."""

    @pytest.mark.parametrize("background", BACKGROUNDS)
    @pytest.mark.parametrize("color", [*COLORS, PLAIN])
    def test_slots_stand_out(self, color: str, background: str) -> None:
        """By 3:1 from a light page and from a dark one (WCAG 2.2, 1.4.11)."""
        assert contrast(color, background) >= 3

    @pytest.mark.parametrize("color", COLORS)
    def test_letters_are_readable(self, color: str) -> None:
        """By 4.5:1 (WCAG 2.2, 1.4.3)."""
        assert contrast(color, "#fff" if color in DARK_COLORS else "#000") >= 4.5

    def test_a_usual_palette_fails(self) -> None:
        """Negative control: the yellow and the sky blue of a well-known palette can't be seen on white."""
        assert [True, True] == [contrast(color, "#ffffff") < 3 for color in ("#F0E442", "#56B4E9")]

    @pytest.mark.parametrize("deficiency", DEFICIENCIES)
    def test_colors_differ_for_the_color_blind(self, deficiency: str) -> None:
        """Any two by many times what is just noticeable."""
        closest = min(distance(a, b, deficiency) for a, b in itertools.combinations(COLORS, 2))

        assert closest >= 20

    def test_red_and_green_of_one_lightness_do_not(self) -> None:
        """Negative control: what a deuteranope can't tell apart is found to be close."""
        assert distance("#c0504d", "#7a7a33", "deuteranopia") < 20 < distance("#c0504d", "#7a7a33", "none")

    def test_text_is_readable_in_both_schemes(self) -> None:
        """Headings and small print alike, by 4.5:1."""
        style = str(parsed(svg([])).findtext(f"{SVG}style"))
        light, dark = style.split("@media screen and (prefers-color-scheme: dark)")
        for scheme, background in zip((light, dark), BACKGROUNDS, strict=True):
            for name in ("ink", "soft"):
                found = re.search(rf"--{name}: (#\w+)", scheme)

                assert found
                assert contrast(found[1], background) >= 4.5

    def test_jobs_differ_in_letter_or_color(self) -> None:
        """182 of them do; the first 26 in the letter."""
        given_marks = marks(f"job-{i}" for i in range(182))
        first = list(given_marks.values())[:26]

        assert Counter(given_marks.values()).most_common(1)[0][1] == 1
        assert 26 == len({mark.letter for mark in first})
        assert 2 == Counter(marks(f"job-{i}" for i in range(183)).values()).most_common(1)[0][1]

    def test_the_map_speaks_of_nodes_and_jobs_only(self) -> None:
        """It serves other commands, too: no word in it belongs to one of them."""
        folder = Path(binpackgen.report.packing_map.__file__).parent
        source = "".join(file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.py")))

        assert [] == re.findall(r"(?i)e2e|scenario|negative|simulat|outcome", source)


class TestText:
    """The map in a terminal."""

    def test_a_line_per_pool(self) -> None:
        """Equal nodes together, the fullest first, pools in the order of the rows."""
        assert text(filled("after", 20, 24, 6), 100) == (
            "after: 18 of 26 nodes in use, 4 GPUs free on used nodes\n"
            "  gpu-a100  ████████ x 8   ████░░░░ x 1   ░░░░░░░░ x 4\n"
            "  gpu-l40s  ████ x 7\n"
            "  cpu       cpu ███████░ memory █████░░░ x 2   cpu ░░░░░░░░ memory ░░░░░░░░ x 4\n"
        )

    def test_a_narrow_terminal_gets_more_lines(self) -> None:
        """And no line is wider."""
        rows = tuple(
            node(f"n-{i}-{j}", slots=("j",) * i + (None,) * (8 - i)) for i in range(9) for j in range(i + 1)
        )

        assert text(PackingMap("after", rows), 44) == (
            "after: 44 of 45 nodes in use, 112 GPUs free on used nodes\n"
            "  gpu-a100  ████████ x 9   ███████░ x 8\n"
            "            ██████░░ x 7   █████░░░ x 6\n"
            "            ████░░░░ x 5   ███░░░░░ x 4\n"
            "            ██░░░░░░ x 3   █░░░░░░░ x 2\n"
            "            ░░░░░░░░ x 1\n"
        )

    def test_special_nodes(self) -> None:
        """CPU work on a GPU node, many shared devices, a node of no pool, a sliver of cpu, no nodes."""
        rows = (
            node("n-1", "", (None, None), cpu=0.3),
            node("n-2", "mig", ("j",) * 30 + (None,) * 50),
            node("n-3", "cpu", (), 0.001, 0.999),
        )

        assert text(PackingMap("now", rows), 80) == (
            "now: 3 of 3 nodes in use, 52 GPUs free on used nodes\n"
            "  no pool  ░░ x 1 with cpu work only\n"
            "  mig      ███░░░░░ 30/80 x 1\n"
            "  cpu      cpu █░░░░░░░ memory ███████░ x 1\n"
        )
        assert text(PackingMap("now", ()), 80) == "now: no nodes\n"

    def test_the_numbers_add_up(self) -> None:
        """Over all groups, every node is told once."""
        drawn = filled("t", 300, 500, 40, packed=False)
        numbers = re.findall(r" x (\d+)", text(drawn, 100))

        assert len(drawn.nodes) == sum(map(int, numbers))


class TestNatural:
    """Names with numbers sort as people count."""

    def test_numbers_by_value(self) -> None:
        """Not by digit."""
        assert ["n-2", "n-10", "n-10a", "n-10b"] == sorted(["n-10b", "n-10", "n-2", "n-10a"], key=natural)

    @given(st.text(), st.text())
    def test_two_names_never_tie(self, one: str, other: str) -> None:
        """Else the order would be that of a set."""
        assert (one == other) == (natural(one) == natural(other))


def test_the_fixture_packs() -> None:
    """The maps of these tests are what they say: best fit uses fewer nodes than worst fit."""
    _, after, control = three(20, 24)
    used = [sum(node.in_use for node in drawn.nodes) for drawn in (after, control)]

    assert [18, 19] == used
    assert 26 == len(cluster(20, cpu_nodes=6))
