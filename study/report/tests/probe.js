// Uses the page as a reader would and writes what happened into the document.
(async () => {
  const seen = {};
  const wait = () => new Promise((resolve) => setTimeout(resolve, 50));
  const visible = (svg) => svg.getBoundingClientRect().width > 0;
  const figure = document.querySelector("figure.chart");
  const svg = [...figure.querySelectorAll("svg")].find(visible);
  const tip = figure.querySelector(".tip");

  seen.charts = document.querySelectorAll("figure.chart").length;
  seen.started = Number(document.documentElement.dataset.charts);
  // Of what readers choose from, the rest is hidden.
  const choice = document.querySelector(".one-of");
  const shown = () => [...choice.querySelectorAll(".option")].filter((option) => !option.hidden).map((option) => option.dataset.label);
  const select = choice.querySelector("select");
  seen.choices = select.options.length;
  seen.hiddenCharts = choice.querySelectorAll(".option[hidden] figure.chart").length;
  const first = shown();
  select.value = String(select.options.length - 1);
  select.dispatchEvent(new Event("change"));
  seen.chosen = first.length === 1 && shown().length === 1 && shown()[0] !== first[0]
    && [...choice.querySelectorAll(".option:not([hidden]) figure.chart svg")].every(visible);

  const map = [...document.querySelectorAll(".map svg")].find(visible);
  seen.stops = map.querySelectorAll(".stop").length;
  const exit = map.querySelector('.stop[data-stop="3.0"]');
  exit.dispatchEvent(new PointerEvent("pointerenter"));
  seen.lit = [...map.querySelectorAll(".route.lit")].every((route) => route.dataset.at.endsWith("3.0"))
    ? map.querySelectorAll(".route.lit").length : -1;
  exit.dispatchEvent(new PointerEvent("pointerleave"));
  seen.unlit = map.querySelectorAll(".route.lit").length;
  seen.save = document.querySelector(".code .save").textContent;

  seen.drawn = [...document.querySelectorAll("figure.chart svg")].filter(visible)
    .filter((drawing) => drawing.getBoundingClientRect().width > 300 && drawing.querySelector(".marks path")).length;
  seen.overflow = document.documentElement.scrollWidth - window.innerWidth;
  seen.requests = performance.getEntriesByType("resource").map((entry) => entry.name).filter((name) => !name.startsWith("data:"));

  const box = svg.getBoundingClientRect();
  const centre = { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2, bubbles: true };
  svg.dispatchEvent(new PointerEvent("pointermove", centre));
  seen.hovered = tip.hidden ? "nothing" : tip.textContent;
  seen.rows = tip.querySelectorAll("tr").length;
  svg.dispatchEvent(new PointerEvent("pointerleave"));
  seen.left = tip.hidden;
  svg.dispatchEvent(new KeyboardEvent("keydown", { key: "End" }));
  const last = tip.querySelector("strong").textContent;
  svg.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft" }));
  seen.keyed = !tip.hidden && tip.querySelector("strong").textContent !== last;

  svg.querySelector(".key").dispatchEvent(new MouseEvent("click", { bubbles: true }));
  seen.switched = svg.querySelectorAll(".marks.off").length;
  svg.querySelector(".key").dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
  seen.switchedBack = svg.querySelectorAll(".marks.off").length;
  const chip = [...document.querySelectorAll(".chips button")].at(-1);
  chip.click();
  seen.switchedEverywhere = [...document.querySelectorAll("figure.chart")].every((f) => f.querySelector(".marks.off"));
  chip.click();

  const theme = document.querySelector(".theme");
  const colours = new Set();
  for (let i = 0; i < 3; i++) {
    theme.click();
    colours.add(getComputedStyle(document.body).backgroundColor);
  }
  seen.themes = colours.size;

  // What a blob holds is read when it is made: to read it later takes real time, of which the
  // browser's virtual time knows nothing.
  const saved = [];
  window.Blob = class extends Blob {
    constructor(parts, options) {
      super(parts, options);
      saved.push(parts.join(""));
    }
  };
  URL.createObjectURL = () => "data:,";
  HTMLAnchorElement.prototype.click = () => {};
  const [values, csv, drawing] = figure.querySelectorAll(".tools button");
  values.click();
  seen.valueRows = figure.querySelectorAll(".values tbody tr").length;
  csv.click();
  drawing.click();
  seen.csv = saved[0].split("\n")[0];
  const text = saved[1];
  seen.standalone = new DOMParser().parseFromString(text, "image/svg+xml").documentElement.nodeName;
  seen.variables = (text.match(/var\(/g) ?? []).length;
  await wait();
  seen.errors = window.probeErrors;
  document.body.replaceChildren(Object.assign(document.createElement("pre"), { id: "probe", textContent: JSON.stringify(seen) }));
})().catch((error) => {
  document.body.replaceChildren(Object.assign(document.createElement("pre"), { id: "probe", textContent: `{"failed": ${JSON.stringify(String(error.stack))}}` }));
});
