// Sorts and filters the atlas as a reader would and writes what happened into the document.
(() => {
  const seen = {};
  const shown = () => [...document.querySelectorAll(".atlas tbody tr")].filter((row) => !row.hidden)
    .map((row) => row.querySelector("th").firstChild.textContent);
  const tools = document.querySelector(".atlas-tools");
  const choose = (name, value) => {
    tools.elements[name].value = value;
    tools.elements[name].dispatchEvent(new Event("input", { bubbles: true }));
    tools.elements[name].dispatchEvent(new Event("change", { bubbles: true }));
  };
  seen.overflow = document.documentElement.scrollWidth - window.innerWidth;
  seen.requests = performance.getEntriesByType("resource").map((entry) => entry.name).filter((name) => !name.startsWith("data:"));
  seen.rows = shown();
  seen.pictures = [...document.querySelectorAll(".thumb")].filter((drawing) => drawing.getBoundingClientRect().width > 60).length;
  const button = document.querySelector("button[data-sort=deviation]");
  button.click();
  seen.sorted = shown();
  button.click();
  seen.reversed = shown();
  choose("sort", "order");
  choose("verdict", "bad");
  seen.bad = shown();
  choose("verdict", "");
  choose("words", "slow");
  seen.found = shown();
  choose("words", "nowhere");
  seen.nothing = !document.querySelector(".nothing").hidden;
  seen.errors = window.probeErrors;
  document.body.replaceChildren(Object.assign(document.createElement("pre"), { id: "probe", textContent: JSON.stringify(seen) }));
})();
