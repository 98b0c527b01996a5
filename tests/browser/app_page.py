"""The running app in a browser: opening a page, finding its canvases, counting what is sent."""

from collections.abc import Callable
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Locator, Page, expect

PATIENCE = 90_000  # milliseconds: two cores, and a model may load first


class Visit:
    """One visitor's page, and everything that it exchanged with the server."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.received: list[int] = []
        self.sent: list[int] = []
        self.errors: list[str] = []
        self.elsewhere: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", self._note_host)
        page.on("websocket", self._listen)

    def _note_host(self, request) -> None:
        host = urlsplit(request.url).hostname
        if host not in (None, "127.0.0.1"):  # data: and blob: have none
            self.elsewhere.append(request.url)

    def _listen(self, socket) -> None:
        socket.on("framereceived", lambda frame: self.received.append(len(frame)))
        socket.on("framesent", lambda frame: self.sent.append(len(frame)))

    def canvas(self, label: str) -> Locator:
        return self.page.locator(f'canvas[aria-label*="{label}"]').first

    def settled(self) -> None:
        """Wait until the page stands: the cost is there and the script has ended."""
        expect(self.page.get_by_text("verified").first).to_be_visible(timeout=PATIENCE)
        expect(self.page.get_by_test_id("stStatusWidget")).to_have_count(0, timeout=PATIENCE)
        self.page.wait_for_timeout(400)  # the last frame is drawn after the script has ended

    def quiet(self) -> None:
        """Wait until nothing has come from the server for a second: answers to earlier clicks."""
        heard = -1
        while heard != len(self.received):
            heard = len(self.received)
            self.page.wait_for_timeout(1000)

    def click_cell(self, label: str, across: float, down: float) -> None:
        """Click a canvas at a share of its width and height."""
        canvas = self.canvas(label)
        canvas.scroll_into_view_if_needed()
        box = canvas.bounding_box()
        canvas.click(position={"x": box["width"] * across, "y": box["height"] * down})

    def scrolls_sideways(self) -> bool:
        return self.page.evaluate(
            """() => {
                const main = document.querySelector('[data-testid="stMain"]');
                return document.documentElement.scrollWidth > window.innerWidth
                    || main.scrollWidth > main.clientWidth + 1;
            }"""
        )

    def headings(self) -> list[str]:
        return [text.strip() for text in self.page.locator("h3").all_inner_texts()]

    def choose_mechanism(self, name: str) -> None:
        self.page.get_by_role("combobox", name="Mechanism").click()
        self.page.get_by_role("option", name=name, exact=True).click()


def opener(browser: Browser, address: str) -> Callable[..., Visit]:
    def open_page(path: str = "", *, width: int = 1280, scheme: str = "light") -> Visit:
        size = {"width": width, "height": 900}
        visit = Visit(browser.new_page(viewport=size, color_scheme=scheme))
        visit.page.goto(f"http://{address}/{path}")
        visit.settled()
        return visit

    return open_page
