// Of widget.py: what all widgets share. It stands in the page before the script of each of them.

const ICONS = {
  first: "M5 4h2.4v16H5zM19 4v16L8.5 12z",
  previous: "M17 4v16L6.5 12z",
  play: "M7 4v16l12-8z",
  pause: "M6 4h4v16H6zM14 4h4v16h-4z",
  next: "M7 4v16l10.5-8z",
  last: "M16.6 4H19v16h-2.4zM5 4v16l10.5-8z",
};
const CONTROLS = `<div class="controls">
    ${["first", "previous", "play", "next", "last"].map((name) =>
      `<button type="button" class="${name}" title="${name}" aria-label="${name}">${icon(name)}</button>`).join("")}
    <input type="range" min="0" step="1" aria-label="step">
  </div>`;

function icon(name) {
  return `<svg viewBox="0 0 24 24" aria-hidden="true"><path d="${ICONS[name]}"/></svg>`;
}

// ---------------------------------------------------------------------------------------------- small helpers

const range = (length) => Array.from({ length }, (_, i) => i);

function element(parent, name, attributes = {}, text = "") {
  const made = document.createElement(name);
  Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
  made.textContent = text;
  return parent.appendChild(made);
}

// 1, 2 or 5 times a power of ten, so that at most so many ticks fit
function tick(most, length) {
  const unit = 10 ** Math.floor(Math.log10(length / most));
  return [1, 2, 5, 10].map((m) => m * unit).find((t) => length / t <= most);
}

const channels = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));

function luminance(rgb) { // relative luminance, WCAG 2
  const [r, g, b] = rgb.map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

// a colour with so much strength on that paper; and what can be read on it
function shade(hex, strength, paper) {
  const rgb = channels(hex).map((c, i) => Math.round(paper[i] + (c - paper[i]) * strength));
  return { background: `rgb(${rgb})`, color: luminance(rgb) > 0.179 ? "#000" : "#fff" };
}

// ---------------------------------------------------------------------------------------------- Python in the page

// `ask(name, given)` promises what that function of the package returns for these arguments (pages/live.py): { value }, or
// { refused } with words for the reader. With `seconds` it is stopped when it takes longer, and so is all else that waits:
// a call of C cannot be interrupted, so its worker ends and another one starts. Null where the page has no Python: a notebook, a file, a book built offline.
const python = (() => {
  const worker = document.querySelector('meta[name="erc-python"]')?.content;
  if (!worker || !location.protocol.startsWith("http")) return null;
  return (window.ercPython ??= started(new URL(worker, document.baseURI)));
})();

function started(address) { // one for all widgets of a page; it starts at the first call
  const waiting = new Map();
  let works = null;

  function post(question) {
    if (!works) {
      works = new Worker(address, { type: "module" });
      works.onmessage = ({ data: { id, told, broken } }) => {
        const { resolve, reject } = waiting.get(id);
        waiting.delete(id);
        if (broken === undefined) resolve(told);
        else reject(new Error(broken));
      };
      works.onerror = (event) => waiting.forEach(({ reject }) => reject(new Error(event.message || "its files did not load")));
    }
    return new Promise((resolve, reject) => {
      const id = waiting.size ? Math.max(...waiting.keys()) + 1 : 0;
      waiting.set(id, { resolve, reject });
      works.postMessage({ id, question });
    });
  }

  function stop(why) {
    works.terminate();
    works = null;
    const stopped = [...waiting.values()];
    waiting.clear();
    stopped.forEach(({ reject }) => reject(new Error(why)));
    post(undefined).catch(() => {}); // the next one is ready sooner
  }

  async function ask(call, given, seconds = 0) {
    await post(undefined); // to start it is not part of the time
    const limit = seconds && setTimeout(stop, 1000 * seconds, `it was still computing after ${seconds} seconds, and was stopped`);
    try {
      return JSON.parse(await post(JSON.stringify({ call, given })));
    } finally {
      clearTimeout(limit);
    }
  }

  return { start: () => post(undefined), ask };
}

// ---------------------------------------------------------------------------------------------- step by step

// CONTROLS and keys move through the steps 0 ... last(): at() is the present one, show(step) draws another;
// played, each lasts so many seconds
function steps(root, { last, at, show, seconds = 1.2 }) {
  const find = (name) => root.querySelector(`.${name}`), slider = root.querySelector(".controls input");
  let timer = null;

  function showPlay(name) {
    const button = find("play");
    if (button.title === name) return;
    button.innerHTML = icon(name);
    button.title = name;
    button.setAttribute("aria-label", name);
  }

  function pause() {
    clearInterval(timer);
    timer = null;
    showPlay("play");
  }

  function draw(to) {
    show(Math.max(0, Math.min(to, last())));
    slider.max = last();
    slider.value = at();
    // not disabled: a button that is loses the focus, and with it the keys
    for (const name of ["first", "previous"]) find(name).setAttribute("aria-disabled", at() === 0);
    for (const name of ["next", "last"]) find(name).setAttribute("aria-disabled", at() === last());
    if (at() === last()) pause();
  }

  function play() {
    if (timer) return pause();
    if (at() === last()) draw(0);
    timer = setInterval(() => (root.isConnected ? draw(at() + 1) : pause()), 1000 * seconds);
    showPlay("pause");
    return undefined;
  }

  function go(to) {
    pause();
    draw(to);
  }

  const moves = { first: () => 0, previous: () => at() - 1, next: () => at() + 1, last };
  Object.entries(moves).forEach(([name, to]) => find(name).addEventListener("click", () => go(to())));
  find("play").addEventListener("click", play);
  slider.addEventListener("input", () => go(Number(slider.value)));
  const keys = { Home: moves.first, ArrowLeft: moves.previous, ArrowRight: moves.next, End: moves.last };
  root.addEventListener("keydown", (event) => { // not for the page, which turns over with the same keys
    const all = [" ", ...Object.keys(keys)], takes = event.target.type === "number" ? all :
      { BUTTON: [" "], SUMMARY: [" "], SELECT: all }[event.target.tagName] ?? [];
    if (takes.includes(event.key)) return event.stopPropagation(); // the control itself needs the key
    const space = event.key === " ";
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || !(space || keys[event.key])) return undefined;
    event.preventDefault();
    event.stopPropagation();
    return space ? play() : go(keys[event.key]());
  });
  return { go, draw };
}
