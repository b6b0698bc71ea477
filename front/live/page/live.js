// src/plots.ts
import uPlot from "./uplot.js";
function lineSample({ colour, dash }) {
  const make = (name, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const picture = make("svg", { class: "sample", width: "36", height: "8", "aria-hidden": "true" });
  const line = make("line", { x1: "0", x2: "36", y1: "4", y2: "4", "stroke-width": "2.5", "stroke-dasharray": dash?.join(" ") ?? "none" });
  line.style.stroke = `var(--${colour})`;
  picture.append(line);
  return picture;
}
var NEAR = 30;
var FROM_ZERO = { range: { min: { soft: 0, mode: 1 }, max: { pad: 0.1, soft: 0, mode: 2 } } };
function align(lines) {
  const tables = lines.map((points) => [
    points.map(([at]) => at),
    points.map(([, value]) => value)
  ]);
  return uPlot.join(tables);
}
var Plots = class {
  constructor(into, defined) {
    this.into = into;
    this.defined = defined;
    this.data = defined.map(({ lines }) => [[], ...lines.map(() => [])]);
    this.build();
  }
  into;
  defined;
  plots = [];
  data;
  range = [0, 1];
  /** The time that is marked in all charts. */
  marked;
  /** Frees what the charts hold. */
  close() {
    this.plots.forEach((plot) => plot.destroy());
  }
  /** Makes all charts anew, with the values that they show. */
  build() {
    this.close();
    this.into.replaceChildren();
    const places = this.defined.map(({ title, unit }) => {
      const place = document.createElement("figure");
      const caption = document.createElement("figcaption");
      caption.textContent = unit === "" ? title : `${title} (${unit})`;
      place.setAttribute("aria-label", caption.textContent);
      place.append(caption);
      this.into.append(place);
      return place;
    });
    const style = getComputedStyle(this.into);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    this.plots = this.defined.map((defined, number2) => this.plot(defined, this.data[number2], places[number2], colour));
  }
  plot({ lines, fromZero }, data, place, colour) {
    const axis = { stroke: colour("text"), grid: { stroke: colour("line") }, ticks: { stroke: colour("line") } };
    const series = lines.map(({ label, dash, points, ...line }) => {
      const stroke = colour(line.colour);
      const drawn = points === void 0 ? { points: { show: false }, ...dash === void 0 ? {} : { dash } } : { paths: () => null, points: { show: true, size: points.size, fill: points.filled ? stroke : "transparent" } };
      return { label, stroke, width: 2, ...drawn };
    });
    const options = {
      width: Math.max(240, place.clientWidth - 20),
      height: 150,
      legend: { show: false },
      cursor: { drag: { x: false, y: false }, focus: { prox: NEAR } },
      focus: { alpha: 0.4 },
      scales: { x: { time: false, range: () => this.range }, y: fromZero === true ? FROM_ZERO : {} },
      axes: [{ ...axis, values: (_, at) => at.map((it) => `${it} s`) }, { ...axis, size: 54 }],
      series: [{}, ...series],
      hooks: {
        draw: [(plot2) => this.drawMark(plot2, colour("faint"))],
        setSeries: [(_, number2) => this.name(place, lines[(number2 ?? 0) - 1])]
      }
    };
    const plot = new uPlot(options, data, place);
    plot.ctx.canvas.setAttribute("role", "img");
    plot.ctx.canvas.setAttribute("aria-label", lines.map(({ label }) => label).join(", "));
    return plot;
  }
  /** Names the line under the pointer beside a chart's title; undefined: there is none. */
  name(place, line) {
    place.querySelector(".near")?.remove();
    if (line === void 0) return;
    const near = document.createElement("span");
    near.className = "near";
    near.append(lineSample(line), line.label);
    place.querySelector("figcaption").append(near);
  }
  drawMark({ ctx, bbox, valToPos }, colour) {
    if (this.marked === void 0 || this.marked < this.range[0] || this.marked > this.range[1]) return;
    const x = Math.round(valToPos(this.marked, "x", true));
    ctx.save();
    ctx.strokeStyle = colour;
    ctx.lineWidth = 1;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.restore();
  }
  /** Shows values, of each chart those of its lines, over a range of time. */
  update(values2, range) {
    this.range = range;
    this.data = values2.map(align);
    this.plots.forEach((plot, number2) => plot.setData(this.data[number2]));
  }
  /** Marks a time in all charts; undefined: none. */
  mark(time) {
    if (time === this.marked) return;
    this.marked = time;
    this.plots.forEach((plot) => plot.redraw(false));
  }
};

// src/text.ts
var short = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
var number = (value) => short.format(value);
var exact = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
var count = (value) => exact.format(value);
var clock = (time, decimals) => `${time.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals })} s`;
var seconds = (value) => value < 1 ? `${number(value * 1e3)} ms` : `${number(value)} s`;
var rate = (bytesPerSecond) => bytesPerSecond < 1e6 ? `${number(bytesPerSecond / 1e3)} kB/s` : `${number(bytesPerSecond / 1e6)} MB/s`;
var cells = (waiting) => waiting === 1 ? "1 cell" : `${count(waiting)} cells`;
var speed = (factor) => `${number(factor)}\xD7`;
function median(values2) {
  const sorted = values2.toSorted((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)];
  if (upper === void 0 || sorted.length % 2 === 1) return upper;
  return (sorted[sorted.length / 2 - 1] + upper) / 2;
}

// src/strip.ts
var element = (name, text = "") => {
  const made = document.createElement("span");
  made.className = name;
  made.textContent = text;
  return made;
};
function bar(name, part) {
  const made = element(name);
  const fill = element("fill");
  fill.style.width = `${Math.min(100, 100 * part)}%`;
  made.append(fill);
  return made;
}
var queueBar = (queued) => bar("bar queue", Math.sqrt(queued / 1e3));
function drawStrip(into, network, view, user, whole) {
  const parts = view.users[user].hops.map(([machine, queued, outstanding, window2]) => {
    const hop = element("hop");
    const full = window2 ?? Math.max(outstanding, 1);
    const { name, bucket } = network.machines[machine];
    hop.append(element("name", bucket === null ? name : `${name}, ${rate(bucket)}`));
    hop.append(queueBar(queued), element("value", `${cells(queued)} wait`));
    const under = window2 === null ? `${cells(outstanding)} under way` : `${count(outstanding)} of window ${count(window2)}`;
    hop.append(bar("bar", outstanding / Math.max(1, full)), element("value", under));
    return hop;
  });
  into.replaceChildren(...parts, drawEnd(network.users[user], user, view.users[user], whole));
}
function drawEnd(user, place, { hops, pending, transfer, delivered }, whole) {
  const end = element("hop end");
  const [source, sink] = user.uploads ? ["client", "exit"] : ["exit", "client"];
  end.append(element("name", `${sink} of user ${place} (${user.class})`));
  const [, received, size] = transfer ?? [0, 0, null];
  const progress = size === null ? `${number(delivered / 1e3)} kB so far` : `${number(received / 1e3)} of ${number(size / 1e3)} kB`;
  const resting = hops.length > 0 ? "is reading" : whole ? "has no circuit" : "no transfer under way";
  end.append(element("value", transfer === null ? resting : progress));
  end.append(element("value", size !== null && pending > 0 ? `${number(pending / 1e3)} kB wait at the ${source}` : ""));
  return end;
}

// src/keys.ts
function onKeys(actions, signal) {
  const press = (event) => {
    const target = event.target;
    if (target.matches("input, textarea, select")) return;
    if (target.matches("button, summary") && [" ", "Enter"].includes(event.key)) return;
    const act = actions[event.key];
    if (act === void 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    act();
  };
  window.addEventListener("keydown", press, signal === void 0 ? {} : { signal });
}

// src/timeline.ts
var by = (id) => document.getElementById(id);
var LONGEST = 0.1;
var Timeline = class {
  constructor(stride, changed) {
    this.stride = stride;
    this.changed = changed;
    const controls = new AbortController();
    this.close = () => controls.abort();
    const { signal } = controls;
    const click = (id, act) => by(id).addEventListener("click", act, { signal });
    click("play", () => this.toggle());
    click("back", () => this.jump(this.time - this.stride));
    click("step", () => this.jump(this.time + this.stride));
    click("latest", () => this.follow());
    const value = ({ target }) => Number(target.value);
    by("time").addEventListener("input", (event) => this.jump(this.from + value(event) * (this.end - this.from)), { signal });
    by("speed").addEventListener("input", (event) => this.setSpeed(10 ** value(event)), { signal });
    onKeys({
      " ": () => this.toggle(),
      ArrowRight: () => this.jump(this.time + this.stride),
      ArrowLeft: () => this.jump(this.time - this.stride),
      Home: () => this.jump(this.from),
      End: () => this.follow()
    }, signal);
    this.setSpeed(1);
  }
  stride;
  changed;
  /** The first time that can be shown. */
  from = 0;
  /** The newest time that can be shown. */
  reached = 0;
  /** Where the slider ends; what is not reached yet cannot be chosen. */
  end = 0;
  /** Whether nothing newer comes. */
  done = false;
  time = 0;
  factor = 1;
  /** Whether it stays with the newest. */
  following = true;
  playing = false;
  last = 0;
  /** Hears no controls any more. */
  close;
  /** Plays from a time on. */
  play(time = this.time) {
    this.following = false;
    this.playing = true;
    this.jumpTo(time);
  }
  /** Goes to the newest time and stays there. */
  follow() {
    this.following = !this.done;
    this.playing = false;
    this.jumpTo(this.reached);
  }
  /** Goes to a time and stays there. */
  jump(time) {
    this.following = false;
    this.playing = false;
    this.jumpTo(time);
  }
  /** Lets time pass to that of a frame. */
  pass(now) {
    const passed = Math.min(LONGEST, (now - this.last) / 1e3);
    this.last = now;
    if (this.following) {
      if (this.done) this.following = false;
      if (this.time !== this.reached || this.done) this.jumpTo(this.reached);
    } else if (this.playing) {
      const next = this.time + passed * this.factor;
      if (next < this.reached) this.jumpTo(next);
      else this.follow();
    }
  }
  setSpeed(factor) {
    this.factor = factor;
    by("speed").value = String(Math.log10(factor));
    by("factor").textContent = speed(factor);
  }
  /** Shows where time is. */
  draw() {
    const running = this.playing || this.following;
    by("play").textContent = running ? "pause" : "play";
    by("latest").setAttribute("aria-pressed", String(this.following));
    by("latest").disabled = this.done && this.time >= this.reached;
    by("clock").textContent = clock(this.time, 2);
    by("time").value = String((this.time - this.from) / Math.max(1e-9, this.end - this.from));
  }
  toggle() {
    if (this.playing || this.following) this.jump(this.time);
    else if (this.time < this.reached) this.play();
    else if (this.done) this.play(this.from);
    else this.follow();
  }
  jumpTo(time) {
    this.time = Math.min(this.reached, Math.max(this.from, time));
    this.changed();
  }
};

// src/nodes.ts
var MOST = 600;
var CELL = 512;
var WINDOW = 5;
var LEAST = 10;
var COLOURS = ["first", "second", "web", "bulk"];
var DASHES = [void 0, [6, 3], [2, 3], [10, 3, 2, 3], [14, 6], [2, 7], [8, 2, 2, 2, 2, 2], [14, 3, 5, 3]];
var present = (name, scale = 1) => (now) => {
  const value = now[name];
  return value === void 0 ? null : value / scale;
};
var growth = (names, scale = 1) => (now, before, passed) => {
  if (passed <= 0 || names.every((name) => now[name] === void 0)) return null;
  const grown = names.map((name) => {
    const [after, earlier] = [now[name] ?? 0, before[name] ?? 0];
    return after < earlier ? after : after - earlier;
  });
  return grown.reduce((a, b) => a + b, 0) / passed / scale;
};
var CHARTS = [
  { title: "cells sent, 512 bytes each", unit: "MB/s", value: growth(["cells_sent_total"], 1e6 / CELL) },
  { title: "cells that wait", unit: "cells", value: present("queued_cells") },
  {
    title: "window, mean over directions of circuits",
    unit: "cells",
    value: ({ windows, window_cells: cells2 }) => windows !== void 0 && windows > 0 && cells2 !== void 0 ? cells2 / windows : null
  },
  { title: "cells under way", unit: "cells", value: present("outstanding_cells") },
  { title: "circuits", unit: "", value: present("circuits") },
  { title: "streams that begin or end here", unit: "", value: present("streams") },
  { title: "links", unit: "", value: present("links") },
  { title: "memory of links, circuits and waiting data", unit: "MB", value: present("memory_held_bytes", 1e6) },
  {
    title: "cells sent again or dropped",
    unit: "per s",
    value: growth(["cells_resent_total", "cells_dropped_total"])
  },
  {
    title: "refused, closed for others, or failed",
    unit: "per s",
    value: growth([
      "links_refused_total",
      "links_evicted_total",
      "circuits_refused_total",
      "circuits_evicted_total",
      "connections_refused_total",
      "connections_evicted_total",
      "handshakes_failed_total",
      "out_of_memory_total",
      "refused_at_rest_total",
      "setup_dropped_total"
    ])
  }
];
var UNITS = {
  _seconds: ["ms", 1e-3],
  _bytes_per_second: ["MB/s", 1e6],
  _cells: ["cells", 1]
};
function transportChart(name) {
  const [suffix, [unit, scale]] = Object.entries(UNITS).find(([end]) => name.endsWith(end)) ?? ["", ["", 1]];
  const title = name.slice("transport_".length, name.length - suffix.length).replaceAll("_", " ");
  return { title: `transport: ${title}, mean`, unit, value: present(`${name}{mean}`, scale) };
}
var values = (look) => look === void 0 || look.problem !== void 0 ? void 0 : look.values;
var Nodes = class {
  constructor(head) {
    this.head = head;
    this.timeline = new Timeline(1, () => this.stale = true);
    const { nodes } = head;
    by2("caption").textContent = `Nodes of a real overlay, by the metrics that they serve: ${nodes.map(({ name }) => name).join(", ")}.`;
    by2("status").textContent = "waiting for metrics";
    document.body.dataset["kind"] = "nodes";
    this.cards = nodes.map(({ name, address }, place) => card(name, address, this.line(place)));
    by2("arms").replaceChildren(...this.cards.map(({ box }) => box));
    by2("charts").replaceChildren();
  }
  head;
  timeline;
  looks = [];
  cards;
  charts = [];
  /** What transports measure, by the names of their metrics. */
  measured = /* @__PURE__ */ new Map();
  told = /* @__PURE__ */ new Set();
  plots;
  stale = true;
  staleCharts = true;
  take(kind, data) {
    if (kind !== "sample") return;
    const looks = data;
    this.looks.push(looks);
    if (this.looks.length > MOST) this.looks.shift();
    const { timeline } = this;
    timeline.from = this.looks[0].at;
    timeline.reached = looks.at;
    timeline.end = Math.max(looks.at, timeline.from + LEAST);
    this.staleCharts = true;
    this.stale = true;
    const answer = looks.nodes.filter((look) => values(look) !== void 0).length;
    by2("status").textContent = `metrics, once a second${answer === looks.nodes.length ? "" : `; ${answer} of ${looks.nodes.length} answer`}`;
    this.define(looks);
  }
  frame(now) {
    this.timeline.pass(now);
    if (this.stale && this.looks.length > 0) {
      this.stale = false;
      this.drawCards();
      this.timeline.draw();
      this.plots?.mark(this.timeline.following ? void 0 : this.timeline.time);
    }
    if (this.staleCharts && this.plots !== void 0) {
      this.staleCharts = false;
      this.drawCharts();
    }
  }
  resize() {
    this.plots?.build();
    this.staleCharts = true;
    this.stale = true;
  }
  close() {
    this.timeline.close();
    this.plots?.close();
  }
  line(place) {
    const dash = DASHES[Math.floor(place / COLOURS.length) % DASHES.length];
    return { label: this.head.nodes[place].name, colour: COLOURS[place % COLOURS.length], ...dash === void 0 ? {} : { dash } };
  }
  /** Makes charts of what nodes tell for the first time. */
  define({ nodes }) {
    for (const said of nodes.map(values)) {
      if (said === void 0) continue;
      for (const chart of CHARTS) {
        if (chart.value(said, said, 1) !== null) this.told.add(chart);
      }
      for (const name of Object.keys(said)) {
        const [base, label] = name.split("{");
        const unknown = base.startsWith("transport_") && label === "mean}" && !this.measured.has(base);
        if (unknown) this.measured.set(base, transportChart(base));
      }
    }
    const charts = [...CHARTS.filter((chart) => this.told.has(chart)), ...this.measured.values()];
    if (this.charts.length === charts.length) return;
    this.charts = charts;
    this.plots?.close();
    const lines = this.head.nodes.map((_, place) => this.line(place));
    const plots = charts.map((chart) => ({ title: chart.title, unit: chart.unit, lines, fromZero: this.told.has(chart) }));
    this.plots = new Plots(by2("charts"), plots);
  }
  drawCharts() {
    const { from, end } = this.timeline;
    const lines = this.head.nodes.map((_, place) => place);
    const charts = this.charts.map(({ value }) => lines.map((place) => this.looks.map(({ at, nodes }, index) => {
      const now = values(nodes[place]);
      const before = this.looks[Math.max(0, index - WINDOW)];
      const earlier = values(before.nodes[place]);
      if (now === void 0) return [at, null];
      return [at, value(now, earlier ?? {}, earlier === void 0 ? 0 : at - before.at)];
    })));
    this.plots.update(charts, [from, end]);
  }
  drawCards() {
    const { time } = this.timeline;
    const looks = this.looks.findLast(({ at }) => at <= time) ?? this.looks[0];
    looks.nodes.forEach((look, place) => {
      const { box, note, strip } = this.cards[place];
      box.classList.toggle("silent", look.problem !== void 0);
      if (look.problem !== void 0) {
        note.textContent = look.problem;
        return;
      }
      const { role, transport, network } = look.about;
      const bucket = look.values["bucket_rate_bytes_per_second"];
      const limit = bucket === void 0 ? void 0 : `bucket ${rate(bucket)}`;
      note.textContent = [role, transport, network, limit].filter((it) => it !== void 0).join(" \xB7 ");
      strip.replaceChildren(...facts(look.values));
    });
  }
};
var by2 = (id) => document.getElementById(id);
function card(name, address, line) {
  const [box, title, note, strip] = ["section", "h2", "small", "div"].map((it) => document.createElement(it));
  box.className = "arm node";
  const label = element("name", name);
  label.style.color = `var(--${line.colour})`;
  title.append(lineSample(line), label, note);
  title.title = address;
  strip.className = "strip";
  box.append(title, strip);
  return { box, note, strip };
}
function facts(now) {
  const fact = (name, filled, text) => {
    const made = element("hop");
    made.append(element("name", name), filled, element("value", text));
    return made;
  };
  const share = (name, held, most, scale = 1, unit = "") => {
    const [value, limit] = [now[held], now[most]];
    if (value === void 0) return [];
    const say = (amount) => (scale === 1 ? count(amount) : number(amount / scale)) + unit;
    if (limit === void 0) return [fact(name, bar("bar", 0), say(value))];
    return [fact(name, bar("bar", value / limit), `${say(value)} of ${say(limit)}`)];
  };
  const queued = now["queued_cells"];
  return [
    ...queued === void 0 ? [] : [fact("queues", queueBar(queued), `${count(queued)} wait`)],
    ...share("windows", "outstanding_cells", now["windows"] ? "window_cells" : ""),
    ...share("circuits", "circuits", "limit{circuits}"),
    ...share("links", "links", "limit{links}"),
    ...share("memory", "memory_held_bytes", "memory_limit_bytes", 1e6, " MB")
  ];
}

// src/charts.ts
var LEAST2 = 2;
var WINDOW2 = 10;
var total = (sample2) => sample2.bulk + sample2.web;
var rates = (of) => ({ samples }) => samples.map((sample2, number2) => {
  const before = samples[Math.max(0, number2 - WINDOW2)];
  const time = sample2.at - before.at;
  return [sample2.at, time > 0 ? (of(sample2) - of(before)) / time / 1e6 : null];
});
var CHARTS2 = [
  { title: "delivered to all users", unit: "MB/s", series: rates(total) },
  {
    title: "cells that wait in relays and exits",
    uploading: "cells that wait in relays and at the sources",
    unit: "cells",
    series: ({ samples }) => samples.map(({ at, queued }) => [at, queued])
  },
  {
    title: "time to the last byte of web downloads",
    uploading: "time to the last byte of web transfers",
    unit: "s",
    web: true,
    points: true,
    series: ({ downloads }, _, { users }) => downloads.filter(([user]) => users[user].class === "web").map(([, at, , ttlb]) => [at + ttlb, ttlb]).toSorted((a, b) => a[0] - b[0])
  },
  {
    title: "chosen circuit: delivered, W(t)",
    unit: "kB",
    series: ({ samples }, user) => samples.map(({ at, users }) => [at, users[user].delivered / 1e3])
  },
  {
    title: "chosen circuit: packaged and not delivered, R(t) \u2212 W(t)",
    unit: "kB",
    series: ({ samples }, user) => samples.map(({ at, users }) => {
      const { packaged, delivered } = users[user];
      return [at, (packaged - delivered) / 1e3];
    })
  }
];
var Charts = class {
  constructor(into, network, labels, from = 0) {
    this.network = network;
    this.from = from;
    const browses = network.users.some((user) => user.class === "web");
    this.charts = CHARTS2.filter(({ web }) => browses || web !== true);
    const lines = (points) => labels.map((label, arm) => ({
      label,
      colour: arm === 0 ? "first" : "second",
      ...points ? { points: { size: arm === 0 ? 5 : 7, filled: arm === 0 } } : {},
      ...arm === 1 && !points ? { dash: [6, 3] } : {}
    }));
    const uploads = network.users.some((user) => user.uploads);
    this.plots = new Plots(
      into,
      this.charts.map(({ title, uploading, unit, points }) => ({
        title: uploads ? uploading ?? title : title,
        unit,
        lines: lines(points === true)
      }))
    );
  }
  network;
  from;
  charts;
  plots;
  /** Frees what the charts hold. */
  close() {
    this.plots.close();
  }
  /** Makes all charts anew, in the size and the colours of the page. */
  build() {
    this.plots.build();
  }
  /** Draws histories, and of each the circuit of a user. */
  update(histories, users) {
    const until = Math.max(this.from + LEAST2, ...histories.map(({ samples }) => samples.at(-1)?.at ?? 0));
    const values2 = this.charts.map(({ series }) => histories.map((it, arm) => series(it, users[arm], this.network)));
    this.plots.update(values2, [this.from, until]);
  }
  /** Marks a time in all charts; undefined: none. */
  mark(time) {
    this.plots.mark(time);
  }
};
function summary({ samples, downloads }, { users }) {
  const web = downloads.filter(([user]) => users[user].class === "web");
  const typical = median(web.map(([, , , ttlb]) => ttlb));
  const last = samples.at(-1);
  const parts = [
    last === void 0 ? "" : `${number((last.bulk + last.web) / 1e6)} MB delivered`,
    typical === void 0 ? "" : `web pages: median ${seconds(typical)} of ${web.length}`
  ];
  return parts.filter((part) => part !== "").join(" \xB7 ");
}

// src/choice.ts
function present2({ users }, view, user) {
  const { paths, uploads } = users[user];
  const { hops } = view.users[user];
  if (uploads || hops.length === 0) return paths;
  const [client, exit] = [paths[0][0], hops[0][0]];
  const circuits = [];
  for (const [machine] of hops) {
    if (machine === exit) circuits.push([]);
    circuits.at(-1).unshift(machine);
  }
  return circuits.map((relays2) => [client, ...relays2]);
}
function chosenUser(network, view, choice) {
  if ("user" in choice) return choice.user;
  const over = (paths) => paths.some((path) => path.includes(choice.machine));
  const now = network.users.findIndex((_, user) => over(present2(network, view, user)));
  return Math.max(0, now >= 0 ? now : network.users.findIndex(({ paths }) => over(paths)));
}
function relays({ machines, users }) {
  const passed = new Set(users.flatMap(({ paths }) => paths.flatMap((path) => path.slice(1))));
  return [...machines.keys()].filter((machine) => passed.has(machine));
}
var written = (choice) => "user" in choice ? `user ${choice.user}` : `machine ${choice.machine}`;
var ChoiceList = class {
  constructor(network, choose) {
    this.network = network;
    this.box.className = "choice";
    this.box.setAttribute("aria-label", "Circuit or relay to look at");
    const group = (label, options) => {
      const made = document.createElement("optgroup");
      made.label = label;
      made.append(...options.map(([name, choice]) => new Option(name, written(choice))));
      return made;
    };
    this.box.append(
      group("circuits", network.users.map((it, user) => [`user ${user} (${it.class})`, { user }])),
      group("relays", relays(network).map((machine) => [network.machines[machine].name, { machine }]))
    );
    this.box.addEventListener("change", () => {
      const [kind, number2] = this.box.value.split(" ");
      choose(kind === "user" ? { user: Number(number2) } : { machine: Number(number2) });
    });
  }
  network;
  box = document.createElement("select");
  show(choice) {
    const value = written(choice);
    if ("machine" in choice && ![...this.box.options].some((option) => option.value === value)) {
      this.box.lastElementChild.append(new Option(this.network.machines[choice.machine].name, value));
    }
    if (this.box.value !== value) this.box.value = value;
  }
};

// src/layout.ts
function layout(machines, paths) {
  const all = [...Array(machines).keys()];
  const columns = all.map(() => ({ sum: 0, count: 0, client: true }));
  const neighbours = all.map(() => /* @__PURE__ */ new Set());
  for (const path of paths) {
    path.forEach((machine, position) => {
      const column2 = columns[machine];
      column2.sum += position / (path.length - 1);
      column2.count += 1;
      column2.client &&= position === 0;
      for (const beside of [path[position - 1], path[position + 1]]) {
        if (beside !== void 0) neighbours[machine].add(beside);
      }
    });
  }
  const x = columns.map(({ sum, count: count2 }) => count2 > 0 ? sum / count2 : NaN);
  const longest = paths.reduce((most, path) => Math.max(most, path.length), 2);
  const column = (at) => Math.round(at * (longest - 1));
  const used = x.flatMap((at, machine) => Number.isNaN(at) ? [] : [machine]);
  const y = /* @__PURE__ */ new Map();
  const groups = Map.groupBy(used, (machine) => column(x[machine]));
  const spread = (group) => group.forEach((machine, index) => y.set(machine, (index + 0.5) / group.length));
  groups.forEach(spread);
  for (let round = 0; round < 6; round += 1) {
    for (const group of groups.values()) {
      const middle = (machine) => {
        const beside = [...neighbours[machine]].map((it) => y.get(it) ?? 0.5);
        return beside.reduce((a, b) => a + b, 0) / Math.max(1, beside.length);
      };
      const middles = new Map(group.map((machine) => [machine, middle(machine)]));
      group.sort((a, b) => middles.get(a) - middles.get(b) || a - b);
      spread(group);
    }
  }
  return all.map(
    (machine) => y.has(machine) ? {
      x: column(x[machine]) / (longest - 1),
      y: y.get(machine),
      client: columns[machine].client
    } : void 0
  );
}

// src/stage.ts
var FULL = 4e3;
var ROOM = 58;
var LEAST_ROOM = 10;
function edges(paths) {
  const all = /* @__PURE__ */ new Map();
  for (const path of paths) {
    for (let hop = 1; hop < path.length; hop += 1) {
      all.set(`${path[hop - 1]} ${path[hop]}`, [path[hop - 1], path[hop]]);
    }
  }
  return all;
}
var Stage = class {
  constructor(canvas, network) {
    this.canvas = canvas;
    this.network = network;
    this.lay(network.users.flatMap(({ paths }) => paths));
    this.measure();
  }
  canvas;
  network;
  /** The paths of which every machine has a place. */
  laid = [];
  places = [];
  /** Of each machine, how many stand above each other where it stands. */
  crowds = [];
  /** What was drawn last: between two views only packets move. */
  drawn;
  colours;
  width = 0;
  height = 0;
  /** Gives places to the machines of further paths; those of others may change. */
  lay(paths) {
    this.laid = [...this.laid, ...paths];
    this.places = layout(this.network.machines.length, this.laid);
    const high = /* @__PURE__ */ new Map();
    for (const place of this.places) high.set(place?.x, (high.get(place?.x) ?? 0) + 1);
    this.crowds = this.places.map((place) => high.get(place?.x));
  }
  /** Takes over size and colours of the page. */
  measure() {
    const { clientWidth, clientHeight } = this.canvas;
    const scale = window.devicePixelRatio || 1;
    this.width = clientWidth;
    this.height = clientHeight;
    this.canvas.width = Math.round(clientWidth * scale);
    this.canvas.height = Math.round(clientHeight * scale);
    this.canvas.getContext("2d").setTransform(scale, 0, 0, scale, 0, 0);
    const style = getComputedStyle(this.canvas);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    this.colours = {
      text: colour("text"),
      faint: colour("faint"),
      surface: colour("surface"),
      line: colour("line"),
      bulk: colour("bulk"),
      web: colour("web"),
      chosen: colour("chosen"),
      queue: colour("queue")
    };
  }
  /** What is at a point of the canvas. */
  at(x, y) {
    let best;
    this.places.forEach((place, machine2) => {
      if (place === void 0) return;
      const [px, py] = this.point(place);
      const far = Math.hypot(px - x, py - y);
      if (far < 24 && far < (best?.far ?? Infinity)) best = { machine: machine2, far };
    });
    if (best === void 0) return void 0;
    const { machine } = best;
    const user = this.network.users.findIndex(({ paths }) => paths[0][0] === machine);
    return user >= 0 ? { user } : { machine };
  }
  /** Draws what a view shows at a time, which is that of the view or a little later. */
  draw(view, time, choice) {
    const context = this.canvas.getContext("2d");
    context.clearRect(0, 0, this.width, this.height);
    if (this.drawn?.view !== view) {
      const paths = this.network.users.map((_, user) => present2(this.network, view, user));
      const further = paths.flat().filter((path) => path.some((machine) => this.places[machine] === void 0));
      if (further.length > 0) this.lay(further);
      this.drawn = { view, paths, edges: edges(paths.flat()) };
    }
    this.drawEdges(context, this.drawn, choice);
    this.drawPackets(context, view, time, choice);
    const queues = this.queues(view);
    const most = queues.indexOf(Math.max(...queues));
    this.places.forEach((place, machine) => {
      if (place === void 0) return;
      if (place.client) this.drawClient(context, place, machine, view, choice);
      else this.drawRelay(context, place, machine, queues[machine], machine === most, choice);
    });
  }
  /** Cells that wait at each machine. */
  queues(view) {
    const queues = this.network.machines.map(() => 0);
    for (const [machine, queued] of view.users.flatMap(({ hops }) => hops)) {
      queues[machine] += queued;
    }
    return queues;
  }
  point({ x, y }) {
    const margin = 44;
    return [margin + x * (this.width - 2 * margin), 22 + y * (this.height - 44)];
  }
  /** Draws the paths of all users. */
  drawEdges(context, drawn, choice) {
    const own = choice !== void 0 && "user" in choice ? edges(drawn.paths[choice.user]) : /* @__PURE__ */ new Map();
    for (const [name, edge] of drawn.edges) {
      const [from, to] = edge.map((machine) => this.point(this.places[machine]));
      const chosen = own.has(name) || choice !== void 0 && "machine" in choice && edge.includes(choice.machine);
      context.strokeStyle = chosen ? this.colours.chosen : this.colours.line;
      context.lineWidth = chosen ? 5 : 1;
      context.globalAlpha = chosen ? 0.3 : 1;
      context.beginPath();
      context.moveTo(...from);
      context.lineTo(...to);
      context.stroke();
    }
    context.globalAlpha = 1;
  }
  drawPackets(context, view, time, choice) {
    for (const [from, to, left, arrives, size, count2, user] of view.packets) {
      const [a, b] = [this.places[from], this.places[to]];
      if (a === void 0 || b === void 0 || arrives <= time) continue;
      const part = Math.min(1, Math.max(0, (time - left) / (arrives - left)));
      const [ax, ay] = this.point(a);
      const [bx, by6] = this.point(b);
      const length = Math.hypot(bx - ax, by6 - ay) || 1;
      const [nx, ny] = [-(by6 - ay) / length * 3, (bx - ax) / length * 3];
      const data = count2 > 0 || size > 200;
      const chosen = user !== null && choice !== void 0 && "user" in choice && choice.user === user;
      const kind = user === null ? "bulk" : this.network.users[user].class;
      context.fillStyle = data ? this.colours[kind] : this.colours.faint;
      context.globalAlpha = data || chosen ? 0.9 : 0.6;
      context.beginPath();
      const radius = chosen ? 4 : data ? 2.8 : 1.4;
      context.arc(ax + (bx - ax) * part + nx, ay + (by6 - ay) * part + ny, radius, 0, 7);
      context.fill();
    }
    context.globalAlpha = 1;
  }
  drawClient(context, place, machine, view, choice) {
    const [x, y] = this.point(place);
    const user = this.network.users.findIndex(({ paths }) => paths[0][0] === machine);
    const { transfer } = view.users[user];
    const colour = this.colours[this.network.users[user].class];
    const chosen = choice !== void 0 && "user" in choice && choice.user === user;
    context.fillStyle = this.colours.surface;
    context.strokeStyle = chosen ? this.colours.chosen : transfer ? colour : this.colours.faint;
    context.lineWidth = chosen ? 3 : 1.5;
    context.beginPath();
    context.arc(x, y, 6, 0, 7);
    context.fill();
    context.stroke();
    if (transfer === null) return;
    const [, received, size] = transfer;
    const part = size === null ? 1 : received / size;
    context.fillStyle = colour;
    context.beginPath();
    context.moveTo(x, y);
    context.arc(x, y, 5, -Math.PI / 2, -Math.PI / 2 + 2 * Math.PI * part);
    context.fill();
  }
  drawRelay(context, place, machine, queued, most, choice) {
    const [x, y] = this.point(place);
    const { name, bucket } = this.network.machines[machine];
    const chosen = choice !== void 0 && "machine" in choice && choice.machine === machine;
    const pitch = (this.height - 44) / this.crowds[machine];
    const [wide, high] = [16, Math.max(4, Math.min(30, pitch - 3))];
    context.fillStyle = this.colours.surface;
    context.strokeStyle = chosen ? this.colours.chosen : this.colours.text;
    context.lineWidth = chosen ? 3 : bucket === null ? 1 : 2;
    context.beginPath();
    context.roundRect(x - wide / 2, y - high / 2, wide, high, 4);
    context.fill();
    context.stroke();
    const part = Math.min(1, Math.sqrt(queued / FULL));
    context.fillStyle = this.colours.queue;
    const edge = Math.min(2, high / 6);
    context.fillRect(x - wide / 2 + edge, y + high / 2 - edge - (high - 2 * edge) * part, wide - 2 * edge, (high - 2 * edge) * part);
    const beside = pitch < ROOM;
    if (beside && pitch < LEAST_ROOM && !chosen && !most) return;
    context.fillStyle = this.colours.text;
    context.font = `${beside ? 10 : 11}px system-ui, sans-serif`;
    context.textAlign = beside ? "left" : "center";
    const last = x > this.width - 80;
    if (!beside) context.fillText(name, x, y + high / 2 + 12);
    else if (!last) context.fillText(name, x + wide / 2 + 4, y + 3.5);
    const waiting = queued > 0 ? cells(queued) : "";
    if (most) context.font = `bold ${context.font}`;
    context.textAlign = beside ? "right" : "center";
    const words = beside && last ? `${waiting} ${name}` : waiting;
    if (beside) context.fillText(words, x - wide / 2 - 4, y + 3.5);
    else context.fillText(words, x, y - high / 2 - 4);
  }
};

// src/arm.ts
var Arm = class {
  constructor(into, network, whole, acts) {
    this.network = network;
    this.whole = whole;
    const { box, select, canvas } = this;
    box.className = "arm";
    select.setAttribute("aria-label", "Transport");
    select.append(...network.transports.map((label, number2) => new Option(label, String(number2))));
    select.addEventListener("change", () => acts.swap(Number(select.value)));
    this.list = new ChoiceList(network, acts.choose);
    const title = document.createElement("h2");
    title.append(select, this.list.box, this.note);
    this.strip.className = "strip";
    canvas.setAttribute("role", "img");
    box.append(title, canvas, this.strip);
    into.append(box);
    this.stage = new Stage(canvas, network);
    new ResizeObserver(() => {
      this.measure();
      acts.resized();
    }).observe(canvas);
    canvas.addEventListener("click", ({ offsetX, offsetY }) => {
      const choice = this.stage.at(offsetX, offsetY);
      if (choice !== void 0) acts.choose(choice);
    });
  }
  network;
  whole;
  box = document.createElement("section");
  select = document.createElement("select");
  list;
  note = document.createElement("small");
  canvas = document.createElement("canvas");
  strip = document.createElement("div");
  stage;
  shown = 0;
  /** Says which transport it shows. */
  name(transport) {
    this.select.value = String(transport);
    const label = this.network.transports[transport];
    this.canvas.setAttribute("aria-label", `The network with ${label}: clients left, exits right; the chosen circuit is described below`);
  }
  /** Whose circuit was drawn last. */
  get user() {
    return this.shown;
  }
  /** Takes over size and colours of the page. */
  measure() {
    this.stage.measure();
  }
  /** Draws what is seen at a time, which is that of the view or a little later. */
  draw({ view, history }, time, choice) {
    this.stage.draw(view, time, choice);
    this.list.show(choice);
    this.shown = chosenUser(this.network, view, choice);
    drawStrip(this.strip, this.network, view, this.shown, this.whole);
    this.note.textContent = summary(history, this.network);
  }
};

// src/comparison.ts
var by3 = (id) => document.getElementById(id);
var Comparison = class {
  constructor(network, transports, acts, { from = 0, whole = true } = {}) {
    this.network = network;
    this.from = from;
    by3("arms").replaceChildren();
    this.arms = transports.map(
      (_, place) => new Arm(by3("arms"), network, whole, {
        swap: (transport) => acts.compare(this.shown.with(place, transport)),
        choose: acts.choose,
        resized: acts.resized
      })
    );
    this.arms.forEach((arm) => arm.measure());
    this.show(transports);
  }
  network;
  arms;
  charts;
  shown = [];
  from;
  /** What is beside each other, by number. */
  get transports() {
    return this.shown;
  }
  /** Puts as many other transports beside each other. */
  show(transports) {
    this.shown = [...transports];
    this.arms.forEach((arm, place) => arm.name(transports[place]));
    this.charts?.close();
    const labels = transports.map((transport) => this.network.transports[transport]);
    this.charts = new Charts(by3("charts"), this.network, labels, this.from);
  }
  /** Says again which transports are shown, where another one was chosen in vain. */
  rename() {
    this.arms.forEach((arm, place) => arm.name(this.shown[place]));
  }
  /** Draws what is seen of each transport, with cells moved on to a time. */
  draw(seen, time, choice) {
    this.arms.forEach((arm, place) => {
      const it = seen(this.shown[place]);
      arm.draw(it, Math.max(it.view.now, time), choice);
    });
  }
  /** Draws the charts, of the history of each transport, for the circuit that was drawn last. */
  drawCharts(history) {
    this.charts?.update(this.shown.map(history), this.arms.map((arm) => arm.user));
  }
  /** Marks a time in all charts; undefined: none. */
  mark(time) {
    this.charts?.mark(time);
  }
  /** Takes over size and colours of the page. */
  resize() {
    this.arms.forEach((arm) => arm.measure());
    this.charts?.build();
  }
  /** Frees what the charts hold. */
  close() {
    this.charts?.close();
  }
};

// src/history.ts
function upTo({ samples, downloads }, time) {
  return {
    samples: samples.slice(0, samples.findLastIndex(({ at }) => at <= time) + 1),
    downloads: downloads.filter(([, at, , ttlb]) => at + ttlb <= time)
  };
}
function sample(view, network) {
  const users = view.users.map(({ hops, packaged, delivered }) => ({
    packaged,
    delivered,
    queues: hops.map((hop) => hop[1]),
    windows: hops.map((hop) => hop[3])
  }));
  const sums = { bulk: 0, web: 0 };
  view.users.forEach((user, number2) => {
    sums[network.users[number2].class] += user.delivered;
  });
  const queued = users.reduce((sum, { queues }) => queues.reduce((a, b) => a + b, sum), 0);
  return { at: view.now, ...sums, queued, users };
}

// src/motion.ts
var wantsMotion = () => !matchMedia("(prefers-reduced-motion: reduce)").matches;

// src/runs.ts
var CHARTS_EVERY = 250;
var MOVE_ON = 0.08;
var PLAYED_IN = 45;
var by4 = (id) => document.getElementById(id);
var Runs = class {
  constructor(head) {
    this.head = head;
    const { network } = head;
    this.timeline = new Timeline(0.1, () => this.stale = true);
    this.timeline.end = network.end;
    this.histories = network.transports.map(() => ({ samples: [], downloads: [] }));
    const note = head.hops === false ? ' Queues and windows were not recorded: a scenario needs hops = "200 ms" under [record].' : "";
    const unknown = head.note == null ? "" : ` ${head.note}`;
    by4("caption").textContent = `${network.name}, network ${network.seed}. ${network.about}${note}${unknown}`;
    by4("arms").replaceChildren();
    document.body.dataset["kind"] = head.kind;
    this.say();
  }
  head;
  timeline;
  /** Moments that can be chosen. */
  moments = [];
  /** Of each transport. */
  histories;
  /** The newest moment, and when it came. */
  newest;
  comparison;
  chosen = { user: 0 };
  stale = true;
  staleCharts = true;
  lastCharts = 0;
  take(kind, data) {
    if (kind === "frame") this.keep(data);
    else if (kind === "moment") this.come(data);
    else if (kind === "done") this.timeline.done = true;
    if (kind === "done" && this.head.kind === "results") this.begin();
    this.say();
  }
  frame(now) {
    this.timeline.pass(now);
    const news = this.newest !== void 0 && now - this.newest.came < 1e3 * MOVE_ON;
    const moves = this.timeline.following && news && wantsMotion();
    if ((this.stale || moves) && this.moments.length > 0) {
      this.stale = false;
      this.draw(now);
      this.timeline.draw();
    }
    if (this.staleCharts && now - this.lastCharts > CHARTS_EVERY && this.comparison !== void 0) {
      this.lastCharts = now;
      this.staleCharts = false;
      this.drawCharts();
    }
  }
  resize() {
    this.comparison?.resize();
    this.stale = true;
    this.staleCharts = true;
  }
  close() {
    this.timeline.close();
    this.comparison?.close();
  }
  /** Results are there: they are played, unless the user wants no motion. */
  begin() {
    const { timeline } = this;
    timeline.setSpeed(Math.max(1, Math.round((timeline.reached - timeline.from) / PLAYED_IN)));
    if (wantsMotion()) timeline.play(timeline.from);
    else timeline.jump(timeline.from);
  }
  keep(moment) {
    const { network } = this.head;
    moment.views.forEach((view, transport) => {
      const history = this.histories[transport];
      history.samples.push(sample(view, network));
      history.downloads.push(...view.downloads);
    });
    if (this.moments.length === 0) this.timeline.from = moment.at;
    this.moments.push(moment);
    this.staleCharts = true;
    const packets = this.newest?.views.map((view) => view.packets) ?? [];
    const views = moment.views.map((view, transport) => ({ ...view, packets: packets[transport] ?? [] }));
    this.come({ at: moment.at, views });
  }
  come({ at, views }) {
    this.newest = { at, views, came: performance.now() };
    this.timeline.reached = Math.max(this.timeline.reached, at);
    this.stale ||= this.timeline.following;
  }
  /** Where things stand, in the page's head. */
  say() {
    const { kind, pace } = this.head;
    const going = pace === null ? "as fast as it computes" : `${speed(pace)} real time`;
    const simulation = this.timeline.done ? "simulation, finished" : `simulation in progress, ${going}`;
    const text = kind === "results" ? "finished run" : simulation;
    if (by4("status").textContent !== text) by4("status").textContent = text;
  }
  /** What is shown, and the time to which its cells have moved. */
  shown(now) {
    const { newest, timeline } = this;
    if (timeline.following && newest !== void 0) {
      const passed = wantsMotion() ? Math.min(MOVE_ON, (now - newest.came) / 1e3) : 0;
      return [newest.views, newest.at + passed * (this.head.pace ?? 0)];
    }
    const paused = newest !== void 0 && timeline.time >= newest.at ? newest : void 0;
    const moment = paused ?? this.moments.findLast(({ at }) => at <= timeline.time) ?? this.moments[0];
    return [moment.views, moment.at];
  }
  draw(now) {
    const [views, at] = this.shown(now);
    const { time, following } = this.timeline;
    this.comparison ??= this.compare([0, 1].filter((it) => it < views.length));
    const seen = (transport) => ({ view: views[transport], history: upTo(this.histories[transport], time) });
    this.comparison.draw(seen, at, this.chosen);
    this.comparison.mark(following ? void 0 : time);
  }
  compare(transports) {
    const acts = {
      compare: (others) => {
        this.comparison?.show(others);
        this.stale = true;
        this.staleCharts = true;
      },
      choose: (choice) => {
        this.chosen = choice;
        this.stale = true;
        this.staleCharts = true;
      },
      resized: () => this.stale = true
    };
    const { network, kind } = this.head;
    return new Comparison(network, transports, acts, { from: this.timeline.from, whole: kind === "simulation" });
  }
  drawCharts() {
    this.comparison?.drawCharts((transport) => this.histories[transport]);
  }
};

// src/theme.ts
function switchTheme() {
  const dark = getComputedStyle(document.documentElement).getPropertyValue("--page") === "#12161d";
  document.documentElement.dataset["theme"] = dark ? "light" : "dark";
}
function onTheme(changed) {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
}

// src/live.ts
var AGAIN = 1e3;
var by5 = (id) => document.getElementById(id);
var show;
function begin(next) {
  show?.close();
  show = next;
  document.body.dataset["ready"] = "true";
}
function resize() {
  show?.resize();
}
function listen() {
  const source = new EventSource("events");
  const on = (kind, hear) => source.addEventListener(kind, ({ data }) => hear(JSON.parse(data)));
  on("network", (head) => begin(new Runs(head)));
  on("nodes", (head) => begin(new Nodes(head)));
  for (const kind of ["frame", "moment", "sample", "done"]) on(kind, (data) => show?.take(kind, data));
  source.addEventListener("open", () => document.body.dataset["connected"] = "true");
  source.addEventListener("error", () => {
    document.body.dataset["connected"] = "false";
    by5("status").textContent = "hopflow live does not answer, or has too many connections; what came so far stays";
    if (source.readyState === EventSource.CLOSED) setTimeout(listen, AGAIN);
  });
}
var frame = (now) => {
  show?.frame(now);
  requestAnimationFrame(frame);
};
by5("theme").addEventListener("click", () => {
  switchTheme();
  resize();
});
onTheme(resize);
window.addEventListener("resize", resize);
requestAnimationFrame(frame);
listen();
