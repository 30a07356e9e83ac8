// The check marks of a checklist can be set, and stay in this browser: one note a page and line.

document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll(".task-list-item-checkbox").forEach((box, place) => {
    const line = box.parentNode, key = `checked ${location.pathname} ${line.textContent.trim().slice(0, 80)}`;
    line.id ||= `task-${place}`;
    box.setAttribute("aria-labelledby", line.id);
    box.disabled = false;
    try {
      box.checked = localStorage.getItem(key) !== null;
      box.addEventListener("change", () => (box.checked ? localStorage.setItem(key, "") : localStorage.removeItem(key)));
    } catch { // a browser that keeps nothing: the mark stays as long as the page
    }
  });
});
