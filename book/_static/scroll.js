// A formula that is wider than the page scrolls in its box; as a tab stop it does so by the arrow keys, too.
// On a phone this holds for formulas in a line of text as well: there they have boxes (custom.css).
const reach = () => document.querySelectorAll(".bd-article :is(div, span).math").forEach((box) => {
  const scrolls = box.scrollWidth > box.clientWidth + 1 && getComputedStyle(box).overflowX === "auto";
  if (scrolls) box.tabIndex = 0;
  else box.removeAttribute("tabindex");
});

window.addEventListener("load", async () => {
  if (window.MathJax?.startup) await MathJax.startup.promise;
  reach();
  window.addEventListener("resize", () => setTimeout(reach, 300)); // MathJax fits its formulas to the new width first
});

// From the search one comes to the first place where the page has the words, and not to its head.
window.addEventListener("load", () => {
  const found = document.querySelector(".bd-article .highlighted");
  if (found && !location.hash) (found.closest("p, li, td, dd, pre") || found).scrollIntoView({ block: "center" });
});
