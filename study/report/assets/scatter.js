// Scatter charts whose axes, colours and points readers choose. Without this script the page shows
// one choice of axes with all points.
(() => {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg";
  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };
  const draw = (tag, attributes, text) => {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const named = ({ label, unit }) => (unit ? `${label} (${unit})` : label);
  const number = (value) => {
    const size = Math.abs(value);
    const places = size > 0 ? Math.min(6, Math.max(0, 2 - Math.floor(Math.log10(size)))) : 0;
    return (value < 0 ? "\u2212" : "") + size.toFixed(places);
  };

  // About `count` round numbers that hold all values.
  const ticks = (values, count) => {
    const low = Math.min(0, ...values);
    const high = Math.max(...values, low + 1e-9);
    const raw = (high - low) / count;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = power * [1, 2, 2.5, 5, 10].find((factor) => factor * power >= raw * 0.999);
    const [first, last] = [Math.floor(low / step + 1e-9), Math.ceil(high / step - 1e-9)];
    const places = Math.max(0, -Math.floor(Math.log10(step)) + (step / power === 2.5 ? 1 : 0));
    const all = Array.from({ length: last - first + 1 }, (_, n) => (first + n) * step);
    return { low: first * step, high: last * step, all, text: (v) => v.toFixed(Math.min(6, places)).replace("-", "\u2212") };
  };

  class Scatter {
    constructor(figure) {
      this.figure = figure;
      this.data = JSON.parse(figure.querySelector("script").textContent);
      this.shown = this.data.filters.map(({ values }) => values.map(() => true));
      this.current = -1;
      this.tip = make("div", { class: "tip", role: "status", hidden: "" });
      this.plot = make("div", { class: "plot" });
      figure.querySelector(".still").replaceWith(this.controls(), this.plot);
      figure.append(this.tip);
      const resized = () => this.plot.clientWidth !== this.width && this.refresh();
      new ResizeObserver(() => requestAnimationFrame(resized)).observe(this.plot);
      this.refresh();
    }

    controls() {
      const { measures, filters } = this.data;
      const names = filters.map(({ name }) => name);
      const top = make("div", { class: "choices" },
        this.select("Across", "x", measures.map(named)),
        this.select("Up", "y", measures.map(named)),
        this.select("Colours", "colour", names));
      const rows = filters.map((filter, n) => this.filter(filter, n));
      return make("div", { class: "controls" }, top, ...rows.filter(Boolean));
    }

    select(label, key, names) {
      const options = names.map((name, n) => make("option", { value: n, ...(n === this.data[key] ? { selected: "" } : {}) }, name));
      const select = make("select", {}, ...options);
      select.addEventListener("change", () => {
        this.data[key] = Number(select.value);
        this.refresh();
      });
      return make("label", {}, label, select);
    }

    filter({ name, values }, n) {
      if (values.length < 2) return null;
      const buttons = values.map((value, v) => {
        const dot = make("span", { class: "dot", "data-filter": n, "data-value": v });
        const button = make("button", { type: "button", "aria-pressed": "true" }, dot, value);
        button.addEventListener("click", () => {
          this.shown[n][v] = !this.shown[n][v];
          button.setAttribute("aria-pressed", String(this.shown[n][v]));
          this.refresh();
        });
        return button;
      });
      return make("div", { class: "filter", role: "group", "aria-label": name }, make("span", {}, name), ...buttons);
    }

    // The points that are shown, by their place across; the front among them is marked.
    points() {
      const { x, y, colour, measures, spots } = this.data;
      const cost = (spot, m) => (measures[m].higher ? -spot.values[m][0] : spot.values[m][0]);
      const shown = spots.filter((spot) => spot.values[x] && spot.values[y]
        && spot.categories.every((category, n) => this.shown[n][category]));
      const points = shown.map((spot) => {
        const [a, b] = [cost(spot, x), cost(spot, y)];
        const beaten = shown.some((other) => cost(other, x) <= a && cost(other, y) <= b && (cost(other, x) < a || cost(other, y) < b));
        return { spot, x: spot.values[x], y: spot.values[y], front: !beaten, colour: spot.categories[colour] % 8 };
      });
      return points.sort((p, q) => p.x[0] - q.x[0] || p.y[0] - q.y[0]);
    }

    refresh() {
      this.width = this.plot.clientWidth;
      if (!this.width) return;
      const width = Math.max(320, this.width);
      for (const dot of this.figure.querySelectorAll(".dot[data-filter]")) {
        const own = Number(dot.dataset.filter) === this.data.colour;
        dot.hidden = !own;
        dot.style.background = `var(--s${Number(dot.dataset.value) % 8})`;
      }
      this.all = this.points();
      const height = width < 600 ? 340 : 460;
      const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", tabindex: 0, "font-size": 12.5,
        "aria-label": `${this.all.length} points. Arrow keys read them.` });
      this.axes(svg, width, height);
      this.front(svg);
      this.all.forEach((point) => this.mark(svg, point));
      this.plot.replaceChildren(svg);
      this.listen(svg);
      this.leave();
    }

    axes(svg, width, height) {
      const { measures, x, y } = this.data;
      const means = (axis) => this.all.map((point) => point[axis][0]);
      const across = ticks(means("x").concat(0), width < 600 ? 4 : 9);
      const up = ticks(means("y").concat(0), 6);
      const left = 14 + 7.5 * Math.max(...up.all.map((v) => up.text(v).length));
      const [top, right, bottom] = [34, 18, 46];
      const clip = `${this.figure.id}-clip`;
      const frame = draw("clipPath", { id: clip });
      frame.append(draw("rect", { x: left, y: top, width: width - left - right, height: height - top - bottom }));
      svg.append(frame);
      this.clip = `url(#${clip})`;
      this.at = (px, py) => [
        left + (px - across.low) / (across.high - across.low) * (width - left - right),
        height - bottom - (py - up.low) / (up.high - up.low) * (height - top - bottom)];
      const line = (d, ink) => svg.append(draw("path", { d, stroke: `var(--${ink})`, "stroke-width": 1 }));
      const text = (at, anchor, words) => svg.append(draw("text", { x: at[0], y: at[1], "text-anchor": anchor, fill: "var(--muted)" }, words));
      for (const value of up.all) {
        const [, py] = this.at(across.low, value);
        line(`M${left} ${py}H${width - right}`, "grid");
        text([left - 8, py + 4], "end", up.text(value));
      }
      for (const value of across.all) {
        const [px] = this.at(value, up.low);
        line(`M${px} ${height - bottom}v5`, "axis");
        text([px, height - bottom + 20], "middle", across.text(value));
      }
      line(`M${left} ${height - bottom}H${width - right}`, "axis");
      const better = (measure) => `${named(measure)}, ${measure.higher ? "more" : "less"} is better`;
      text([0, 16], "start", `\u2191 ${better(measures[y])}`);
      text([width - right, height - 6], "end", `${better(measures[x])} \u2192`);
    }

    front(svg) {
      const places = this.all.filter((point) => point.front).map((point) => this.at(point.x[0], point.y[0]).join(" "));
      if (places.length > 1) svg.append(draw("path", { class: "front", d: `M${places.join("L")}`, fill: "none", stroke: "var(--muted)", "stroke-width": 1.5, "stroke-dasharray": "6 4" }));
    }

    mark(svg, point) {
      const [cx, cy] = this.at(point.x[0], point.y[0]);
      const group = draw("g", { class: "spot", stroke: `var(--s${point.colour})`, fill: point.front ? `var(--s${point.colour})` : "var(--page)" });
      const bars = [];
      if (point.x.length > 1) bars.push([this.at(point.x[1], point.y[0]), this.at(point.x[2], point.y[0])]);
      if (point.y.length > 1) bars.push([this.at(point.x[0], point.y[1]), this.at(point.x[0], point.y[2])]);
      for (const [a, b] of bars) group.append(draw("path", { d: `M${a.join(" ")}L${b.join(" ")}`, "stroke-opacity": 0.35, "clip-path": this.clip }));
      group.append(draw("circle", { cx, cy, r: point.front ? 6.5 : 5, "stroke-width": 2 }));
      svg.append(group);
    }

    listen(svg) {
      const near = (event) => {
        const box = svg.getBoundingClientRect();
        const scale = svg.viewBox.baseVal.width / box.width;
        const [px, py] = [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
        const distance = (point) => {
          const [x, y] = this.at(point.x[0], point.y[0]);
          return Math.hypot(x - px, y - py);
        };
        const best = this.all.reduce((a, b) => (a && distance(a) <= distance(b) ? a : b), null);
        if (best && distance(best) < 28) this.show(svg, this.all.indexOf(best));
        else this.leave();
      };
      svg.addEventListener("pointermove", near);
      svg.addEventListener("pointerdown", near);
      svg.addEventListener("pointerleave", () => this.leave());
      svg.addEventListener("blur", () => this.leave());
      svg.addEventListener("keydown", (event) => {
        const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
        if (event.key === "Escape") this.leave();
        if (!step || !this.all.length) return;
        event.preventDefault();
        this.show(svg, Math.max(0, Math.min(this.all.length - 1, this.current + step)));
      });
    }

    show(svg, index) {
      this.leave();
      this.current = index;
      const { spot, x, y, front } = this.all[index];
      const [cx, cy] = this.at(x[0], y[0]);
      svg.append(draw("circle", { class: "ring", cx, cy, r: 10, fill: "none", stroke: "var(--text)", "stroke-width": 1.5 }));
      const rows = this.data.measures.map((measure, n) => [measure, spot.values[n]]).filter(([, value]) => value);
      const table = make("table", {}, ...rows.map(([measure, [mean, low, high]]) => make("tr", {},
        make("td", {}, measure.label),
        make("td", {}, `${number(mean)}${measure.unit ? ` ${measure.unit}` : ""}`),
        make("td", {}, low === undefined ? "" : `${number(low)} \u2013 ${number(high)}`))));
      const choices = this.data.filters.map(({ values }, n) => values[spot.categories[n]]).join(", ");
      this.tip.replaceChildren(make("strong", {}, spot.label + (front ? ", on the front" : "")), make("div", {}, choices), table);
      this.tip.hidden = false;
      const [box, figure] = [svg.getBoundingClientRect(), this.figure.getBoundingClientRect()];
      const scale = box.width / svg.viewBox.baseVal.width;
      const [w, h] = [this.tip.offsetWidth, this.tip.offsetHeight];
      const px = box.left - figure.left + cx * scale;
      const py = box.top - figure.top + cy * scale;
      const placed = px + 18 + w <= figure.width ? px + 18 : Math.max(0, Math.min(px - 18 - w, figure.width - w));
      this.tip.style.transform = `translate(${placed}px, ${Math.max(0, py - h / 2)}px)`;
    }

    leave() {
      this.figure.querySelector(".ring")?.remove();
      this.tip.hidden = true;
    }
  }

  const all = [...document.querySelectorAll("figure.scatter")].map((figure) => new Scatter(figure));
  document.documentElement.dataset.scatters = String(all.length);
})();
