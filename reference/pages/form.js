// Of form.py: fields above a table that Python makes of them. Where the page has no Python, the table that is there stays.

function start(root) {
  root.dataset.ready = "";
  if (!python) return;
  const head = JSON.parse(root.querySelector("script").textContent), values = Object.fromEntries(head.fields.map(({ name, value }) => [name, value]));
  const fields = element(root, "div", { class: "fields" }), said = element(root, "p", { class: "said", role: "status" });
  root.prepend(fields, said);
  root.querySelector(".given").remove();
  let latest = 0;

  head.fields.forEach(({ name, label, value, least, most, whole }) => {
    const limits = { min: least, ...(most === null ? {} : { max: most }), step: whole ? 1 : "any" };
    const field = element(element(fields, "label", {}, label), "input", { type: "number", inputmode: "decimal", ...limits });
    field.value = value;
    field.addEventListener("focus", () => python.start().catch(() => {})); // it takes some seconds: begin while somebody types
    field.addEventListener("change", () => field.value !== "" && ask(Object.assign(values, { [name]: Number(field.value) })));
  });

  async function ask(given) {
    const number = (latest += 1);
    said.textContent = "Python works it out in your browser; to start it takes some seconds once.";
    root.dataset.ready = "no";
    const told = await python.ask("reference.pages.form.shown", { call: head.call, given }).catch((error) =>
      ({ refused: `Python could not work it out here (${error.message}).` }));
    if (number !== latest) return; // something else has been asked meanwhile
    said.textContent = told.refused ?? "";
    if (told.value) root.querySelector("table").outerHTML = told.value;
    root.dataset.ready = "";
  }
}
