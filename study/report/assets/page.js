// The page is complete without this script: it adds values under the pointer or the arrow keys,
// legends that switch series, the choice among circuits, paths that stand out, the theme, and
// downloads.
(() => {
  "use strict";
  const root = document.documentElement;
  const SVG = "http://www.w3.org/2000/svg";
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };
  const draw = (tag, attributes) => {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };
  const press = (element, action) => {
    element.addEventListener("click", action);
    element.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      action();
    });
  };

  // Decimal places that give the largest of some values three significant digits.
  const placesFor = (values) => {
    const largest = Math.max(...values.map(Math.abs));
    return largest > 0 ? Math.min(6, Math.max(0, 2 - Math.floor(Math.log10(largest)))) : 0;
  };
  const number = (value, places) => {
    const digits = places === undefined ? Number(value.toPrecision(4)) : value;
    const shown = places === undefined ? String(Math.abs(digits)) : Math.abs(digits).toFixed(places);
    const [whole, rest] = shown.split(".");
    const grouped = whole.length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, "\u202f") : whole;
    return (digits < 0 ? "\u2212" : "") + grouped + (rest ? "." + rest : "");
  };
  const named = (axis) => (axis.unit ? `${axis.label} (${axis.unit})` : axis.label);

  class Chart {
    constructor(figure) {
      this.figure = figure;
      this.data = JSON.parse(figure.querySelector("script").textContent);
      this.hidden = new Set();
      this.given = this.data.along === "x" ? 0 : 1;
      this.index = -1;
      this.tip = make("div", { class: "tip", role: "status", hidden: "" });
      figure.append(this.tip);
      for (const svg of all("svg", figure)) this.listen(svg);
      this.addTools();
      this.refresh();
    }

    listen(svg) {
      const at = (event) => {
        const box = svg.getBoundingClientRect();
        const scale = svg.viewBox.baseVal.width / box.width;
        this.point(svg, (event.clientX - box.left) * scale, (event.clientY - box.top) * scale);
      };
      svg.addEventListener("pointermove", at);
      svg.addEventListener("pointerdown", at);
      svg.addEventListener("pointerleave", () => this.leave());
      svg.addEventListener("blur", () => this.leave());
      svg.addEventListener("keydown", (event) => this.key(svg, event));
      for (const key of all(".key", svg)) {
        key.setAttribute("role", "button");
        key.setAttribute("tabindex", "0");
        key.setAttribute("aria-label", `${key.dataset.label}: show`);
        press(key, () => this.toggle(Number(key.dataset.series)));
      }
    }

    toggle(series, show = this.hidden.has(series)) {
      if (show) this.hidden.delete(series);
      else this.hidden.add(series);
      this.refresh();
      updateChips();
    }

    // The values of the given axis at which any visible series has a point.
    refresh() {
      for (const part of all("[data-series]", this.figure)) {
        const off = this.hidden.has(Number(part.dataset.series));
        part.classList.toggle("off", off);
        if (part.classList.contains("key")) part.setAttribute("aria-pressed", String(!off));
      }
      const values = new Set();
      this.data.series.forEach((series, n) => {
        if (!this.hidden.has(n)) for (const point of series.points) values.add(point[this.given]);
      });
      const axis = this.axis(this.given);
      this.grid = [...values].filter((v) => v !== null && (!axis.log || v > 0)).sort((a, b) => a - b);
      this.leave();
    }

    axis(which) {
      return which === 0 ? this.data.x : this.data.y;
    }

    // Where a value of an axis lies in a drawing.
    place(svg, which, value) {
      const { low, high, log } = this.axis(which);
      const f = log ? Math.log10 : (v) => v;
      const [left, top, width, height] = svg.dataset.plot.split(" ").map(Number);
      const share = (f(value) - f(low)) / (f(high) - f(low));
      return which === 0 ? left + share * width : top + (1 - share) * height;
    }

    point(svg, x, y) {
      const [left, top, width, height] = svg.dataset.plot.split(" ").map(Number);
      const inside = x > left - 12 && x < left + width + 12 && y > top - 4 && y < top + height + 4;
      if (!inside || !this.grid.length) return this.leave();
      const pointer = this.given === 0 ? x : y;
      let best = 0;
      let distance = Infinity;
      this.grid.forEach((value, index) => {
        const d = Math.abs(this.place(svg, this.given, value) - pointer);
        if (d < distance) [best, distance] = [index, d];
      });
      this.show(svg, best, x, y);
    }

    key(svg, event) {
      const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 };
      const last = this.grid.length - 1;
      let index;
      if (event.key in steps) index = this.index + steps[event.key];
      else if (event.key === "Home") index = 0;
      else if (event.key === "End") index = last;
      else if (event.key === "Escape") return this.leave();
      else return;
      if (event.target !== svg || last < 0) return;
      event.preventDefault();
      this.show(svg, Math.max(0, Math.min(last, index)));
    }

    // The points of visible series at a value of the given axis.
    at(value) {
      const { low, high, log } = this.axis(this.given);
      const f = log ? Math.log10 : (v) => v;
      const near = Math.abs(f(high) - f(low)) * 0.006;
      const found = [];
      this.data.series.forEach((series, n) => {
        if (this.hidden.has(n)) return;
        let best = null;
        let distance = near;
        for (const point of series.points) {
          const d = Math.abs(f(point[this.given]) - f(value));
          if (d <= distance) [best, distance] = [point, d];
        }
        if (best) found.push([series, best]);
      });
      return found;
    }

    show(svg, index, x, y) {
      this.leave();
      this.index = index;
      const value = this.grid[index];
      const found = this.at(value);
      const [left, top, width, height] = svg.dataset.plot.split(" ").map(Number);
      const along = this.place(svg, this.given, value);
      const cursor = draw("g", { class: "cursor" });
      const line = this.given === 0 ? `M${along} ${top}v${height}` : `M${left} ${along}h${width}`;
      cursor.append(draw("path", { d: line, stroke: "var(--muted)", "stroke-width": 1, "stroke-dasharray": "2 3" }));
      for (const [series, point] of found) {
        const [cx, cy] = [this.place(svg, 0, point[0]), this.place(svg, 1, point[1])];
        if (!Number.isFinite(cx + cy)) continue;
        cursor.append(draw("circle", { cx, cy, r: 4.5, fill: `var(--s${series.colour})`, stroke: "var(--page)", "stroke-width": 1.5 }));
      }
      svg.append(cursor);
      this.cursor = cursor;
      this.fillTip(value, found);
      this.moveTip(svg, x ?? (this.given === 0 ? along : left + width / 2), y ?? (this.given === 0 ? top + height / 3 : along));
    }

    fillTip(value, found) {
      const given = this.axis(this.given);
      const measured = this.axis(1 - this.given);
      const unit = given.unit ? ` ${given.unit}` : "";
      const table = make("table", {});
      const places = placesFor(found.map(([, point]) => point[1 - this.given]));
      for (const [series, point] of found) {
        const dot = make("span", { class: "dot", style: `background:var(--s${series.colour})` });
        const interval = point.length > 2 ? `${number(point[2], places)} \u2013 ${number(point[3], places)}` : "";
        const shown = number(point[1 - this.given], places) + (measured.unit ? ` ${measured.unit}` : "");
        table.append(make("tr", {}, make("td", {}, dot, series.label), make("td", {}, shown), make("td", {}, interval)));
      }
      this.tip.replaceChildren(make("strong", {}, `${given.label} ${number(value)}${unit}`), table);
      this.tip.hidden = false;
    }

    moveTip(svg, x, y) {
      const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
      const figure = this.figure.getBoundingClientRect();
      const box = svg.getBoundingClientRect();
      const [w, h] = [this.tip.offsetWidth, this.tip.offsetHeight];
      const px = box.left - figure.left + x * scale;
      const py = box.top - figure.top + y * scale;
      const right = px + 18 + w <= figure.width;
      const placed = right ? px + 18 : Math.max(0, Math.min(px - 18 - w, figure.width - w));
      this.tip.style.transform = `translate(${placed}px, ${Math.max(0, py - h / 2)}px)`;
    }

    leave() {
      this.cursor?.remove();
      this.cursor = null;
      this.tip.hidden = true;
    }

    addTools() {
      const tools = make("div", { class: "tools" });
      const values = make("button", { type: "button", "aria-expanded": "false" }, "Values");
      values.addEventListener("click", () => {
        const open = this.figure.querySelector(".values");
        values.setAttribute("aria-expanded", String(!open));
        if (open) open.remove();
        else this.figure.append(this.valueTable());
      });
      const csv = make("button", { type: "button" }, "CSV");
      csv.addEventListener("click", () => save(`${this.data.id}.csv`, "text/csv", this.csv()));
      const svg = make("button", { type: "button" }, "SVG");
      svg.addEventListener("click", () => save(`${this.data.id}.svg`, "image/svg+xml", this.standalone()));
      tools.append(values, csv, svg);
      this.figure.append(tools);
    }

    rows() {
      const rows = [];
      for (const series of this.data.series)
        for (const [x, y, low = "", high = ""] of series.points) rows.push([series.label, x, y, low, high]);
      return rows;
    }

    valueTable() {
      const head = ["Series", named(this.data.x), named(this.data.y), "95 % low", "95 % high"];
      const cells = (tag, row) => row.map((cell) => make(tag, {}, String(cell ?? "")));
      const body = this.rows().map((row) => make("tr", {}, ...cells("td", row)));
      return make("div", { class: "values", tabindex: "0" },
        make("table", {}, make("thead", {}, make("tr", {}, ...cells("th", head))), make("tbody", {}, ...body)));
    }

    csv() {
      const quote = (cell) => (/[",\n]/.test(String(cell)) ? `"${String(cell).replace(/"/g, '""')}"` : String(cell ?? ""));
      const head = ["series", named(this.data.x), named(this.data.y), "low", "high"];
      return [head, ...this.rows()].map((row) => row.map(quote).join(",")).join("\n") + "\n";
    }

    // The drawing with the colours that it has at the moment, for other programs.
    standalone() {
      this.leave();
      const copy = this.figure.querySelector("svg").cloneNode(true);
      all(".off", copy).forEach((part) => part.remove());
      const style = getComputedStyle(root);
      const { width, height } = copy.viewBox.baseVal;
      copy.setAttribute("xmlns", SVG);
      copy.setAttribute("width", width);
      copy.setAttribute("height", height);
      copy.setAttribute("font-family", "Inter, Helvetica Neue, Arial, Liberation Sans, sans-serif");
      copy.prepend(draw("rect", { width, height, fill: "var(--paper)" }));
      return copy.outerHTML.replace(/var\((--[a-z0-9]+)\)/g, (_, name) => style.getPropertyValue(name).trim());
    }
  }

  const save = (name, type, text) => {
    const url = URL.createObjectURL(new Blob([text], { type }));
    const link = make("a", { href: url, download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  };

  // Series that occur in several charts can be switched in all of them at once.
  const chipBar = document.querySelector(".chips");
  let charts = [];
  const chips = new Map();
  const eachSeries = (label, action) => {
    for (const chart of charts)
      chart.data.series.forEach((series, n) => {
        if (series.label === label || series.label === `${label} (paper)`) action(chart, n);
      });
  };
  const updateChips = () => {
    for (const [label, button] of chips) {
      let shown = false;
      eachSeries(label, (chart, n) => (shown ||= !chart.hidden.has(n)));
      button.setAttribute("aria-pressed", String(shown));
    }
  };
  const addChips = () => {
    const seen = new Map();
    for (const chart of charts)
      for (const { label, colour, paper } of chart.data.series) {
        if (paper) continue;
        const entry = seen.get(label) ?? { colour, count: 0 };
        entry.count += 1;
        seen.set(label, entry);
      }
    for (const [label, { colour, count }] of seen) {
      if (count < 2) continue;
      const dot = make("span", { class: "dot", style: `background:var(--s${colour})` });
      const button = make("button", { type: "button", "aria-pressed": "true" }, dot, label);
      button.addEventListener("click", () => {
        const show = button.getAttribute("aria-pressed") === "false";
        eachSeries(label, (chart, n) => chart.toggle(n, show));
      });
      chips.set(label, button);
    }
    if (chips.size < 2) return chips.clear();
    chipBar.append(...chips.values());
    chipBar.hidden = false;
  };

  // One of several things is shown at a time, and readers choose which.
  const addChoice = (block) => {
    const options = all(".option", block);
    const select = make("select", {});
    options.forEach((option, n) => select.append(make("option", { value: n }, option.dataset.label)));
    const show = () => options.forEach((option, n) => { option.hidden = n !== Number(select.value); });
    select.addEventListener("change", show);
    block.prepend(make("label", {}, block.dataset.label, select));
    block.classList.add("chosen");
    show();
  };

  // The paths over a stop stand out while it is pointed at.
  const followPaths = (svg) => {
    const routes = all(".route", svg).map((route) => [route, new Set(route.dataset.at.split(" "))]);
    const light = (stop) => {
      svg.classList.toggle("lit", stop !== null);
      for (const [route, stops] of routes) route.classList.toggle("lit", stop !== null && stops.has(stop));
    };
    for (const stop of all(".stop", svg)) {
      stop.addEventListener("pointerenter", () => light(stop.dataset.stop));
      stop.addEventListener("pointerleave", () => light(null));
    }
  };

  const addSaving = (code) => {
    const button = make("button", { type: "button", class: "save" }, `Save as ${code.dataset.file}`);
    button.addEventListener("click", () => save(code.dataset.file, "text/plain", code.querySelector("pre").textContent));
    code.querySelector("summary").after(button);
  };

  const addTheme = () => {
    const button = document.querySelector(".theme");
    const names = { "": "Auto", light: "Light", dark: "Dark" };
    const order = ["", "light", "dark"];
    let current = "";
    const apply = (theme) => {
      current = theme in names ? theme : "";
      if (current) root.dataset.theme = current;
      else delete root.dataset.theme;
      button.textContent = names[current];
      button.setAttribute("aria-label", `Colours: ${names[current]}. Change`);
    };
    // A page opened from a file may not be allowed to store anything.
    try { apply(localStorage.getItem("hopflow-theme") ?? ""); } catch { apply(""); }
    button.hidden = false;
    button.addEventListener("click", () => {
      apply(order[(order.indexOf(current) + 1) % order.length]);
      try { localStorage.setItem("hopflow-theme", current); } catch { /* Lasts as long as the page. */ }
    });
  };

  const followSections = () => {
    const links = new Map(all("nav a").map((link) => [link.hash.slice(1), link]));
    const observer = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        for (const link of links.values()) link.removeAttribute("aria-current");
        links.get(entry.target.id)?.setAttribute("aria-current", "true");
      }
    }, { rootMargin: "-20% 0px -70% 0px" });
    for (const section of all("section[id]")) observer.observe(section);
  };

  charts = all("figure.chart").map((figure) => new Chart(figure));
  addChips();
  all(".one-of").forEach(addChoice);
  all(".map svg").forEach(followPaths);
  all(".code[data-file]").forEach(addSaving);
  addTheme();
  followSections();
  root.dataset.charts = String(charts.length);
})();
