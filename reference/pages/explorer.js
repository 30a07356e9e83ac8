// Shows the schedules that explorer.py has simulated. Nothing is worked out here: times are unpacked and drawn. It stands
// in the page after the helpers that all widgets share (pages/widget.js).

const ROW = 26, LETTER = 6.6, ZOOMS = [1, 2, 4, 8]; // px: the row of a rank, a letter
const WHITE = [255, 255, 255];
const TOLD = 3; // ranks that wait, named in one sentence; of more, only how many
const SKELETON = `
  <svg class="patterns" width="0" height="0" aria-hidden="true"></svg>
  <div class="choice"></div>
  <div class="more"><button type="button" class="compare"></button></div>
  <div class="costs"></div>
  <div class="charts" tabindex="0" role="group" aria-label="charts; left and right arrow keys step through time"></div>
  ${CONTROLS}
  <p class="clock"><span>time <b class="time"></b> of <b class="until"></b></span>
    <span class="zoom"><button type="button" class="smaller" aria-label="zoom out">−</button>
      <button type="button" class="larger" aria-label="zoom in">+</button></span></p>
  <p class="say" aria-live="polite"></p>
  <p class="legend"></p>
  <div class="tables"><table class="figures"></table><div class="ranks"></div></div>
  <p class="share"><button type="button" class="link">copy the link to this setting</button>
    <span class="copied" role="status"></span></p>
  <p class="legend keys">keys: ← → Home End step through time, space plays, + − zoom; Tab goes from choice to choice</p>`;

// ---------------------------------------------------------------------------------------------- unpacking

async function unpack(packed) { // setting -> its plan, as text
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Map((await new Response(stream).text()).split("\n").map((line) => line.split("\t")));
}

// of each rank its actions, with start and end in ticks; explorer.py tells how they are packed
function unfold(head, plan, times) {
  const kinds = Object.keys(head.kinds);
  return plan.order.map((order, rank) => {
    const count = {}, pairs = new Set(plan.overlapped[rank]), told = [];
    let clock = 0;
    [...order].forEach((letter, place) => {
      const code = head.letters.indexOf(letter), chunk = Math.floor(code / kinds.length), kind = kinds[code % kinds.length];
      const stage = plan.stages[rank][chunk], next = (count[letter] = (count[letter] ?? -1) + 1);
      const wait = head.letters.indexOf(times.waits[rank][place] ?? "."), took = times.took[kind];
      const start = clock + (wait < 0 ? 0 : times.values[wait]), end = start + (took[stage] ?? took);
      told.push({ rank, kind, stage, chunk, micro: plan.micro[rank][letter]?.[next] ?? next, start, end, side: 0 });
      clock = end;
      if (pairs.has(place - 1)) { // side by side with the one before: both from its start to this one's end
        Object.assign(told[place - 1], { end, side: 1 });
        Object.assign(told[place], { start: told[place - 1].start, side: 2 });
      }
    });
    return told;
  });
}

// ---------------------------------------------------------------------------------------------- one explorer

