// Steps through recorded all-reduces. step_through.py records, and puts this file into the page with its data, after the
// helpers that all widgets share (pages/widget.js).

const ROW = 34, LANES = 20, GUTTER = 68; // px: a row of blocks, a rank's two lanes of time, where the arrows are
const SWIPE = 40; // px that a finger must move
const SKELETON = `
  <div class="choice" role="group" aria-label="algorithm"></div>
  <p class="reading"><span>Rows are ranks, columns blocks; a number counts the ranks whose data a block holds.</span>
    <span><span class="frame">just come</span><span class="corner">just sent</span></span></p>
  <div class="stage" tabindex="0" role="group">
    <div class="cells" role="table" aria-label="how many ranks' data are in each block"></div>
    <div class="arrows" aria-hidden="true"></div>
    <ul class="messages" aria-label="messages of this step, by sender"></ul>
  </div>
  ${CONTROLS}
  <p class="clock"><span>step <b class="step"></b> of <b class="steps"></b></span>
    <span>clock <b class="time"></b> µs</span>
    <span>rank 0 has sent <b class="bytes"></b> of <b class="all"></b> bytes</span></p>
  <p class="say" aria-live="polite"></p>
  <div class="timeline" role="img"></div>
  <p class="legend"><span class="send">sends</span><span class="recv">receives</span><span class="compute">adds</span>
    <span class="keys">keys: ← → Home End, space plays</span>
    <span class="swipe">or swipe over the blocks</span></p>`;


// ---------------------------------------------------------------------------------------------- small helpers

const number = (value) => Math.round(value).toLocaleString("en-US");
const micro = (value) => value.toFixed(2);
const bits = (mask) => range(53).filter((i) => Math.floor(mask / 2 ** i) % 2); // not by &, which knows 32 bits
const inTheDark = (root) => luminance(getComputedStyle(root).color.match(/[\d.]+/g).slice(0, 3).map(Number)) > 0.4;
const paper = (dark) => (dark ? [30, 36, 42] : [255, 255, 255]);

// ---------------------------------------------------------------------------------------------- one widget

