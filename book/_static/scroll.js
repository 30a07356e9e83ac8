// A formula that is wider than the page scrolls in its box; as a tab stop it does so by the arrow keys, too.
const reach = () => document.querySelectorAll(".bd-article div.math").forEach((box) => {
  if (box.scrollWidth > box.clientWidth + 1) box.tabIndex = 0;
});

window.addEventListener("load", async () => {
  if (window.MathJax?.startup) await MathJax.startup.promise;
  reach();
  window.addEventListener("resize", () => setTimeout(reach, 300)); // MathJax fits its formulas to the new width first
});