async function start(root) {
  const embedded = root.querySelector("script"), head = JSON.parse(embedded.textContent);
  if (!("DecompressionStream" in window)) return; // the table and the sentence stay
  const plans = await unpack(head.packed), costs = costsOf(head);
  root.replaceChildren(embedded);
  root.insertAdjacentHTML("beforeend", SKELETON);
  const find = (name) => root.querySelector(`.${name}`);
  const id = `erc-explorer-${[...document.querySelectorAll(".erc-explorer")].indexOf(root)}`;
  const names = Object.keys(head.schedules), nearest = (row, value) => row.find((each) => each >= value) ?? row.at(-1);
  const units = (ticks) => String(+(ticks * head.tick).toFixed(3)); // three decimals tell ticks apart
  let chosen = [{ name: names.includes("1F1B") ? "1F1B" : names[0], p: nearest(head.ranks, 4), m: nearest(head.micro_batches, 8) }];
  let work = Object.keys(head.works)[0], send = String(head.sends[0]), zoom = 0, step = 0;
  let panels = [], moments = [0], scale = 1;

  const chunks = (name) => head.schedules[name].chunks;
  const last = () => moments.length - 1;
  const stepping = steps(root, { last, at: () => step, show, seconds: 0.7 });

  // ---- choosing

  function select(parent, label, options, value, change) {
    const around = element(parent, "label", {}, label), made = element(around, "select");
    options.forEach(([key, text]) => element(made, "option", { value: key }, text));
    made.value = value;
    made.disabled = options.length < 2;
    made.addEventListener("change", () => change(made.value));
    return made;
  }

  function buildChoice() {
    find("choice").replaceChildren(...chosen.map((setting, number) => {
      const row = document.createElement("div"), of = chosen.length > 1 ? ` of schedule ${number + 1}` : "";
      row.className = "setting";
      row.setAttribute("role", "group");
      row.setAttribute("aria-label", `schedule ${number + 1}`);
      const change = (key, number) => (value) => update(() => (setting[key] = number ? Number(value) : value));
      const same = (values) => values.map((value) => [value, value]);
      select(row, "schedule", same(names), setting.name, change("name", false));
      select(row, "ranks p", same(head.ranks), setting.p, change("p", true));
      select(row, "micro-batches m", same(head.micro_batches), setting.m, change("m", true));
      select(row, "chunks v", same(chunks(setting.name)), setting.v, change("v", true));
      if (of) row.querySelectorAll("select").forEach((each) => each.setAttribute("aria-label", `${each.parentNode.firstChild.data}${of}`));
      return row;
    }));
    find("compare").textContent = chosen.length > 1 ? "show one schedule only" : "compare with another schedule";
  }

  function buildCosts() {
    find("costs").replaceChildren();
    select(find("costs"), "seconds F : I : W", Object.entries(head.works).map(([key, [idea]]) => [key, `${key} (${idea})`]),
      work, (value) => update(() => (work = value)));
    select(find("costs"), "a message takes", head.sends.map((value) => [String(value), `${value} s`]), send,
      (value) => update(() => (send = value)));
  }

  // change something; what is shown stays at the same time, or just before
  function update(change) {
    const time = moments[step], focused = [...root.querySelectorAll("select")].indexOf(document.activeElement);
    change();
    for (const setting of chosen) {
      if (!chunks(setting.name).includes(setting.v)) setting.v = nearest(chunks(setting.name), setting.v ?? 2);
    }
    panels = chosen.map(panelOf);
    moments = momentsOf(panels);
    buildChoice();
    buildCosts();
    buildPatterns();
    buildFigures();
    buildRanks();
    buildLegend();
    find("copied").textContent = "";
    buildCharts();
    go(time);
    if (focused >= 0) root.querySelectorAll("select")[focused].focus(); // it was made anew
  }

  function go(time) {
    stepping.draw(moments.filter((moment) => moment <= time).length - 1);
  }

  function panelOf(setting) {
    const plan = JSON.parse(plans.get(`${setting.name}.${setting.p}.${setting.m}.${setting.v}`));
    const sizes = ["p", "m", ...(chunks(setting.name).length > 1 ? ["v"] : [])];
    const title = [setting.name, ...sizes.map((size) => `${size}\u00a0=\u00a0${setting[size]}`)].join(", ");
    if (plan.refused) return { setting, title, refused: plan.refused, ranks: [] };
    const times = plan.times[costs.indexOf(`${work} ${send}`)], ranks = unfold(head, plan, times);
    const many = plan.stages.some((stages) => stages.length > 1);
    const name = (action) => `${many ? action.stage : ""}${action.kind}${action.micro}`;
    const done = new Map(ranks.flat().map((action) => [`${action.kind} ${action.stage} ${action.micro}`, action]));
    return { setting, title, plan, times, ranks, name, done };
  }

  // ---- what changes with the setting

  function buildPatterns() {
    const size = 7, marks = { F: "", B: "M-1 8L8 -1", I: "M-1 -1L8 8", W: "M0 3.5H7" };
    find("patterns").innerHTML = Object.entries(head.colours).flatMap(([kind, hex]) => head.lighter.map((white, chunk) => {
      const { background, color } = shade(hex, 1 - white, WHITE);
      return `<pattern id="${id}-${kind}${chunk}" width="${size}" height="${size}" patternUnits="userSpaceOnUse">
        <rect width="${size}" height="${size}" style="fill:${background};stroke:none"/>
        <path d="${marks[kind] ?? ""}" style="fill:none;stroke:${color};stroke-opacity:0.28;stroke-width:1.2"/></pattern>`;
    })).join("");
  }

  function buildCharts() {
    const width = Math.max(find("charts").clientWidth - 26, 120), until = moments.at(-1) || 1;
    scale = width / until * ZOOMS[zoom];
    find("charts").replaceChildren(...panels.map((panel) => {
      const plan = document.createElement("div");
      element(plan, "p", { class: "title" }, panel.title);
      element(plan, "p", { class: "idea" }, head.schedules[panel.setting.name].idea);
      if (panel.refused) element(plan, "p", { class: "refused", role: "status" }, panel.refused);
      else buildChart(plan, panel, until);
      return plan;
    }));
    const scrolls = [...root.querySelectorAll(".scroll")];
    scrolls.forEach((each) => each.addEventListener("scroll", () =>
      scrolls.forEach((other) => (other.scrollLeft = each.scrollLeft))));
    find("smaller").setAttribute("aria-disabled", zoom === 0);
    find("larger").setAttribute("aria-disabled", zoom === ZOOMS.length - 1);
  }

  function buildChart(parent, panel, until) {
    const chart = element(parent, "div", { class: "chart" }), names = element(chart, "div", { class: "names", "aria-hidden": true });
    panel.ranks.forEach((_, rank) => (element(names, "span", {}, rank).style.height = `${ROW}px`));
    const scroll = element(chart, "div", { class: "scroll" }), height = panel.ranks.length * ROW;
    const rules = panel.ranks.map((_, rank) => `<line class="rule" x2="100%" y1="${(rank + 1) * ROW}" y2="${(rank + 1) * ROW}"/>`);
    const apart = tick(Math.max(2, until * scale / 90), until * head.tick);
    const ticks = range(Math.floor(until * head.tick / apart + 1e-9) + 1).map((i) => i * apart).map((time) => {
      const x = time / head.tick * scale, anchor = time === 0 ? "start" : x > until * scale - 12 ? "end" : "middle";
      const label = `${+time.toFixed(6)}${time === 0 ? " s" : ""}`;
      return `<text class="tick" x="${x}" y="${height + 14}" text-anchor="${anchor}">${label}</text>`;
    });
    scroll.innerHTML = `<svg role="img" width="${until * scale}" height="${height + 18}" aria-label="${described(panel)}">${rules.join("")}
      ${panel.ranks.flat().map((action) => bar(panel, action)).join("")}${ticks.join("")}
      <line class="end" x1="${panel.times.makespan * scale}" x2="${panel.times.makespan * scale}" y2="${height}"/>
      <g class="now"></g><line class="cursor" y2="${height}"/></svg>`;
    scroll.addEventListener("click", (event) => {
      const x = event.clientX - scroll.querySelector("svg").getBoundingClientRect().left;
      stepping.go(moments.filter((moment) => moment * scale <= x).length - 1);
    });
  }

  function described(panel) {
    return `Gantt chart of ${panel.title}: ${units(panel.times.makespan)} seconds, ${percent(panel.times.bubble)} of it bubble. ` +
      "The tables below tell the same in words.";
  }

  function place(action) { // two side by side share the row, the first above
    const full = ROW - 4, height = action.side ? full / 2 : full * (head.heights[action.kind] ?? 1);
    const y = action.rank * ROW + 2 + (action.side ? (action.side - 1) * height : (full - height) / 2);
    return { x: action.start * scale, y, width: (action.end - action.start) * scale, height };
  }

  function bar(panel, action) {
    const { x, y, width, height } = place(action), name = panel.name(action);
    const title = `${name}: ${head.kinds[action.kind]}, stage ${action.stage}, micro-batch ${action.micro}, rank ${action.rank}, ` +
      `${units(action.start)} to ${units(action.end)} s`;
    if (!width) return `<path class="update" d="M${x - 3} ${y + height + 2}h6l-3 -7z"><title>${title}</title></path>`;
    const label = [name, String(action.micro)].find((text) => text.length * LETTER + 1 < width);
    const colour = shade(head.colours[action.kind], 1 - head.lighter[action.chunk], WHITE).color;
    const text = label === undefined ? "" :
      `<text class="label" x="${x + width / 2}" y="${y + height / 2}" ${action.side ? 'font-size="8.5"' : ""} style="fill:${colour}">${label}</text>`;
    return `<rect data-action="${action.kind} ${action.stage} ${action.micro}" x="${x}" y="${y}" width="${width}" height="${height}"
      fill="url(#${id}-${action.kind}${action.chunk})" ${action.chunk ? `style="stroke:${head.colours[action.kind]}"` : ""}><title>${title}</title></rect>${text}`;
  }

  const percent = (share) => `${(100 * share).toFixed(1)} %`;

  // a number and its formula; or the words that say why there is no number
  function closed(value, format, text = "") {
    return typeof value === "string" ? ["–", value] : [format(value), text];
  }

  function buildFigures() {
    const rows = {
      "makespan (s)": ({ times }) => units(times.makespan),
      "bubble, share of the makespan": ({ times }) => percent(times.bubble),
      "by the closed form": ({ times, setting }) => closed(times.formula, percent,
        `idle ${+(+times.idle).toFixed(2)} s: ${head.schedules[setting.name].text}${Number(send) ? ", and for messages" : ""}`),
      "bubble, share of the longest span": ({ times }) => percent(times.spans),
      "peak activations, worst rank": ({ plan }) => +Math.max(...plan.peaks).toFixed(2),
      "peak by its closed form": ({ plan }) => closed(plan.peak, (peak) => +peak.toFixed(2)),
      "versions of the weights": ({ plan }) => Math.max(...plan.versions),
    };
    const table = find("figures");
    table.replaceChildren();
    const top = element(element(table, "thead"), "tr"), body = element(table, "tbody");
    element(top, "td");
    panels.forEach((panel) => element(top, "th", { scope: "col" }, panel.title));
    Object.entries(rows).forEach(([name, value]) => {
      const row = element(body, "tr");
      element(row, "th", { scope: "row" }, name);
      panels.forEach((panel) => {
        const [figure, note] = panel.refused ? ["–"] : [value(panel)].flat();
        const cell = element(row, "td", {}, figure);
        if (note) element(cell, "small", {}, note.replaceAll(">=", "≥").replaceAll("<=", "≤"));
      });
    });
  }

  function buildRanks() {
    find("ranks").replaceChildren(...panels.filter((panel) => !panel.refused).map((panel) => {
      const table = document.createElement("table");
      element(table, "caption", {}, panel.title);
      const top = element(element(table, "thead"), "tr"), body = element(table, "tbody");
      ["rank", "now", "peak", "versions"].forEach((name) => element(top, "th", { scope: "col" }, name));
      panel.ranks.forEach((_, rank) => {
        const row = element(body, "tr");
        element(row, "th", { scope: "row" }, rank);
        element(row, "td", { class: "doing" });
        element(row, "td", {}, +panel.plan.peaks[rank].toFixed(2));
        element(row, "td", {}, panel.plan.versions[rank]);
      });
      return table;
    }));
  }

  function buildLegend() {
    const shown = panels.flatMap((panel) => panel.ranks.flat()), has = (test) => shown.some(test);
    const swatch = (kind, chunk) => `<svg width="18" height="12" aria-hidden="true"><rect width="18" height="12" fill="url(#${id}-${kind}${chunk})"/></svg>`;
    const parts = Object.entries(head.kinds).filter(([kind]) => kind !== "S" && has((action) => action.kind === kind))
      .map(([kind, words]) => `<span>${swatch(kind, 0)} ${kind} ${words}</span>`);
    const most = Math.max(0, ...shown.map((action) => action.chunk));
    if (most) parts.push(`<span>${range(most + 1).map((chunk) => swatch("F", chunk)).join("")} first to last chunk of a rank</span>`);
    if (has((action) => action.side)) parts.push("<span>one above the other: side by side</span>");
    if (has((action) => action.kind === "S")) parts.push('<span><svg width="12" height="12" aria-hidden="true"><path class="update" d="M2 11h8l-4 -9z"/></svg> update</span>');
    find("legend").innerHTML = parts.join("");
  }

  // ---- what changes with the time

  // of each rank what it does at a time: the actions that run, or the one that it waits for, or nothing any more
  function doing(panel, time) {
    return panel.ranks.map((actions) => {
      const run = actions.filter((action) => action.start <= time && time < action.end);
      const next = actions.find((action) => action.start > time && action.end > action.start);
      return { run, next: run.length ? null : next, needed: run.length || !next ? null : neededBy(panel, next) };
    });
  }

  // what the action, or the one side by side with it, needs from elsewhere and gets last
  function neededBy(panel, action) {
    const both = panel.ranks[action.rank].filter((each) => each.start === action.start && each.end > each.start);
    const all = both.flatMap(({ kind, stage, micro }) => head.needs[kind].map(([before, apart]) =>
      panel.done.get(`${before} ${stage + apart} ${micro}`)));
    return all.filter((each) => each && each.rank !== action.rank).sort((a, b) => b.end - a.end)[0];
  }

  function words(panel, { run, next, needed }) {
    if (run.length) return run.map(panel.name).join(" and ");
    if (!next) return "done";
    return needed ? `waits for ${panel.name(needed)} from rank ${needed.rank}, there at ${units(next.start)}` : "idle";
  }

  function show(to) {
    step = to;
    const time = moments[step];
    find("time").textContent = units(time);
    find("until").textContent = `${units(moments.at(-1))} s`;
    root.querySelector(".controls input").setAttribute("aria-valuetext", `${units(time)} of ${units(moments.at(-1))} seconds`);
    const valid = panels.filter((panel) => !panel.refused), charts = root.querySelectorAll(".chart"), tables = root.querySelectorAll(".ranks table");
    find("say").textContent = `Time ${units(time)} s. ` + valid.map((panel, number) => {
      const all = doing(panel, time);
      tables[number].querySelectorAll(".doing").forEach((cell, rank) => (cell.textContent = words(panel, all[rank])));
      mark(charts[number], panel, all, time);
      return `${valid.length > 1 ? `${panel.setting.name}: ` : ""}${sentence(panel, all)}`;
    }).join(" ");
    root.querySelectorAll(".scroll").forEach((scroll) => follow(scroll, time * scale));
  }

  function sentence(panel, all) {
    const waiting = all.map((one, rank) => [rank, one]).filter(([, one]) => one.next), through = all.filter((one) => !one.run.length && !one.next);
    const told = waiting.slice(0, TOLD).map(([rank, one]) => `rank ${rank} ${words(panel, one)}`);
    if (waiting.length > TOLD) told.push(`${waiting.length - TOLD} more wait`);
    if (through.length) told.push(`${through.length} done`);
    const busy = all.filter((one) => one.run.length).length;
    return [`${busy} of ${all.length} ranks compute`, ...told].join("; ") + ".";
  }

  // frames around what runs, and from what is needed to what waits for it
  function mark(chart, panel, all, time) {
    const frames = all.flatMap(({ run, next, needed }) => run.map((action) => {
      const { x, y, width, height } = place(action);
      return `<rect class="frame" x="${x}" y="${y}" width="${width}" height="${height}"/>`;
    }).concat(needed ? (() => {
      const y = (action) => (action.rank + 0.5) * ROW, x = next.start * scale;
      return `<path class="need" d="M${needed.end * scale} ${y(needed)}L${x} ${y(next)}"/><circle cx="${x}" cy="${y(next)}" r="3"/>`;
    })() : []));
    chart.querySelector(".now").innerHTML = frames.join("");
    const cursor = chart.querySelector(".cursor");
    cursor.setAttribute("x1", time * scale);
    cursor.setAttribute("x2", time * scale);
  }

  function follow(scroll, x) { // keep the cursor in view
    const from = scroll.scrollLeft, wide = scroll.clientWidth;
    if (x < from + 20 || x > from + wide - 60) scroll.scrollLeft = x - wide / 3;
  }

  // ---- links

  function link() {
    const parts = new URLSearchParams();
    chosen.forEach((setting, number) => parts.set(number ? "with" : "explore", `${setting.name}.${setting.p}.${setting.m}.${setting.v}`));
    parts.set("work", work);
    parts.set("send", send);
    parts.set("time", units(moments[step]));
    return `#${parts}`;
  }

  function follows(hash) { // take over what a link says, if it is one of ours
    const parts = new URLSearchParams(hash.slice(1));
    if (!parts.has("explore")) return false;
    const settings = [parts.get("explore"), parts.get("with")].filter(Boolean);
    const known = settings.every((key) => plans.has(key)) && (!parts.has("work") || parts.get("work") in head.works) &&
      (!parts.has("send") || head.sends.map(String).includes(parts.get("send")));
    if (!known) {
      find("copied").textContent = "The link in the address asks for a setting that is not on this page.";
      return false;
    }
    update(() => {
      chosen = settings.map((key) => key.split(".")).map(([name, p, m, v]) => ({ name, p: Number(p), m: Number(m), v: Number(v) }));
      work = parts.get("work") ?? Object.keys(head.works)[0];
      send = parts.get("send") ?? String(head.sends[0]);
    });
    go((Number(parts.get("time")) || 0) / head.tick + 0.1); // it was rounded
    return true;
  }

  async function copy() {
    const to = new URL(link(), location.href).href;
    history.replaceState(null, "", to);
    try {
      await navigator.clipboard.writeText(to);
      find("copied").textContent = "copied; it is in the address bar, too";
    } catch {
      find("copied").textContent = "the link is in the address bar now: copy it from there";
    }
  }

  // ---- hands on

  function zoomTo(next) {
    zoom = Math.max(0, Math.min(next, ZOOMS.length - 1));
    buildCharts();
    stepping.draw(step);
  }

  function listen() {
    find("compare").addEventListener("click", () => update(() => {
      const other = names.find((name) => name !== chosen[0].name) ?? names[0];
      chosen = chosen.length > 1 ? chosen.slice(0, 1) : [chosen[0], { ...chosen[0], name: names.includes("GPipe") && chosen[0].name !== "GPipe" ? "GPipe" : other }];
    }));
    find("smaller").addEventListener("click", () => zoomTo(zoom - 1));
    find("larger").addEventListener("click", () => zoomTo(zoom + 1));
    find("link").addEventListener("click", copy);
    root.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "SELECT") return;
      const by = { "+": 1, "=": 1, "-": -1 }[event.key];
      if (by) zoomTo(zoom + by);
    });
    window.addEventListener("hashchange", () => follows(location.hash) && root.scrollIntoView());
    let wide = 0;
    new ResizeObserver(() => {
      if (find("charts").clientWidth === wide) return;
      wide = find("charts").clientWidth;
      buildCharts();
      stepping.draw(step);
    }).observe(find("charts"));
  }

  update(() => {});
  if (follows(location.hash)) root.scrollIntoView();
  listen();
  root.dataset.ready = "";
}

// the order of the times in a plan: "1:1:1 0", "1:1:1 0.25", ...
const costsOf = (head) => Object.keys(head.works).flatMap((work) => head.sends.map((send) => `${work} ${send}`));

// all moments at which something starts or ends, in ticks
function momentsOf(panels) {
  const all = panels.flatMap((panel) => panel.ranks.flat()).flatMap((action) => [action.start, action.end]);
  return [...new Set([0, ...all])].sort((a, b) => a - b);
}