function start(root) {
  const embedded = root.querySelector("script"), data = JSON.parse(embedded.textContent);
  root.replaceChildren(embedded); // without the sentence for readers without JavaScript
  root.insertAdjacentHTML("beforeend", SKELETON);
  const find = (name) => root.querySelector(`.${name}`);
  const stage = find("stage");
  const longest = Math.max(...data.runs.map((run) => run.time));
  let run = data.runs[0], step = 0, cells = [], choices = [];

  root.style.setProperty("--row", `${ROW}px`);
  stage.setAttribute("aria-label", `the blocks of ${data.ranks} ranks; left and right arrow keys step`);

  // ---- the choice of an algorithm is a comparison, too: all times on one axis

  function buildChoice() {
    choices = data.runs.map((each) => {
      const button = element(find("choice"), "button", { type: "button" });
      element(button, "span", { class: "name" }, each.name);
      const track = element(button, "span", { class: "track" });
      const bar = element(track, "span", { class: "bar" });
      bar.style.width = `${100 * each.time / longest}%`;
      const done = element(track, "span", { class: "done" });
      element(button, "span", { class: "total" }, `${micro(each.time)} µs`);
      button.addEventListener("click", () => choose(each));
      return { each, button, done };
    });
  }

  // ---- what changes with the algorithm

  function buildCells() {
    const table = find("cells"), whole = run.blocks === 1;
    table.replaceChildren();
    table.style.setProperty("--blocks", run.blocks);
    const head = element(table, "div", { role: "row", class: "head" });
    element(head, "span", { role: "columnheader" }, "rank");
    range(run.blocks).forEach((block) => {
      const name = whole ? "the whole array, one block" : `block ${block}`;
      element(head, "span", { role: "columnheader", "aria-label": name }, whole ? name : block);
    });
    cells = range(data.ranks).map((rank) => {
      const row = element(table, "div", { role: "row" });
      element(row, "span", { role: "rowheader" }, rank);
      return range(run.blocks).map((block) => element(row, "span", { role: "cell", class: "cell" }));
    });
  }

  function buildTimeline() {
    const height = data.ranks * LANES, percent = (time) => `${(100 * time / run.time).toFixed(3)}%`;
    const bar = (kind, rank, from, to, label) => { // sends above, receives below, an addition fills both lanes
      const top = rank * LANES + (kind === "recv" ? LANES / 2 : 1);
      const tall = kind === "compute" ? LANES - 2 : LANES / 2 - 1;
      return `<rect class="${kind}" data-start="${from}" x="${percent(from)}" width="${percent(to - from)}" y="${top}"
        height="${tall}"><title>${label}, ${micro(from)} to ${micro(to)} µs</title></rect>`;
    };
    const messages = run.messages.map((m) =>
      bar("send", m.from, m.start, m.end, `rank ${m.from} sends to ${m.to}: ${m.what}`) +
      bar("recv", m.to, m.start, m.end, `rank ${m.to} receives from ${m.from}: ${m.what}`));
    const computes = run.computes.map(([rank, from, to]) => bar("compute", rank, from, to, `rank ${rank} adds`));
    const rules = range(data.ranks + 1).map((r) => r * LANES).map((y) =>
      `<line class="rule" x2="100%" y1="${y}" y2="${y}"/>`);
    const names = range(data.ranks).map((rank) => `<span style="height:${LANES}px">${rank}</span>`);
    find("timeline").innerHTML = `<div class="names">${names.join("")}</div>
      <svg height="${height + 20}" width="100%">${[...rules, ...computes, ...messages].join("")}
      ${ticks(height + 15, percent)}<line class="cursor" y2="${height}"/></svg>`;
    find("timeline").setAttribute("aria-label", `timeline of ${run.name}: when each rank sends, receives and adds`);
  }

  function ticks(y, percent) {
    const apart = tick(5, run.time);
    return range(Math.floor(run.time / apart + 1e-9) + 1).map((i) => i * apart).map((time) => {
      const anchor = time === 0 ? "start" : time > 0.95 * run.time ? "end" : "middle";
      const label = `${+time.toPrecision(6)}${time === 0 ? " µs" : ""}`;
      return `<text x="${percent(time)}" y="${y}" text-anchor="${anchor}">${label}</text>`;
    }).join("");
  }

  function choose(next) {
    const time = run.moments[step];
    run = next;
    choices.forEach(({ each, button }) => button.setAttribute("aria-pressed", each === run));
    buildCells();
    buildTimeline();
    const later = run.moments.findIndex((moment) => moment > time + 1e-6); // as far as this one was at that time
    stepping.draw(later < 0 ? last() : later - 1);
  }

  // ---- what changes with the step

  function show(to) {
    step = to;
    const now = run.messages.filter((message) => message.step === step && step);
    paint();
    showArrows(now);
    showMessages(now);
    showTime();
    find("say").textContent = run.sentences[step];
  }

  function paint() {
    if (!root.isConnected) return;
    const dark = inTheDark(root), held = run.held[step], before = run.held[Math.max(step - 1, 0)];
    const sends = new Set(run.messages.filter((m) => m.step === step && step).flatMap((m) =>
      range(m.hi - m.lo).map((i) => `${m.from} ${(m.lo + i) % run.blocks}`)));
    cells.forEach((row, rank) => row.forEach((cell, block) => {
      const members = bits(held[rank][block]), full = members.length === data.ranks;
      const strength = 0.15 + 0.85 * (members.length - 1) / Math.max(data.ranks - 1, 1);
      Object.assign(cell.style, shade(data.colours[block % data.colours.length], strength, paper(dark)));
      cell.textContent = members.length;
      cell.title = `rank ${rank}, block ${block}: data of ${full ? "all ranks" : `rank ${members.join(", ")}`}`;
      cell.classList.toggle("full", full);
      cell.classList.toggle("new", held[rank][block] !== before[rank][block]);
      cell.classList.toggle("sent", sends.has(`${rank} ${block}`));
    }));
  }

  function showArrows(now) {
    const middle = (rank) => (rank + 0.5) * ROW;
    const arrows = now.map(({ from, to }) => {
      const down = Math.sign(to - from), y = middle(from) + 3 * down, end = middle(to) - 7 * down;
      const reach = 14 + (GUTTER - 22) * Math.abs(to - from) / Math.max(data.ranks - 1, 1);
      const out = reach / 0.75; // a cubic curve goes three quarters of the way to its control points
      return `<path d="M3 ${y}C${out} ${y} ${out} ${end} 10 ${end}"/><path class="head" d="M2 ${end}l9 -4.5v9z"/>`;
    });
    find("arrows").innerHTML = `<svg width="${GUTTER}" height="${data.ranks * ROW}">${arrows.join("")}</svg>`;
  }

  function showMessages(now) {
    const list = find("messages");
    list.replaceChildren();
    range(data.ranks).forEach((rank) => {
      const item = element(list, "li"), own = now.filter((message) => message.from === rank);
      element(item, "b", {}, own.length ? `${rank} → ${own.map((m) => m.to).join(", ")}` : rank);
      if (!own.length) element(item, "span", { class: "idle" }, step ? "sends nothing" : "");
      own.forEach((m) => {
        const chip = element(item, "i", { "aria-hidden": "true" });
        const colours = range(m.hi - m.lo).map((i) => data.colours[(m.lo + i) % run.blocks % data.colours.length]);
        chip.style.background = `linear-gradient(90deg, ${colours.map((c, i) =>
          `${c} ${100 * i / colours.length}% ${100 * (i + 1) / colours.length}%`)})`;
        const title = `${number(m.bytes)} bytes, with the data of ${m.counts} rank(s)`;
        element(item, "span", { title }, m.what);
      });
    });
  }

  function showTime() {
    const time = run.moments[step];
    const sent = (messages) => number(messages.reduce((sum, m) => sum + (m.from === 0 ? m.bytes : 0), 0));
    find("step").textContent = step;
    find("steps").textContent = last();
    find("time").textContent = micro(time);
    find("bytes").textContent = sent(run.messages.filter((message) => message.end <= time + 1e-6));
    find("all").textContent = sent(run.messages);
    find("controls input").setAttribute("aria-valuetext", `step ${step} of ${last()}, ${micro(time)} µs`);
    choices.forEach(({ each, done }) => (done.style.width = `${100 * Math.min(time, each.time) / longest}%`));
    root.querySelectorAll("rect").forEach((bar) => bar.classList.toggle("later", bar.dataset.start > time - 1e-6));
    const cursor = find("cursor"), x = `${100 * time / run.time}%`;
    cursor.setAttribute("x1", x);
    cursor.setAttribute("x2", x);
  }

  // ---- hands on

  function listen() {
    let touched = null; // the browser keeps vertical movements for scrolling (touch-action: pan-y)
    stage.addEventListener("pointerdown", (event) => {
      touched = event.pointerType === "mouse" ? null : event.clientX;
    });
    stage.addEventListener("pointercancel", () => (touched = null));
    stage.addEventListener("pointerup", (event) => {
      const moved = touched === null ? 0 : event.clientX - touched;
      if (Math.abs(moved) > SWIPE) stepping.go(step - Math.sign(moved));
      touched = null;
    });
    find("timeline").addEventListener("click", (event) => {
      const box = root.querySelector(".timeline svg").getBoundingClientRect();
      const time = run.time * (event.clientX - box.left) / box.width;
      const at = run.moments.findIndex((moment) => moment >= time);
      stepping.go(at < 0 ? last() : at);
    });
  }

  const last = () => run.moments.length - 1;
  const stepping = steps(root, { last, at: () => step, show });
  buildChoice();
  listen();
  choose(run);
  const repaint = new MutationObserver(paint); // the reader may turn the light on or off
  for (const place of [document.documentElement, document.body]) repaint.observe(place, { attributes: true });
}
