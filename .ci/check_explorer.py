"""Use the explorer of pipeline schedules in the built book (part of check_book.py), and compare with Python.

What is shown of a setting is worked out here anew by the functions of reference.pipeline: every box of a chart with its
times, every figure, what each rank does or waits for, and the words with which a schedule is refused. Where the book
has a Python for its pages, numbers are typed that no list has, and the page must show what Python finds here.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qsl, urldefrag

from reference.pages.plans import LIMITS, PASS_SECONDS, PassSeconds
from reference.perf.pace import pace
from reference.pipeline.analysis.draw import labels
from reference.pipeline.analysis.formulas import bubble
from reference.pipeline.analysis.versions import kept_versions
from reference.pipeline.schedule import KINDS, Schedule, needs
from reference.pipeline.schedules import SCHEDULES, make
from reference.pipeline.schedules.record import NoClosedForm
from reference.pipeline.simulate import Times, activations, simulate

LINK = "explore="  # how a link to a setting begins, after its #
PYTHON_SECONDS = 60  # for Python to start in a page and to work something out
PYTHON = "meta[name=erc-python]"
OWN = "own"  # the choice of one's own seconds

SHOWN = """widget => {
  const texts = (part, within = widget) => [...within.querySelectorAll(part)].map(e => e.textContent);
  const rows = [...widget.querySelectorAll('.figures tr')].map(row => texts('th, td', row));
  return {
    titles: texts('.charts .title'), refused: texts('.refused'),
    time: Number(widget.querySelector('.time').textContent),
    figures: Object.fromEntries(rows.slice(1).map(([name, ...values]) => [name, values])),
    bars: [...widget.querySelectorAll('.chart')].map(chart => texts('rect title', chart).sort()),
    doing: [...widget.querySelectorAll('.ranks table')].map(table => texts('.doing', table)),
    cut: [...widget.querySelectorAll('.scroll')].filter(each => each.scrollWidth > each.clientWidth).length,
    widths: [...new Set([...widget.querySelectorAll('.chart svg')].map(svg => svg.getAttribute('width')))],
    costs: [...widget.querySelectorAll('.costs > label > select, .costs > label > input')].map(each => each.value),
    told: widget.querySelector('.copied').textContent,
    problem: widget.querySelector('.problem').textContent,
    question: widget.querySelector('.question').hidden ? null : widget.querySelector('.question .title').textContent,
    detail: widget.querySelector('.detail').textContent,
  };
}"""


def short(seconds: float) -> str:
    """Seconds as the explorer writes them."""
    return f"{round(seconds, 3):g}"


def title_of(name: str, p: str, m: str, v: str) -> str:
    """The title of a setting's chart."""
    title = f"p = {p}, m = {m}" + (f", v = {v}" if SCHEDULES[name].chunks is None else "")
    return f"{name}, " + title.replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")


def closed(setting: tuple, work: PassSeconds, send: float) -> str:
    """How what is shown of the closed form of the bubble must begin."""
    try:
        return f"{100 * bubble(*setting, work.whole(send)):.1f} %idle"
    except NoClosedForm as error:
        return f"–{error}"[:20]


def figures_of(schedule: Schedule, times: Times) -> dict[str, str]:
    """The figures that must be shown of one simulation."""
    peak = max(activations(schedule)) * schedule.ranks / schedule.stages
    return {
        "makespan (s)": short(times.makespan),
        "bubble, share of the makespan": f"{100 * times.bubble:.1f} %",
        "bubble, share of the longest span": f"{100 * times.bubble_of_spans:.1f} %",
        "peak activations, worst rank": f"{round(peak, 2):g}",
        "versions of the weights": str(max(kept_versions(schedule))),
    }


def bars_of(schedule: Schedule, times: Times) -> list[str]:
    """What the boxes of a chart must say, in alphabetical order."""
    return sorted(
        f"{label}: {KINDS[kind]}, stage {stage}, micro-batch {micro}, rank {r}, {short(start)} to {short(end)} s"
        for r, row in enumerate(zip(schedule, labels(schedule), times.starts, times.ends))
        for (kind, stage, micro), label, start, end in zip(*row)
        if end > start
    )


