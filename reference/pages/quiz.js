// Of quiz.py: fields for each question, a button, and what Python says of the answer. Without Python the text stays as it is.

function start(root) {
  root.dataset.ready = "";
  if (!python) return;
  const { call, questions } = JSON.parse(root.querySelector("script").textContent);
  root.querySelectorAll(".question").forEach((place) => ask(root, place, call, questions[place.dataset.name]));
}

function ask(quiz, place, call, { given, letters, names }) {
  const instead = place.querySelector(".instead"), fields = letters.map((letter) => choice(place, letter, names));
  const typed = letters.length ? null : code(place, instead, given);
  const check = element(place, "button", { type: "button", class: "check" }, "Check");
  const verdict = element(place, "div", { class: "verdict", role: "status" });
  instead.before(check, verdict);
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
    const told = await python.ask(call, { ...given, ...answer() }).catch((error) => ({ refused: error.message }));
    if (number !== latest) return undefined; // another answer is on its way
    quiz.dataset.ready = "";
    return show(told);
  }

  function show({ value, refused }) {
    verdict.textContent = "";
    if (!value) return element(verdict, "p", {}, `Python could not grade it here (${refused}).`);
    place.dataset.state = value.solved ? "solved" : "wrong";
    element(verdict, "p", { class: "grade" }, `${given.name} is ${value.solved ? "solved." : "not right yet."}`);
    if (value.solved) return undefined;
    if (value.case) element(verdict, "p", {}, value.case);
    element(verdict, "p", { class: "seen" }, value.seen);
    return element(verdict, "p", { class: "hint" }, `Hint: ${value.hint}`);
  }
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
