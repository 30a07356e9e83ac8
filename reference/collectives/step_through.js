// Steps through recorded all-reduces. step_through.py records, and puts this file into the page with its data. Every
// widget that is not running yet is started, so several of them on one page, each with this script, do not disturb.
(() => {
  "use strict";

  const ROW = 34, LANES = 20, GUTTER = 68; // px: a row of blocks, a rank's two lanes of time, where the arrows are
  const SECONDS_A_STEP = 1.2, SWIPE = 40; // how fast it plays; px that a finger must move
  const ICONS = {
    first: "M5 4h2.4v16H5zM19 4v16L8.5 12z",
    previous: "M17 4v16L6.5 12z",
    play: "M7 4v16l12-8z",
    pause: "M6 4h4v16H6zM14 4h4v16h-4z",
    next: "M7 4v16l10.5-8z",
    last: "M16.6 4H19v16h-2.4zM5 4v16l10.5-8z",
  };
  const SKELETON = `
    <div class="choice" role="group" aria-label="algorithm"></div>
    <p class="reading"><span>Rows are ranks, columns blocks; a number counts the ranks whose data a block holds.</span>
      <span><span class="frame">just come</span><span class="corner">just sent</span></span></p>
    <div class="stage" tabindex="0" role="group">
      <div class="cells" role="table" aria-label="how many ranks' data are in each block"></div>
      <div class="arrows" aria-hidden="true"></div>
      <ul class="messages" aria-label="messages of this step, by sender"></ul>
    </div>
    <div class="controls">
      ${["first", "previous", "play", "next", "last"].map((name) =>
        `<button type="button" class="${name}" title="${name}" aria-label="${name}">${icon(name)}</button>`).join("")}
      <input type="range" min="0" step="1" aria-label="step">
    </div>
    <p class="clock"><span>step <b class="step"></b> of <b class="steps"></b></span>
      <span>clock <b class="time"></b> µs</span>
      <span>rank 0 has sent <b class="bytes"></b> of <b class="all"></b> bytes</span></p>
    <p class="say" aria-live="polite"></p>
    <div class="timeline" role="img"></div>
    <p class="legend"><span class="send">sends</span><span class="recv">receives</span><span class="compute">adds</span>
      <span class="keys">keys: ← → Home End, space plays</span>
      <span class="swipe">or swipe over the blocks</span></p>`;

  function icon(name) {
    return `<svg viewBox="0 0 24 24" aria-hidden="true"><path d="${ICONS[name]}"/></svg>`;
  }

  // ---------------------------------------------------------------------------------------------- colours

  const channels = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));

  function luminance(rgb) { // relative luminance, WCAG 2
    const [r, g, b] = rgb.map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }

  // the colour of a block, stronger with every contribution, on light or dark paper; and what can be read on it
  function shade(hex, strength, dark) {
    const paper = dark ? [30, 36, 42] : [255, 255, 255];
    const rgb = channels(hex).map((c, i) => Math.round(paper[i] + (c - paper[i]) * strength));
    return { background: `rgb(${rgb})`, color: luminance(rgb) > 0.179 ? "#000" : "#fff" };
  }

  const inTheDark = (root) => luminance(getComputedStyle(root).color.match(/[\d.]+/g).slice(0, 3).map(Number)) > 0.4;

  // ---------------------------------------------------------------------------------------------- small helpers

  const number = (value) => Math.round(value).toLocaleString("en-US");
  const micro = (value) => value.toFixed(2);
  const range = (length) => Array.from({ length }, (_, i) => i);
  const bits = (mask) => range(53).filter((i) => Math.floor(mask / 2 ** i) % 2); // not by &, which knows 32 bits

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

  // ---------------------------------------------------------------------------------------------- one widget

  function start(root) {
    const embedded = root.querySelector("script"), data = JSON.parse(embedded.textContent);
    root.running = true;
    root.replaceChildren(embedded); // without the sentence for readers without JavaScript
    root.insertAdjacentHTML("beforeend", SKELETON);
    const find = (name) => root.querySelector(`.${name}`);
    const slider = root.querySelector("input"), stage = find("stage");
    const longest = Math.max(...data.runs.map((run) => run.time));
    let run = data.runs[0], step = 0, timer = null, cells = [], choices = [];

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
      slider.max = run.moments.length - 1;
      choices.forEach(({ each, button }) => button.setAttribute("aria-pressed", each === run));
      buildCells();
      buildTimeline();
      const later = run.moments.findIndex((moment) => moment > time + 1e-6); // as far as this one was at that time
      show(later < 0 ? run.moments.length - 1 : later - 1);
    }

    // ---- what changes with the step

    function show(to) {
      step = Math.max(0, Math.min(to, run.moments.length - 1));
      const now = run.messages.filter((message) => message.step === step && step);
      paint();
      showArrows(now);
      showMessages(now);
      showTime();
      find("say").textContent = run.sentences[step];
      if (step === run.moments.length - 1) pause();
    }

    function paint() {
      if (!root.isConnected) return;
      const dark = inTheDark(root), held = run.held[step], before = run.held[Math.max(step - 1, 0)];
      const sends = new Set(run.messages.filter((m) => m.step === step && step).flatMap((m) =>
        range(m.hi - m.lo).map((i) => `${m.from} ${(m.lo + i) % run.blocks}`)));
      cells.forEach((row, rank) => row.forEach((cell, block) => {
        const members = bits(held[rank][block]), full = members.length === data.ranks;
        const strength = 0.15 + 0.85 * (members.length - 1) / Math.max(data.ranks - 1, 1);
        Object.assign(cell.style, shade(data.colours[block % data.colours.length], strength, dark));
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
      const time = run.moments[step], last = run.moments.length - 1;
      const sent = (messages) => number(messages.reduce((sum, m) => sum + (m.from === 0 ? m.bytes : 0), 0));
      find("step").textContent = slider.value = step;
      find("steps").textContent = last;
      find("time").textContent = micro(time);
      find("bytes").textContent = sent(run.messages.filter((message) => message.end <= time + 1e-6));
      find("all").textContent = sent(run.messages);
      slider.setAttribute("aria-valuetext", `step ${step} of ${last}, ${micro(time)} µs`);
      choices.forEach(({ each, done }) => (done.style.width = `${100 * Math.min(time, each.time) / longest}%`));
      root.querySelectorAll("rect").forEach((bar) => bar.classList.toggle("later", bar.dataset.start > time - 1e-6));
      const cursor = find("cursor"), x = `${100 * time / run.time}%`;
      cursor.setAttribute("x1", x);
      cursor.setAttribute("x2", x);
      // not disabled: a button that is loses the focus, and with it the keys
      for (const name of ["first", "previous"]) find(name).setAttribute("aria-disabled", step === 0);
      for (const name of ["next", "last"]) find(name).setAttribute("aria-disabled", step === last);
    }

    // ---- playing

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

    function play() {
      if (timer) return pause();
      if (step === run.moments.length - 1) show(0);
      timer = setInterval(() => (root.isConnected ? show(step + 1) : pause()), 1000 * SECONDS_A_STEP);
      showPlay("pause");
      return undefined;
    }

    function go(to) {
      pause();
      show(to);
    }

    // ---- hands on

    function listen() {
      const last = () => run.moments.length - 1;
      const moves = { first: () => 0, previous: () => step - 1, next: () => step + 1, last };
      Object.entries(moves).forEach(([name, to]) => find(name).addEventListener("click", () => go(to())));
      find("play").addEventListener("click", play);
      slider.addEventListener("input", () => go(Number(slider.value)));
      const keys = { Home: moves.first, ArrowLeft: moves.previous, ArrowRight: moves.next, End: moves.last };
      root.addEventListener("keydown", (event) => { // not for the page, which turns over with the same keys
        const space = event.key === " " && event.target.tagName !== "BUTTON"; // a button takes it for a click
        if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || !(space || keys[event.key])) return;
        event.preventDefault();
        event.stopPropagation();
        if (space) play();
        else go(keys[event.key]());
      });
      let touched = null; // the browser keeps vertical movements for scrolling (touch-action: pan-y)
      stage.addEventListener("pointerdown", (event) => {
        touched = event.pointerType === "mouse" ? null : event.clientX;
      });
      stage.addEventListener("pointercancel", () => (touched = null));
      stage.addEventListener("pointerup", (event) => {
        const moved = touched === null ? 0 : event.clientX - touched;
        if (Math.abs(moved) > SWIPE) go(step - Math.sign(moved));
        touched = null;
      });
      find("timeline").addEventListener("click", (event) => {
        const box = root.querySelector(".timeline svg").getBoundingClientRect();
        const time = run.time * (event.clientX - box.left) / box.width;
        const at = run.moments.findIndex((moment) => moment >= time);
        go(at < 0 ? last() : at);
      });
    }

    buildChoice();
    listen();
    choose(run);
    const repaint = new MutationObserver(paint); // the reader may turn the light on or off
    for (const place of [document.documentElement, document.body]) repaint.observe(place, { attributes: true });
  }

  [...document.querySelectorAll(".erc-steps")].filter((root) => !root.running).forEach(start);
})();