def doing_of(schedule: Schedule, times: Times, now: float) -> list[set[str]]:
    """Of each rank what may be said of it at a time; several things if what it needs comes from two at once."""
    names = {action: label for row in zip(schedule, labels(schedule)) for action, label in zip(*row)}
    ends = {action: end for row in zip(schedule, times.ends) for action, end in zip(*row)}
    told = []
    for r, (order, starts, own) in enumerate(zip(schedule, times.starts, times.ends)):
        spans = [(action, start) for action, start, end in zip(order, starts, own) if end > max(start, now + 1e-3)]
        running = [names[action] for action, start in spans if start <= now + 1e-3]
        if running or not spans:
            told.append({" and ".join(running) or "done"})
            continue
        first = spans[0][1]
        wanted = [need for action, start in spans if start == first for need in needs(action, schedule)]
        wanted = [need for need in wanted if schedule.places[need][0] != r]
        latest = [need for need in wanted if ends[need] == max(ends[each] for each in wanted)]
        froms = [f"{names[need]} from rank {schedule.places[need][0]}" for need in latest]
        told.append({f"waits for {each}, there at {short(first)}" for each in froms})
    return told


class Explored:
    """Drives one explorer and compares what it shows with what Python finds."""

    def __init__(self, check, page, where: str, settings: list[str]):
        self.check, self.page, self.where, self.settings = check, page, where, settings
        self.work, self.send, self.own = "1:1:1", "0", PASS_SECONDS["1:1:1"]
        page.wait_for_selector(".erc-explorer[data-ready]", state="attached")
        self.widget = page.locator(".erc-explorer").first

    def set(self, control, value: str) -> None:
        """Choose from a list, or type."""
        if control.evaluate("each => each.tagName") == "SELECT":
            control.select_option(value)
        else:
            control.fill(value)
            control.press("Enter")
        gone = "widget => !widget.querySelector('.waits')"
        self.page.wait_for_function(gone, arg=self.widget.element_handle(), timeout=1000 * PYTHON_SECONDS * pace())

    def at(self, after: str, time: float | None = None) -> None:
        """Check that it shows these settings and costs, at this time if one is given."""
        shown, wrong = self.widget.evaluate(SHOWN), {}

        def same(what: str, is_shown, wanted) -> None:
            if is_shown != wanted:
                wrong[what] = (is_shown, wanted)

        keys = [key.split(".") for key in self.settings]
        same("titles", shown["titles"], [title_of(*key) for key in keys])
        if wrong:
            return self.check(False, f"{self.where} after {after}: (shown, chosen)", wrong)
        same("costs", shown["costs"], [self.work, self.send])
        same("time", shown["time"], shown["time"] if time is None else time)
        figures, bars, doing, refused = [], [], [], []
        for name, *sizes in keys:
            try:
                schedule = make(name, *map(int, sizes))
            except ValueError as error:
                refused.append(str(error))
                figures.append(None)
                continue
            times = simulate(schedule, self.own.costs(schedule, float(self.send)))
            figures.append(figures_of(schedule, times))
            told = shown["figures"]["by the closed form"][len(figures) - 1]
            form = closed((name, *map(int, sizes)), self.own, float(self.send))
            same(f"closed form of {name}", told[: len(form)], form)
            bars.append(bars_of(schedule, times))
            doing.append(doing_of(schedule, times, shown["time"]))
        same("refused", shown["refused"], refused)
        same("boxes", shown["bars"], bars)
        for one, wanted in zip(shown["doing"], doing, strict=True):
            same("doing", [text in allowed for text, allowed in zip(one, wanted, strict=True)], [True] * len(wanted))
        for name in next((each for each in figures if each), ()):
            same(name, shown["figures"].get(name), [each[name] if each else "–" for each in figures])
        same("scales", len(shown["widths"]), min(1, len(bars)))
        return self.check(not wrong, f"{self.where} after {after}: (shown, from Python)", str(wrong)[:800])

    def choose(self, row: int, **values: str) -> None:
        """Choose the name, p, m or v of the first or second schedule."""
        setting = dict(zip(("name", "p", "m", "v"), self.settings[row].split("."), strict=True))
        controls = self.widget.locator(".setting").nth(row).locator("select, input")
        for key, value in values.items():
            self.set(controls.nth(list(setting).index(key)), value)
            setting[key] = value
        setting["v"] = controls.nth(3).input_value()
        self.settings[row] = ".".join(setting.values())
        self.at(f"choosing {values}")

    def cost(self, work: str, send: str) -> None:
        """Choose costs."""
        for number, value in enumerate((work, send)):
            self.set(self.widget.locator(".costs > label > *").nth(number), value)
        self.work, self.send, self.own = work, send, PASS_SECONDS[work]
        self.at(f"choosing costs {work}, {send}")

    def type(self) -> None:
        """Type numbers that no list has, good ones and one that is refused."""
        self.choose(0, name="interleaved 1F1B", p="5", m="10", v="5")
        self.set(self.widget.locator(".costs > label > *").nth(0), OWN)
        self.work, seconds = OWN, list(self.own[1:])
        for place, value in enumerate((0.3, 0.45, 0.2, 0.5)):
            self.set(self.widget.locator(".own input").nth(place), str(value))
            seconds[place] = value
            self.own = PassSeconds("", *seconds)
            self.at(f"typing {value}")
        self.set(self.widget.locator(".costs > label > *").nth(1), "0.07")
        self.send = "0.07"
        self.at("typing what a message takes")
        controls, told = self.widget.locator(".setting").first.locator("select, input"), str(LIMITS["p"] + 1)
        self.set(controls.nth(1), told)
        refused = self.widget.evaluate(SHOWN)["refused"]
        self.check(refused == [f"p is a whole number from 1 to {LIMITS['p']}, got {told}"], f"{self.where}: {refused}")
        self.set(controls.nth(1), "5")

    def compare(self, hit: str) -> None:
        """Show a second schedule."""
        getattr(self.widget.locator(".compare"), hit)()
        other = self.widget.locator(".setting").nth(1).locator("select, input")
        self.settings.append(".".join(each.input_value() for each in other.all()))
        self.at("comparing")

    def keys(self) -> None:
        """Reach the charts with Tab alone, and step through time; the page must not take the keys for its own."""
        press, address = self.page.keyboard.press, self.page.url
        self.widget.locator("select").first.focus()
        for _ in range(20):
            press("Tab")
            if self.page.evaluate("document.activeElement.classList.contains('charts')"):
                break
        for key, step in {"Home": 0, "ArrowRight": 1, "ArrowLeft": 0, "End": None}.items():
            press(key)
            slider = self.widget.locator(".controls input")
            wanted = slider.get_attribute("max") if step is None else str(step)
            self.check(slider.input_value() == wanted, f"{self.where}: {key}", slider.input_value())
            self.at(key)
        press("Home")
        press("Space")  # plays
        self.page.wait_for_function("w => w.querySelector('.time').textContent > 0", arg=self.widget.element_handle())
        press("Space")
        self.at("playing")
        wide = self.widget.evaluate(SHOWN)["widths"]
        press("+")
        self.check(self.widget.evaluate(SHOWN)["cut"] > 0, f"{self.where}: + zooms in")
        press("-")
        shown = self.widget.evaluate(SHOWN)
        self.check(shown["widths"] == wide and shown["cut"] == 0, f"{self.where}: - zooms out; all is seen", shown)
        self.check(self.page.url == address, f"{self.where}: keys do not turn over the page", self.page.url)

    def through(self, every: int) -> None:
        """Go through time by the slider."""
        slider = self.widget.locator(".controls input")
        for step in range(0, int(slider.get_attribute("max")), every):
            slider.fill(str(step))
            self.at(f"moving the slider to {step}")

    def follow(self, link: str) -> None:
        """Follow a link of the book to a setting, from within the page."""
        asked = dict(parse_qsl(link))
        self.settings = [asked[name] for name in ("explore", "with") if name in asked]
        self.work, self.send = asked.get("work", "1:1:1"), asked.get("send", "0")
        self.own = PASS_SECONDS[self.work]
        self.page.evaluate(
            "link => new Promise(done => { if (location.hash === '#' + link) return done();"
            " onhashchange = () => done(); location.hash = link; })",
            link,
        )
        self.at(f"following {link}", float(asked.get("time", 0)))
        self.check(not (told := self.widget.evaluate(SHOWN)["problem"]), f"{self.where}: {link}", told)

    def questions(self) -> None:
        """Go from the first question of the page to the last: each stands above the chart, with its answer folded."""
        asked = self.page.locator(f"a[href^='#{LINK}']")
        titles = asked.evaluate_all(
            "links => links.map(each => each.closest('section').querySelector('h3').firstChild.data)"
        )
        asked.first.click()
        for number, title in enumerate(titles):
            self.page.wait_for_function(
                "title => document.querySelector('.question .title').textContent === title", arg=title
            )
            answer = self.widget.locator(".question details")
            self.check(not answer.evaluate("each => each.open"), f"{self.where}: the answer to {title!r} is folded")
            self.check(len(answer.evaluate("each => each.textContent")) > 100, f"{self.where}: {title!r} has an answer")
            following = self.widget.locator(".following")
            self.check(
                following.count() == (number < len(titles) - 1), f"{self.where}: a next question after {title!r}"
            )
            if following.count():
                following.click()

    def lost(self, link: str) -> None:
        """A link to what this page cannot show is told at the top of the explorer, and what was shown stays."""
        self.page.evaluate("link => new Promise(done => { onhashchange = () => done(); location.hash = link; })", link)
        told = self.widget.evaluate(SHOWN)["problem"]
        self.check("cannot show" in told, f"{self.where}: {link}", told)

    def link(self, context) -> None:
        """Copy the link, and open it: the same must be shown."""
        self.widget.locator(".link").click()
        self.check("copied" in self.widget.evaluate(SHOWN)["told"], f"{self.where}: the link is copied")
        url, shown = self.page.evaluate("navigator.clipboard.readText()"), self.widget.evaluate(SHOWN)
        other = context.new_page()
        other.goto(url, wait_until="load")
        again = Explored(self.check, other, f"{self.where}: its link", self.settings)
        again.work, again.send, again.own = self.work, self.send, self.own
        gone = "() => !document.querySelector('.erc-explorer .waits')"
        other.wait_for_function(gone, timeout=1000 * PYTHON_SECONDS * pace())
        again.at(f"opening {urldefrag(url).fragment}", shown["time"])
        other.close()


