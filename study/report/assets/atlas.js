// Sorts and filters the rows. Without this script they stand in the order of the papers.
(() => {
  "use strict";
  const tools = document.querySelector(".atlas-tools");
  const body = document.querySelector(".atlas tbody");
  const rows = [...body.rows];
  const buttons = [...document.querySelectorAll(".atlas thead button")];
  const { words, paper, verdict, sort } = tools.elements;
  // What is best, least or first comes first at the first click.
  const falling = new Set(["networks", "time"]);
  let order = { key: "order", down: false };

  const value = (row) => {
    const text = row.dataset[order.key];
    return text === undefined || text === "" ? null : Number.isNaN(Number(text)) ? text : Number(text);
  };
  const compare = (a, b) => {
    const [x, y] = [value(a), value(b)];
    const known = (x === null) - (y === null);
    const direction = order.down ? -1 : 1;
    if (known || x === null) return known;
    const sign = typeof x === typeof y ? (x > y) - (x < y) : String(x).localeCompare(String(y));
    return direction * sign || a.dataset.order - b.dataset.order;
  };
  const arrange = () => {
    body.append(...rows.sort(compare));
    for (const button of buttons) {
      const direction = order.down ? "descending" : "ascending";
      button.parentElement.setAttribute("aria-sort", button.dataset.sort === order.key ? direction : "none");
    }
    sort.value = order.key;
  };
  const filter = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const { words: text, paper: of, state } = row.dataset;
      row.hidden = !(
        (!paper.value || of === paper.value) &&
        (!verdict.value || state.split(" ").includes(verdict.value)) &&
        wanted.every((word) => text.includes(word))
      );
      shown += !row.hidden;
    }
    document.querySelector(".nothing").hidden = shown > 0;
    tools.querySelector("output").textContent = `${shown} of ${rows.length} shown`;
  };

  for (const button of buttons)
    button.addEventListener("click", () => {
      const key = button.dataset.sort;
      order = { key, down: order.key === key ? !order.down : falling.has(key) };
      arrange();
    });
  sort.addEventListener("change", () => {
    order = { key: sort.value, down: falling.has(sort.value) };
    arrange();
  });
  tools.addEventListener("input", filter);
  tools.addEventListener("submit", (event) => event.preventDefault());
  tools.hidden = false;
  arrange();
  filter();
})();
