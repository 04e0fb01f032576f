/* The frame's own conveniences: keys, and menus that close. Every page works without them. */

const keys = document.getElementById("keys");

function isWriting(target) {
  return target instanceof Element && target.closest("input, select, textarea, [contenteditable]") !== null;
}

function goToRow(step) {
  const links = [...document.querySelectorAll("main .row-link")];
  if (!links.length) return;
  const here = links.indexOf(document.activeElement);
  const next = here === -1 ? (step > 0 ? 0 : links.length - 1) : here + step;
  links[Math.min(Math.max(next, 0), links.length - 1)].focus();
}

function openFilters() {
  const fold = document.getElementById("filters");
  if (!fold) return;
  fold.open = true;
  fold.querySelector("select, input").focus();
}

const DOES = {
  "?": () => keys.showModal(),
  j: () => goToRow(1),
  k: () => goToRow(-1),
  f: openFilters,
};

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    const menu = document.querySelector("details.menu[open]");
    if (menu) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || isWriting(event.target) || keys.open) return;
  if (Object.hasOwn(DOES, event.key)) {
    event.preventDefault();
    DOES[event.key]();
  }
});

document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});
