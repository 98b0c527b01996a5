"""Pictures of every page of the app, at two widths, light and dark, for a person to look at.

    python scripts/screenshots.py OUT [--root ROOT] [--only PART]

Each page is opened anew and photographed at its full height once it has settled. Pages that fail,
that scroll sideways, or on which the browser meets an error are named on stderr; the others are
done all the same. The exit code is 1 if any picture failed.
"""

import argparse
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from PIL import Image, ImageDraw
from playwright.sync_api import Browser, Page, expect
from playwright.sync_api import Error as BrowserError
from running_app import MEASURED, PATIENCE, MissingError, Visit, chromium, started, visiting

SIZES = {1280: (1280, 900), 390: (390, 844)}
SCHEMES = ("light", "dark")
STATES_AT = ((1280, "light"), (390, "dark"))
TALLEST = 4_000  # pixels of a picture
LAB_ENDED = "Download the measurements"
LONG = (
    "When the storm had passed over the harbour and the last of the boats had come in, the old "
    "keeper climbed the narrow stairs of the tower again, lit the lamp that she had trusted for "
    "forty years, and wrote down in her book, as she did every night, how many lights she could "
    "count on the water and which of them had not yet found the way home."
)

SIDEWAYS = """() => {
    const main = document.querySelector('[data-testid="stMain"]');
    return document.documentElement.scrollWidth > window.innerWidth
        || main.scrollWidth > main.clientWidth + 1;
}"""


class State(NamedTuple):
    """A state of a page: how the visitor gets there after opening it."""

    name: str
    path: str
    reach: Callable[[Visit], None]


def opened(sign: str = MEASURED) -> Callable[[Visit], None]:
    """The page as it opens."""
    return lambda visit: visit.settled(sign)


def long_sentence(visit: Visit) -> None:
    """A sentence of about sixty words."""
    visit.settled()
    visit.type_text(LONG)
    expect(visit.page.get_by_text("harbour").last).to_be_visible(timeout=PATIENCE)
    visit.settled()


def empty_field(visit: Visit) -> None:
    """Nothing typed, and Run pressed."""
    visit.settled()
    visit.type_text("")
    visit.quiet()


def form(name: str) -> Callable[[Visit], None]:
    """The head in another form than a map."""

    def reach(visit: Visit) -> None:
        visit.settled()
        visit.page.get_by_text(name, exact=True).first.click()
        visit.quiet()

    return reach


def tall_picture(visit: Visit) -> None:
    """A picture ten times as tall as wide, uploaded."""
    visit.settled()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tall.png"
        stripes().save(file)
        visit.page.get_by_role("button", name="Add pictures").click()
        visit.page.locator('input[type="file"]').first.set_input_files(file)
        expect(visit.page.get_by_text(re.compile("2000 x 200"))).to_be_visible(timeout=PATIENCE)
    visit.page.keyboard.press("Escape")
    visit.settled()


def stripes() -> Image.Image:
    """200 x 2000 pixels: a shade from top to bottom, and discs down the middle."""
    picture = Image.linear_gradient("L").resize((200, 2000)).convert("RGB")
    pen = ImageDraw.Draw(picture)
    for top in range(100, 2000, 300):
        pen.ellipse((50, top, 150, top + 100), fill=(200, 80, 30))
    return picture


def section(name: str) -> Callable[[Visit], None]:
    """A section of the CLIP page."""

    def reach(visit: Visit) -> None:
        visit.settled()
        choices = visit.page.get_by_role("radiogroup", name="Show")
        choices.get_by_text(name, exact=True).click()
        visit.quiet()
        visit.settled()

    return reach


def whole_model(visit: Visit) -> None:
    """The second section of the Lab, when its first run has ended."""
    page: Page = visit.page
    page.get_by_text("A whole model", exact=True).click(timeout=PATIENCE)
    expect(page.get_by_role("heading", name="What each mechanism costs")).to_be_visible(
        timeout=PATIENCE
    )
    visit.settled(LAB_ENDED)


PAGES = (
    State("text", "", opened()),
    State("image", "image", opened()),
    State("clip", "clip", opened()),
    State("lab", "lab", opened(LAB_ENDED)),
)
STATES = (
    State("text-long", "", long_sentence),
    State("text-empty", "", empty_field),
    State("text-arcs", "", form("arcs")),
    State("text-table", "", form("table")),
    State("image-tall", "image", tall_picture),
    State("clip-zero-shot", "clip", section("Zero-shot")),
    State("clip-matrix", "clip", section("Matrix")),
    State("clip-why", "clip", section("Why")),
    State("clip-retrieval", "clip", section("Retrieval")),
    State("lab-whole", "lab", whole_model),
)


def wanted(part: str) -> Iterator[tuple[State, int, str]]:
    """Every picture whose name holds `part`: a state, a width, a scheme."""
    everywhere = [(width, scheme) for width in SIZES for scheme in SCHEMES]
    for states, places in ((PAGES, everywhere), (STATES, STATES_AT)):
        for state in states:
            for width, scheme in places:
                if part in f"{state.name}-{width}-{scheme}":
                    yield state, width, scheme


def photograph(page: Page, file: Path) -> None:
    """The page at its full height; its main part scrolls by itself, so the window grows."""
    size = page.viewport_size
    page.mouse.move(0, 0)  # a button under the pointer looks different
    height = page.get_by_test_id("stMain").evaluate("(main) => main.scrollHeight")
    page.set_viewport_size({"width": size["width"], "height": min(TALLEST, height + 80)})
    page.wait_for_timeout(700)
    page.screenshot(path=file)
    page.set_viewport_size(size)


def take(browser: Browser, address: str, state: State, at: tuple[int, str], file: Path) -> bool:
    """One picture; whether it could be taken, and on stderr what was wrong with its page.

    Of a page that fails there is a picture too, as it stood then.
    """
    width, scheme = at
    troubles: list[str] = []
    try:
        with visiting(browser, address, state.path, SIZES[width], scheme) as visit:
            troubles = visit.troubles
            try:
                state.reach(visit)
            except (BrowserError, AssertionError, MissingError):
                photograph(visit.page, file.with_stem(f"{file.stem}-failed"))
                raise
            if visit.page.evaluate(SIDEWAYS):
                troubles.append("scrolls sideways")
            photograph(visit.page, file)
    except (BrowserError, AssertionError, MissingError) as error:
        sys.stderr.write(f"{file.stem}: FAILED: {' '.join(str(error).split())[:300]}\n")
        return False
    finally:
        for trouble in troubles:
            sys.stderr.write(f"{file.stem}: {trouble}\n")
    return True


def read_arguments() -> argparse.Namespace:
    """What is to be photographed, and where the pictures go."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("out", type=Path, help="folder of the pictures; made if it is not there")
    parser.add_argument(
        "--root", type=Path, default=Path(__file__).resolve().parents[1], help="checkout to start"
    )
    parser.add_argument("--only", default="", help="only pictures whose name holds this")
    return parser.parse_args()


def main() -> int:
    """Take all pictures of one running app."""
    arguments = read_arguments()
    arguments.out.mkdir(parents=True, exist_ok=True)
    failed, taken = 0, 0
    with started(arguments.root) as app, chromium() as browser:
        for state, width, scheme in wanted(arguments.only):
            file = arguments.out / f"{state.name}-{width}-{scheme}.png"
            done = take(browser, app.address, state, (width, scheme), file)
            taken, failed = taken + done, failed + (not done)
    sys.stderr.write(f"{taken} pictures in {arguments.out}, {failed} failed\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
