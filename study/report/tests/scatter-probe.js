// Uses a scatter chart as a reader would and writes what happened into the document.
(async () => {
  const seen = {};
  const figure = document.querySelector("figure.scatter");
  const tip = figure.querySelector(".tip");
  const svg = () => figure.querySelector(".plot svg");
  const spots = () => [...figure.querySelectorAll(".spot")];
  const front = () => spots().filter((spot) => spot.getAttribute("fill") !== "var(--page)").length;

  seen.started = Number(document.documentElement.dataset.scatters);
  seen.overflow = document.documentElement.scrollWidth - window.innerWidth;
  seen.points = spots().length;
  seen.front = front();

  const box = spots()[0].querySelector("circle").getBoundingClientRect();
  const over = { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2, bubbles: true };
  svg().dispatchEvent(new PointerEvent("pointermove", over));
  seen.hovered = tip.hidden ? "nothing" : tip.textContent;
  const first = tip.textContent;
  svg().dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
  seen.keyed = !tip.hidden && tip.textContent !== first;

  const [, up] = figure.querySelectorAll("select");
  up.value = "2";
  up.dispatchEvent(new Event("change"));
  seen.frontByLoss = front();
  figure.querySelectorAll(".filter button")[1].click();
  seen.filtered = spots().length;
  seen.errors = window.probeErrors;
  document.body.replaceChildren(Object.assign(document.createElement("pre"), { id: "probe", textContent: JSON.stringify(seen) }));
})().catch((error) => {
  document.body.replaceChildren(Object.assign(document.createElement("pre"), { id: "probe", textContent: `{"failed": ${JSON.stringify(String(error.stack))}}` }));
});
