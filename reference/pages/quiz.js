// Of quiz.py: fields for each question, buttons to check it and for hints, and what Python says. Without Python the text
// stays as it is.
const SECONDS = 30; // of an answer; endless loops in Python itself end before, as a verdict

function start(root) {
  root.dataset.ready = "";
  if (!python) return;
  const { calls, questions } = JSON.parse(root.querySelector("script").textContent);
  root.querySelectorAll(".question").forEach((place) => ask(root, place, calls, questions[place.dataset.name]));
}

function ask(quiz, place, calls, { given, about, letters, names }) {
  const instead = place.querySelector(".instead"), fields = letters.map((letter) => choice(place, letter, names));
  const typed = letters.length ? null : code(place, instead, given);
  const check = element(place, "button", { type: "button", class: "check" }, "Check");
  const verdict = element(place, "div", { class: "verdict", role: "status" });
  instead.before(check, verdict);
  if (calls.hint) check.after(ladder(place, (step) => python.ask(calls.hint, { ...about, step })));
  place.addEventListener("focusin", () => python.start().catch(() => {})); // it takes some seconds: begin while somebody thinks
  typed?.addEventListener("keydown", ({ key, ctrlKey, metaKey }) => key === "Enter" && (ctrlKey || metaKey) && tell());
  check.addEventListener("click", tell);
  let latest = 0;

  function answer() {
    if (typed) return { code: typed.value };
    if (!names.length) return { chosen: letters.filter((_, i) => fields[i].checked).join("") };
    return { chosen: Object.fromEntries(letters.map((letter, i) => [letter, fields[i].value]).filter(([, name]) => name)) };
  }

  async function tell() {
    const number = (latest += 1);
    place.dataset.state = "";
    if (typed && !typed.value.trim()) return void (verdict.textContent = "There is no answer yet.");
    verdict.textContent = "Python grades it in your browser; to start it takes some seconds once.";
    quiz.dataset.ready = "no";
    const told = await python.ask(calls.grade, { ...given, ...answer() }, SECONDS).catch((error) => ({ refused: error.message }));
    const solved = calls.why && told.value?.solved;
    const why = solved ? await python.ask(calls.why, about).catch(() => ({})) : {};
    if (number !== latest) return undefined; // another answer is on its way
    quiz.dataset.ready = "";
    return show(told, why.value ?? "");
  }

  function show({ value, refused }, why) {
    verdict.textContent = "";
    if (!value) return element(verdict, "p", {}, `Python could not grade it here (${refused}).`);
    place.dataset.state = value.solved ? "solved" : "wrong";
    element(verdict, "p", { class: "grade" }, `${given.name} is ${value.solved ? "solved." : "not right yet."}`);
    for (const text of why.split("\n\n").filter(Boolean)) element(verdict, "p", { class: "why" }, text);
    if (value.solved) return undefined;
    if (value.case) element(verdict, "p", {}, value.case);
    element(verdict, "p", { class: "seen" }, value.seen);
    return element(verdict, "p", { class: "hint" }, `Hint: ${value.hint}`);
  }
}

// a button that shows one more step of the ladder of hints with every click
function ladder(place, ask) {
  const button = element(place, "button", { type: "button", class: "more" }, "Show a hint");
  const steps = element(place, "ol", { class: "ladder", "aria-live": "polite" });
  button.after(steps);
  button.addEventListener("click", async () => {
    button.disabled = true;
    const { value } = await ask(steps.children.length + 1).catch(() => ({}));
    button.disabled = false;
    if (!value) return;
    element(steps, "li", {}, value.text);
    button.textContent = "Show another hint";
    if (steps.children.length === value.of) button.hidden = true;
  });
  const both = document.createDocumentFragment();
  both.append(button, steps);
  return both;
}

// the field of one statement or situation, inside its label
function choice(place, letter, names) {
  const label = place.querySelector(`label[data-letter="${letter}"]`);
  if (!names.length) {
    const box = element(label, "input", { type: "checkbox" });
    label.prepend(box);
    return box;
  }
  const select = element(label, "select");
  ["", ...names].forEach((name) => element(select, "option", { value: name }, name || "choose"));
  return select;
}

// the field of a formula, or of the lines of a function
function code(place, instead, { name, parameters }) {
  const label = element(place, "label", { class: "code" }, `Your answer: what ${name} returns for ${parameters}. A formula, or the lines of the function.`);
  instead.before(label);
  return element(label, "textarea", { rows: 3, spellcheck: "false", autocapitalize: "off", autocomplete: "off" });
}
