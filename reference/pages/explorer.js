// Shows the schedules that explorer.py has simulated, and others, which it asks plans.py for if the page has a Python.
// Nothing is worked out here: times are unpacked and drawn. It stands after the helpers of all widgets (widget.js).

const OWN = "own", ROW = 26, LETTER = 6.6, ZOOMS = [1, 2, 4, 8]; // px: the row of a rank, a letter
const WHITE = [255, 255, 255];
const TOLD = 3; // ranks that wait, named in one sentence; of more, only how many
const SKELETON = `
  <svg class="patterns" width="0" height="0" aria-hidden="true"></svg>
  <p class="problem" role="status"></p>
  <section class="question" hidden></section>
  <div class="choice"></div>
  <div class="more"><button type="button" class="compare"></button></div>
  <div class="costs"></div>
  <div class="charts" tabindex="0" role="group" aria-label="charts; left and right arrow keys step through time"></div>
  ${CONTROLS}
  <p class="clock"><span>time <b class="time"></b> of <b class="until"></b></span>
    <span class="zoom"><button type="button" class="smaller" aria-label="zoom out">−</button>
      <button type="button" class="larger" aria-label="zoom in">+</button></span></p>
  <p class="detail" role="status"></p>
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
  let work = Object.keys(head.works)[0], own = [1, 1, 1, 0], send = String(head.sends[0]), zoom = 0, step = 0;
  const worked = new Map(); // key of a setting and its costs -> what Python said of it
  let panels = [], moments = [0], scale = 1;

  const chunks = (name) => head.schedules[name].chunks;
  const last = () => moments.length - 1;
  const stepping = steps(root, { last, at: () => step, show, seconds: 0.7 });

  // ---- choosing

  const same = (values) => values.map((value) => [value, value]);

  function offer(made, options) { // the options of a list; it stays the same element while somebody types in it
    if ([...made.options].map((each) => each.value).join() === options.map(([key]) => key).join()) return;
    made.replaceChildren();
    options.forEach(([key, text]) => element(made, "option", { value: key }, text));
    made.disabled = options.length < 2;
  }

  function select(parent, label, options, change) {
    const made = element(element(parent, "label", {}, label), "select");
    offer(made, options);
    made.addEventListener("change", () => update(() => change(made.value)));
    return made;
  }

  function number(parent, label, limits, change) {
    const made = element(element(parent, "label", {}, label), "input", { type: "number", inputmode: "decimal", min: 0, step: "any", ...limits });
    made.addEventListener("change", () => made.value !== "" && update(() => change(Number(made.value))));
    made.addEventListener("focus", () => python.start().catch(() => {})); // it takes some seconds: begin while somebody types
    return made;
  }

  // a size of a schedule: one of the stored ones; any, where the page has a Python
  function size(row, label, key, values, place) {
    const change = (value) => (chosen[place][key] = Number(value));
    return python ? number(row, label, { max: head.limits[key], min: 1, step: 1 }, change) : select(row, label, same(values), change);
  }

  function buildChoice() {
    const rows = find("choice");
    if (rows.children.length !== chosen.length) {
      rows.replaceChildren();
      chosen.forEach((_, place) => {
        const row = element(rows, "div", { class: "setting", role: "group", "aria-label": `schedule ${place + 1}` });
        select(row, "schedule", same(names), (name) => (chosen[place].name = name));
        size(row, "ranks p", "p", head.ranks, place);
        size(row, "micro-batches m", "m", head.micro_batches, place);
        size(row, "chunks v", "v", [], place);
      });
      if (chosen.length > 1) rows.querySelectorAll("select, input").forEach((each) =>
        each.setAttribute("aria-label", `${each.parentNode.firstChild.data} of ${each.closest(".setting").getAttribute("aria-label")}`));
    }
    chosen.forEach((setting, place) => {
      const [name, p, m, v] = rows.children[place].querySelectorAll("select, input");
      if (!python) offer(v, same(chunks(setting.name)));
      else v.disabled = head.schedules[setting.name].fixed;
      [name.value, p.value, m.value, v.value] = [setting.name, setting.p, setting.m, setting.v];
    });
    find("compare").textContent = chosen.length > 1 ? "show one schedule only" : "compare with another schedule";
  }

  function buildCosts() {
    const costs = find("costs"), works = Object.entries(head.works).map(([key, [idea]]) => [key, `${key} (${idea})`]);
    if (!costs.children.length) {
      select(costs, "seconds F : I : W", python ? [...works, [OWN, "your own seconds"]] : works, (value) => {
        own = seconds();
        work = value;
      });
      const message = (value) => (send = String(value));
      if (python) number(costs, "a message takes (s)", {}, message);
      else select(costs, "a message takes", head.sends.map((value) => [String(value), `${value} s`]), message);
      if (python) element(costs, "div", { class: "own" });
      if (python) ["F (s)", "I (s)", "W (s)", "last stage: more by"].forEach((label, place) =>
        number(find("own"), label, {}, (value) => (own = own.with(place, value))));
    }
    const [which, message, ...fields] = costs.querySelectorAll("select, input");
    which.value = work;
    message.value = send;
    fields.forEach((field, place) => (field.value = own[place]));
    if (python) find("own").hidden = work !== OWN;
  }

  // change something; what is shown stays at the same time, or just before
  function update(change) {
    change();
    for (const setting of chosen) {
      const { chunks, fixed } = head.schedules[setting.name];
      if (!setting.v || fixed || (!python && !chunks.includes(setting.v))) setting.v = nearest(chunks, setting.v ?? 2);
    }
    find("problem").textContent = find("copied").textContent = "";
    buildChoice();
    buildCosts();
    refresh();
    if (root.dataset.ready === "" && python) history.replaceState(null, "", link());
  }

  function refresh() { // what the settings of now are told to be: some of it may come later
    const time = moments[step];
    panels = chosen.map(panelOf);
    moments = momentsOf(panels);
    buildPatterns();
    buildFigures();
    buildRanks();
    buildLegend();
    buildCharts();
    go(time);
  }

  function go(time) {
    stepping.draw(moments.filter((moment) => moment <= time).length - 1);
  }

  const keyOf = (setting) => `${setting.name}.${setting.p}.${setting.m}.${setting.v}`;
  const seconds = () => (work === OWN ? own : head.works[work].slice(1));

  function panelOf(setting) {
    const sizes = ["p", "m", ...(head.schedules[setting.name].fixed ? [] : ["v"])];
    const title = [setting.name, ...sizes.map((size) => `${size}\u00a0=\u00a0${setting[size]}`)].join(", ");
    const told = stored(setting) ?? asked(setting);
    if (!told.plan) return { setting, title, ranks: [], ...told };
    const many = told.plan.stages.some((stages) => stages.length > 1);
    const name = (action) => `${many ? action.stage : ""}${action.kind}${action.micro}`;
    const done = new Map(told.ranks.flat().map((action) => [`${action.kind} ${action.stage} ${action.micro}`, action]));
    return { setting, title, ...told, name, done };
  }

  function stored(setting) { // what the page has of it: plan, times and ranks; or why there is no such schedule
    const packed = plans.get(keyOf(setting)), cost = costs.indexOf(`${work} ${send}`);
    const plan = packed && JSON.parse(packed);
    if (plan?.refused) return { refused: plan.refused };
    if (!plan || cost < 0) return null;
    return { plan, times: plan.times[cost], ranks: unfold(head, plan, plan.times[cost]) };
  }

  function asked(setting) { // what Python says of it; until it does, that it is at work
    const { name, p, m, v } = setting, given = { name, p, m, v, seconds: seconds(), send: Number(send) }, key = JSON.stringify(given);
    if (!worked.has(key)) {
      worked.set(key, { waits: "Python works it out in your browser; to start it takes some seconds once." });
      python.ask("reference.pages.plans.worked_out", given).then(({ value, refused }) => {
        const placed = value?.ranks.map((actions, rank) => actions.map(([kind, stage, chunk, micro, start, end, side]) =>
          ({ rank, kind, stage, chunk, micro, start, end, side })));
        worked.set(key, value ? { plan: value, times: value, ranks: placed } : { refused });
      }, (error) => worked.set(key, { refused: `Python could not work it out here (${error.message}). Settings of the chapter's sizes are stored in the page: 4 ranks, 8 micro-batches.` }),
      ).then(refresh);
    }
    return worked.get(key);
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
      else if (panel.waits) element(plan, "p", { class: "waits", role: "status" }, panel.waits);
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
    scroll.addEventListener("click", (event) => { // what a mouse tells by hovering, a finger by a tap
      find("detail").textContent = event.target.querySelector("title")?.textContent ?? "";
      const x = event.clientX - scroll.querySelector("svg").getBoundingClientRect().left;
      const told = find("detail").textContent;
      stepping.go(moments.filter((moment) => moment * scale <= x).length - 1);
      find("detail").textContent = told;
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
      "by the closed form": ({ times }) => closed(times.formula, percent, `idle ${+(+times.idle).toFixed(2)} s`),
      "its short form, free messages": ({ setting }) => ["", head.schedules[setting.name].text],
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
        const [figure, note] = panel.plan ? [value(panel)].flat() : ["–"];
        const cell = element(row, "td", {}, figure);
        if (note) element(cell, "small", {}, note.replaceAll(">=", "≥").replaceAll("<=", "≤"));
      });
    });
  }

  function buildRanks() {
    find("ranks").replaceChildren(...panels.filter((panel) => panel.plan).map((panel) => {
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
    find("detail").textContent = "";
    const time = moments[step];
    find("time").textContent = units(time);
    find("until").textContent = `${units(moments.at(-1))} s`;
    root.querySelector(".controls input").setAttribute("aria-valuetext", `${units(time)} of ${units(moments.at(-1))} seconds`);
    const valid = panels.filter((panel) => panel.plan), charts = root.querySelectorAll(".chart"), tables = root.querySelectorAll(".ranks table");
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
    chosen.forEach((setting, number) => parts.set(number ? "with" : "explore", keyOf(setting)));
    if (work === OWN) parts.set("seconds", own.join(","));
    else parts.set("work", work);
    parts.set("send", send);
    parts.set("time", units(moments[step]));
    return `#${parts}`;
  }

  function read(hash) { // what a link says, if it is one of ours; null if this page cannot show it
    const parts = new URLSearchParams(hash.slice(1)), settings = [parts.get("explore"), parts.get("with")].filter(Boolean);
    const wanted = settings.map((key) => key.split(".")).map(([name, ...sizes]) => ({ name, ...Object.fromEntries(sizes.map((size, i) => ["pmv"[i], Number(size)])) }));
    const told = { wanted, work: parts.get("work") ?? Object.keys(head.works)[0], send: parts.get("send") ?? String(head.sends[0]), time: Number(parts.get("time")) || 0 };
    if (parts.has("seconds")) Object.assign(told, { work: OWN, own: parts.get("seconds").split(",").map(Number) });
    const whole = wanted.every(({ name, p, m, v }) => head.schedules[name] && p >= 1 && m >= 1 && v >= 1);
    const costly = told.work === OWN ? told.own.length === 4 && told.own.every((value) => value >= 0) : told.work in head.works;
    const here = settings.every((key) => plans.has(key)) && told.work !== OWN && head.sends.map(String).includes(told.send);
    return whole && costly && Number(told.send) >= 0 && (python || here) ? told : null;
  }

  function follows(hash) { // take over what a link says
    if (!new URLSearchParams(hash.slice(1)).has("explore")) return false;
    const told = read(hash);
    if (!told) {
      find("problem").textContent = "The link in the address asks for a setting that this page cannot show. Choose one here:";
      return true;
    }
    update(() => {
      ({ wanted: chosen, work, send } = told);
      own = told.own ?? own;
    });
    go(told.time / head.tick + 0.1); // it was rounded
    ask(linksHere().find((each) => each.getAttribute("href") === hash));
    return true;
  }

  // ---- questions: the page's links into the explorer, each with its text, beside the chart

  const linksHere = () => [...document.querySelectorAll('a[href^="#explore="]')].filter((each) => !root.contains(each));

  function ask(from) {
    const section = from?.closest("section"), box = find("question");
    box.hidden = !section;
    if (!section) return;
    const links = linksHere(), next = links[links.indexOf(from) + 1];
    box.replaceChildren();
    element(box, "p", { class: "title" }, section.querySelector("h2, h3, h4").firstChild.textContent);
    section.querySelectorAll(":scope > p").forEach((each) => each.contains(from) || box.append(each.cloneNode(true)));
    const answer = section.querySelector(".admonition"), folded = element(box, "details");
    element(folded, "summary", {}, "answer");
    answer?.querySelectorAll("p:not(.admonition-title)").forEach((each) => folded.append(each.cloneNode(true)));
    if (next) element(box, "button", { type: "button", class: "following" }, "next question").addEventListener("click", () => next.click());
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
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("select, input[type=number]")) return;
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