def check_explorer(check, browser, name: str, url: str, links: set[str], desktop: dict, phone: dict, wide: str) -> None:
    """Use the explorer by mouse and keyboard on a desktop, by touch on a phone; follow every link into it."""
    context = browser.new_context(viewport=desktop, permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.set_default_timeout(10_000)
    page.goto(url, wait_until="load")
    explored = Explored(check, page, f"{name} explorer on a desktop", ["1F1B.4.8.1"])
    explored.at("loading", 0)
    explored.choose(0, m="16")
    explored.choose(0, name="interleaved 1F1B")
    explored.choose(0, v="4", p="8")
    explored.cost("1:2:1", "0.25")
    explored.compare("click")
    explored.choose(1, name="DualPipe", p="4", m="8")
    explored.keys()
    explored.through(every=6)
    explored.link(context)
    explored.choose(0, name="ZB-V")
    explored.choose(1, m="2")  # refused
    explored.choose(1, name="interleaved 1F1B", m="8", v="3")  # thirds of seconds
    explored.through(every=40)
    explored.link(context)
    explored.cost("1:1:1, last stage x 1.5", "0")
    check(bool(links), f"{name}: some page links to a setting")
    for link in sorted(links):
        explored.follow(link)
    explored.lost(f"{LINK}nobody.4.8.1")
    explored.questions()
    if page.locator(PYTHON).count():
        explored.follow(min(links))
        if len(explored.settings) > 1:
            explored.widget.locator(".compare").click()
            del explored.settings[1:]
        explored.type()
        explored.link(context)
    else:
        print(f"{name}: no Python in the page (see book/_ext/live.py), so no numbers were typed")
    context.close()
    context = browser.new_context(viewport=phone, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.set_default_timeout(10_000)
    page.goto(url, wait_until="load")
    explored = Explored(check, page, f"{name} explorer on a phone", ["1F1B.4.8.1"])
    explored.compare("tap")
    explored.choose(1, name="DualPipeV", m="24")
    explored.widget.locator(".next").tap()
    explored.at("next")
    explored.widget.locator(".larger").tap()
    explored.widget.locator(".scroll").first.tap(position={"x": 150, "y": 20})
    explored.at("a tap on the chart")
    check(
        "micro-batch" in (told := explored.widget.evaluate(SHOWN)["detail"]), f"{explored.where}: tells the box", told
    )
    check((told := page.evaluate(wide)) is None, f"{explored.where} fits", told)
    boxes = [box for part in explored.widget.locator("button, input, select").all() if (box := part.bounding_box())]
    sizes = [min(box["width"], box["height"]) for box in boxes]
    check(min(sizes) >= 40, f"{explored.where}: a finger hits every control", sizes)
    context.close()


def check_offline(check, browser, file: Path) -> None:
    """Open the explorer's page from a file, without a network."""
    context = browser.new_context(offline=True)
    page, asked = context.new_page(), []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri(), wait_until="load")
    Explored(check, page, f"{file.name} from a file", ["1F1B.4.8.1"]).at("loading", 0)
    check(not [each for each in asked if not each.startswith(("file:", "data:"))], f"{file.name} asks no host", asked)
    context.close()
