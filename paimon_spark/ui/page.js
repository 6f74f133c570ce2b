// The page of `paimon-spark ui`: it asks the server for facts and draws them. Text from tables becomes text nodes
// alone, never HTML, and Plotly gets it escaped.

const TABS = { overview: "Overview", files: "Files", partitions: "Partitions", compaction: "Compaction",
  changes: "Changes" };
const AT_ONCE = 4; // summaries that are asked for at once
const [SMALL, LARGE] = [10, 27]; // of files, as powers of two: 1 KiB is red, 128 MiB is green
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const main = document.getElementById("main");
let shown = 0; // counts the views, so that the answer to an earlier one is not drawn over a later one

// ---- elements and texts

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const count = (number) => (number === null || number === undefined ? "" : number.toLocaleString("en-US"));
const sum = (values) => values.reduce((a, b) => a + b, 0);
const many = (number, one) => `${count(number)} ${one}${number === 1 ? "" : "s"}`;

function size(bytes) {
  let unit = 0;
  while (Math.abs(bytes) >= 1000 && unit < UNITS.length - 1) [bytes, unit] = [bytes / 1024, unit + 1];
  return `${unit === 0 || Math.abs(bytes) >= 100 ? bytes.toFixed(0) : bytes.toFixed(1)} ${UNITS[unit]}`;
}

// Plotly reads some HTML in its texts.
const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const wall = (iso) => (iso === null ? null : iso.slice(0, 23)); // a time without its offset, as Plotly draws it
const minute = (iso) => (iso ? iso.slice(0, 16).replace("T", " ") : "");

function figures(pairs) {
  return element("div", { class: "figures" },
    ...pairs.map(([name, value]) => element("div", {}, element("b", {}, String(value)), element("span", {}, name))));
}

function rowsTable(columns, rows) {
  const cell = (tag, [value, kind]) => element(tag, { class: kind },
    value instanceof Node ? value : value === null || value === undefined ? "" : String(value));
  return element("div", { class: "scroll" }, element("table", {},
    element("thead", {}, element("tr", {}, ...columns.map((column) => cell("th", column)))),
    element("tbody", {}, ...rows.map((row) => element("tr", { class: row.kind },
      ...row.cells.map((value, at) => cell("td", [value, columns[at][1]])))))));
}

async function ask(path, parameters = {}) {
  const answer = await fetch(`api/${path}?${new URLSearchParams(parameters)}`);
  const type = answer.headers.get("Content-Type") || "";
  const body = type.startsWith("application/json") ? await answer.json() : { error: await answer.text() };
  if (!answer.ok) throw new Error(body.error);
  return body;
}

// ---- charts

// A chart has the size of its place, which has one when it is in the page: these are drawn then.
const drawings = new Map();

function chart(data, layout, tall = false) {
  const place = element("div", { class: tall ? "chart tall" : "chart" });
  const style = getComputedStyle(document.body);
  const line = getComputedStyle(document.documentElement).getPropertyValue("--line");
  const axis = { gridcolor: line, zerolinecolor: line, automargin: true };
  drawings.set(place, () => Plotly.newPlot(place, data, {
    paper_bgcolor: "transparent", plot_bgcolor: "transparent", font: { color: style.color, family: style.fontFamily },
    modebar: { bgcolor: "transparent", color: line, activecolor: style.color },
    margin: { l: 60, r: 20, t: 30, b: 50 }, hovermode: "closest", showlegend: true, legend: { orientation: "h", y: 1.12 }, ...layout,
    xaxis: { ...axis, ...layout.xaxis }, yaxis: { ...axis, ...layout.yaxis }, yaxis2: { ...axis, ...layout.yaxis2 },
  }, { responsive: true, displaylogo: false }));
  return place;
}

async function drawCharts() {
  const waiting = [...drawings].filter(([place]) => place.isConnected);
  drawings.clear();
  for (const [, draw] of waiting) await draw();
}

function snapshotChart(history, facts) {
  const kinds = [...new Set(history.commit_kind)];
  const bars = kinds.map((kind) => {
    const at = history.snapshot_id.map((_, i) => i).filter((i) => history.commit_kind[i] === kind);
    return { type: "bar", name: kind, x: at.map((i) => history.snapshot_id[i]), yaxis: "y2",
      y: at.map((i) => history.delta_record_count[i]),
      customdata: at.map((i) => minute(history.commit_time[i])),
      hovertemplate: "snapshot %{x}, %{customdata}<br>%{y:,} rows<extra>%{fullData.name}</extra>" };
  });
  const marks = [
    ...facts.tags.map((tag) => ({ x: tag.snapshot.id, text: `tag ${tag.name}` })),
    ...Object.entries(facts.consumers).map(([name, lag]) => ({ x: lag.next_snapshot, text: `consumer ${name}` })),
  ].filter((mark) => mark.x >= history.snapshot_id[0]).slice(0, 50);
  return chart([...bars, {
    type: "scatter", mode: "lines+markers", name: "rows in files", x: history.snapshot_id,
    y: history.total_record_count, line: { color: "#1f6feb" },
    customdata: history.commit_time.map(minute),
    hovertemplate: "snapshot %{x}, %{customdata}<br>%{y:,} rows in files<extra></extra>",
  }], {
    xaxis: { title: { text: "snapshot" }, anchor: "y2" },
    yaxis: { title: { text: "rows in files" }, rangemode: "tozero", domain: [0.45, 1] },
    yaxis2: { title: { text: "rows of the commit" }, domain: [0, 0.38] },
    annotations: marks.map((mark) => ({ x: mark.x, y: 1, yref: "paper", text: plain(mark.text), showarrow: true,
      arrowhead: 0, ax: 0, ay: 20, font: { size: 11 } })),
  });
}

function levelChart(runs) {
  const levels = [...new Set(runs.level)].sort((a, b) => a - b);
  return chart(levels.map((level) => {
    const at = runs.level.map((_, i) => i).filter((i) => runs.level[i] === level);
    return { type: "bar", name: `level ${level}`, x: at.map((i) => plain(runs.bucket[i])),
      y: at.map((i) => runs.bytes[i]), marker: { line: { width: 1, color: "#fff" } },
      customdata: at.map((i) => [runs.files[i], runs.rows[i], size(runs.bytes[i])]),
      hovertemplate: "%{x}<br>%{customdata[2]}, %{customdata[0]:,} files, %{customdata[1]:,} rows"
        + "<extra>%{fullData.name}</extra>" };
  }), { barmode: "stack", yaxis: { title: { text: "bytes" } }, xaxis: { type: "category", showticklabels:
    new Set(runs.bucket).size <= 60 } });
}

function fileChart(files) {
  const levels = [...new Set(files.level)].sort((a, b) => a - b);
  return chart(levels.map((level) => {
    const at = files.level.map((_, i) => i).filter((i) => files.level[i] === level);
    return { type: "scattergl", mode: "markers", name: `level ${level}`, marker: { size: 5, opacity: 0.6 },
      x: at.map((i) => wall(files.creation_time[i])), y: at.map((i) => Math.max(files.file_size_in_bytes[i], 1)),
      customdata: at.map((i) => [plain(files.partitions[files.partition[i]] ?? ""), files.bucket[i],
        files.record_count[i], size(files.file_size_in_bytes[i])]),
      hovertemplate: "%{customdata[0]} bucket %{customdata[1]}<br>%{customdata[3]}, %{customdata[2]:,} rows"
        + "<br>%{x}<extra>%{fullData.name}</extra>" };
  }), { yaxis: { type: "log", title: { text: "bytes of a file" } }, xaxis: { title: { text: "made at" } } }, true);
}

// Of very many files, points would cover each other.
function cellChart(cells) {
  const sizes = cells.powers.slice(0, -1).map((power, at) => `${size(2 ** power)} to ${size(2 ** cells.powers[at + 1])}`);
  const marks = cells.powers.filter((power) => Number.isInteger(power) && power % 2 === 0);
  return chart([{
    type: "heatmap", x: cells.times.map(wall), y: cells.powers,
    z: cells.files.map((row) => row.map((files) => (files ? Math.log10(files) : null))),
    customdata: cells.files.map((row, at) => row.map((files) => [count(files), sizes[at]])),
    colorscale: [[0, "#cfe2ff"], [0.5, "#5b8def"], [1, "#0b2e83"]], zmin: 0,
    colorbar: { title: { text: "files" }, tickvals: [0, 1, 2, 3, 4, 5], ticktext: ["1", "10", "100", "1,000", "10,000",
      "100,000"] },
    hovertemplate: "%{customdata[0]} files of %{customdata[1]}<br>%{x}<extra></extra>",
  }], { yaxis: { title: { text: "bytes of a file" }, tickvals: marks, ticktext: marks.map((power) => size(2 ** power)) },
    xaxis: { title: { text: "made at" }, type: "date" } }, true);
}

// ---- views of a table

async function overview(name) {
  const found = await ask("overview", { name });
  if (found.object_table) {
    const { location, files, bytes } = found.object_table;
    return [element("p", {}, `An object table: its rows are the files below ${location}.`),
      figures([["files", count(files)], ["bytes", size(bytes)]])];
  }
  const { facts, problems, runs } = found;
  const { stored } = facts;
  const engine = facts.primary_keys.length ? `${facts.merge_engine} by ${facts.primary_keys.join(", ")}` : "append";
  const parts = [
    element("p", { class: "note" }, facts.location),
    facts.comment ? element("p", {}, facts.comment) : null,
    figures([[facts.primary_keys.length ? "rows in files, before they are merged" : "rows", count(stored.rows)],
      ["bytes", size(stored.bytes)], ["files", count(stored.files)], ["partitions", count(stored.partitions)],
      ["buckets", count(stored.buckets)], ["snapshots", count(facts.snapshots)],
      ["sorted runs of a bucket at most", facts.primary_keys.length ? count(stored.most_runs) : "none"],
      ["merge engine", engine]]),
    element("h3", {}, "What needs attention"),
    ...(problems.length ? problems.map((text) => element("p", { class: "problem" }, text))
      : [element("p", { class: "note" }, "Nothing, as far as the metadata tell; paimon-spark check reads the files.")]),
  ];
  if (facts.snapshots) {
    const history = await ask("history", { name });
    const drawn = history.snapshot_id.length;
    parts.push(element("h3", {}, drawn < history.snapshots
      ? `Snapshots: the newest ${count(drawn)} of ${count(history.snapshots)}` : "Snapshots"));
    parts.push(snapshotChart(history, facts));
  }
  if (runs.bucket.length) {
    parts.push(element("h3", {}, runs.shown < runs.buckets
      ? `Levels: the ${count(runs.shown)} of ${many(runs.buckets, "bucket")} with most sorted runs`
      : "Levels of the buckets"), levelChart(runs));
  }
  parts.push(element("h3", {}, "Consumers"), consumers(facts), element("h3", {}, "Columns"),
    element("p", {}, facts.columns.join(", ")), element("h3", {}, "Options"),
    rowsTable([["option"], ["value"]], Object.entries(facts.options).sort().map((cells) => ({ cells }))));
  return parts;
}

function consumers(facts) {
  const found = Object.entries(facts.consumers).sort();
  if (!found.length) return element("p", { class: "note" }, "None: no stream has stored how far it has read.");
  return rowsTable([["consumer"], ["reads next", "number"], ["snapshots behind", "number"], ["rows behind", "number"],
    ["seconds behind", "number"]], found.map(([name, lag]) => ({ cells: [name, count(lag.next_snapshot),
    count(lag.snapshots), count(lag.rows), lag.millis === null ? "" : count(Math.round(lag.millis / 1000))] })));
}

async function files(name) {
  const found = await ask("files", { name });
  if (found.cells) return manyFiles(found);
  const bytes = found.file_size_in_bytes;
  if (!bytes.length) return [element("p", { class: "note" }, "The latest snapshot has no data file.")];
  return [figures([["files", count(bytes.length)], ["bytes", size(sum(bytes))],
    ["rows", count(sum(found.record_count))]]), fileChart(found)];
}

function manyFiles({ cells, levels }) {
  const without = cells.without_time ? ` Files without a time are left out: ${count(cells.without_time)}.` : "";
  return [figures([["files", count(sum(levels.files))], ["bytes", size(sum(levels.bytes))], ["rows",
    count(sum(levels.rows))]]), element("p", { class: "note" }, "There are too many files to draw each: the colour of a "
      + `cell tells how many were made then with that size.${without}`), cellChart(cells),
  rowsTable([["level", "number"], ["files", "number"], ["bytes", "number"], ["rows", "number"]],
    levels.level.map((level, at) => ({ cells: [level, count(levels.files[at]), size(levels.bytes[at]),
      count(levels.rows[at])] })))];
}

async function partitions(name) {
  const found = await ask("partitions", { name });
  if (!found.count) return [element("p", { class: "note" }, "The latest snapshot has no data file.")];
  const labels = found.partition.map((text) => text || "all rows");
  const [values, number] = [[...found.file_size_in_bytes], [...found.file_count]];
  const { others } = found;
  if (others.partitions) {
    labels.push(`${many(others.partitions, "smaller partition")}`);
    values.push(others.file_size_in_bytes);
    number.push(others.file_count);
  }
  const mean = values.map((value, at) => value / Math.max(number[at], 1));
  const map = chart([{
    type: "treemap", labels: labels.map(plain), parents: labels.map(() => ""), values,
    ids: labels.map((_, at) => `${at}`),
    marker: { colors: mean.map((value) => Math.log2(Math.max(value, 1))), showscale: true, cmin: SMALL, cmax: LARGE,
      pad: { t: 0, l: 0, r: 0, b: 0 },
      colorscale: [[0, "#d9534f"], [0.5, "#f0c36d"], [1, "#5aa469"]],
      colorbar: { title: { text: "a file has" }, tickvals: [10, 15, 20, 25], ticktext: ["1 KiB", "32 KiB", "1 MiB",
        "32 MiB"] } },
    pathbar: { visible: false }, tiling: { pad: 2 },
    customdata: values.map((value, at) => [size(value), number[at], size(mean[at])]),
    hovertemplate: "%{label}<br>%{customdata[0]} in %{customdata[1]:,} files of %{customdata[2]}<extra></extra>",
  }], { margin: { l: 0, r: 0, t: 10, b: 0 } }, true);
  return [element("p", { class: "note" }, `${many(found.count, "partition")}: areas are bytes, colours the size of a `
    + "file on average; red ones have small files."), map,
  rowsTable([["partition"], ["rows in files", "number"], ["bytes", "number"], ["files", "number"], ["last change"]],
    found.partition.slice(0, 200).map((text, at) => ({ cells: [text, count(found.record_count[at]),
      size(found.file_size_in_bytes[at]), count(found.file_count[at]), minute(found.last_update_time[at])] })))];
}

async function compaction(name) {
  const parts = [];
  for (const [full, title] of [["false", "As a writer would compact"], ["true", "A full compaction"]]) {
    const plan = await ask("compaction", { name, full });
    parts.push(element("h3", {}, title));
    if (!plan.tasks) {
      parts.push(element("p", { class: "note" }, "There is nothing to compact."));
      continue;
    }
    parts.push(
      figures([["tasks", count(plan.tasks)], ["files", count(plan.files)], ["bytes to read", size(plan.bytes)]]),
      rowsTable([["partition"], ["bucket", "number"], ["files", "number"], ["rows", "number"], ["bytes", "number"]],
        plan.bucket.slice(0, 50).map((bucket, at) => ({ cells: [plan.partition[at], bucket, count(plan.task_files[at]),
          count(plan.task_rows[at]), size(plan.task_bytes[at])] }))));
    if (plan.tasks > 50) parts.push(element("p", { class: "note" }, "The 50 largest tasks are listed."));
  }
  return parts;
}

async function changes(name, before, after) {
  const ids = (await ask("history", { name })).snapshot_id;
  if (!ids.length) return [element("p", { class: "note" }, "There is no snapshot yet.")];
  const field = (label, value) => element("label", {}, label, element("input", { name: label, value, required: "" }));
  const form = element("form", {}, field("before", before ?? (ids.length > 1 ? ids.at(-2) : 0)),
    field("after", after ?? ids.at(-1)), element("button", {}, "Compare"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const given = new FormData(form);
    location.hash = address(name, "changes", given.get("before"), given.get("after"));
  });
  const parts = [element("p", { class: "note" }, "Snapshots, tags or times; 0 is the table before its first commit. "
    + "The rows of files that differ are read."), form];
  if (after === undefined) return parts;
  try {
    return [...parts, ...difference(await ask("changes", { name, before, after }))];
  } catch (error) {
    return [...parts, element("p", { class: "error" }, error.message)]; // the form stays, for another try
  }
}

function difference(found) {
  const text = (value) => value ?? "NULL";
  const cell = (one, value, at) => (!one.before || one.before[at] === value ? text(value)
    : element("span", {}, element("del", {}, text(one.before[at])), ` ${text(value)}`));
  const differ = `${many(found.differ, "row")} ${found.differ === 1 ? "differs" : "differ"}`;
  const rest = found.shown < found.differ
    ? `; the first ${count(found.shown)} are shown, paimon-spark diff shows all` : "";
  return [element("p", {}, `${differ}${rest}.`), rowsTable([["change"], ...found.columns.map((column) => [column])],
    found.rows.map((one) => ({ kind: one.change,
      cells: [one.change, ...one.row.map((value, at) => cell(one, value, at))] })))];
}

const VIEWS = { overview, files, partitions, compaction, changes };

// ---- the list of tables, and where the page is

async function catalogView(tables) {
  const names = Object.entries(tables).flatMap(([database, found]) => found.map((table) => fullName(database, table)));
  const rows = names.map((name) => element("tr", {}, element("td", {}, element("a", { href: address(name) }, name))));
  const heads = [["table"], ["kind"], ["rows in files", "number"], ["columns", "number"], ["snapshot", "number"],
    ["last commit"]];
  const head = element("tr", {}, ...heads.map(([text, kind]) => element("th", { class: kind }, text)));
  const waiting = names.map((name, at) => [name, rows[at]]);
  const fill = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) await fillRow(...next);
  };
  for (let at = 0; at < AT_ONCE; at += 1) fill();
  return [element("h2", {}, many(names.length, "table")),
    element("div", { class: "scroll" },
      element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)))];
}

async function fillRow(name, row) {
  const cell = (text, kind) => element("td", { class: kind }, text);
  try {
    const found = await ask("summary", { name });
    const { snapshot } = found;
    const kind = found.kind !== "table" ? found.kind
      : found.engine ? `${found.engine} by ${found.primary_keys.join(", ")}` : "append";
    row.append(cell(kind), cell(count(snapshot?.rows), "number"), cell(count(found.columns), "number"),
      cell(count(snapshot?.id), "number"), cell(minute(snapshot?.time)));
  } catch (error) {
    row.append(element("td", { class: "error", colspan: 5 }, error.message));
  }
}

const fullName = (database, table) => (database ? `${database}.${table}` : table);
const address = (name, tab = "overview", ...rest) => `#${[name, tab, ...rest].map(encodeURIComponent).join("/")}`;

function here() {
  let parts = [""];
  try {
    parts = location.hash.slice(1).split("/").map(decodeURIComponent);
  } catch { /* no address of this page: the list of tables is shown */ }
  const [name, tab, ...rest] = parts;
  return { name, tab: Object.hasOwn(TABS, tab) ? tab : "overview", rest };
}

function listTables(tables) {
  const wanted = document.getElementById("filter").value.toLowerCase();
  document.getElementById("tables").replaceChildren(...Object.entries(tables).flatMap(([database, found]) => {
    const names = found.filter((table) => fullName(database, table).toLowerCase().includes(wanted));
    if (!names.length) return [];
    return [...(database ? [element("h2", {}, database)] : []), ...names.map((table) => {
      const name = fullName(database, table);
      return element("a", { href: address(name), "aria-current": name === here().name ? "page" : null }, table);
    })];
  }));
}

async function show(tables) {
  const { name, tab, rest } = here();
  const number = (shown += 1);
  listTables(tables);
  document.title = name ? `${name} - paimon-spark` : "paimon-spark";
  const heads = name ? [element("h2", {}, name), element("div", { class: "tabs", role: "navigation" },
    ...Object.entries(TABS).map(([each, text]) => element("a", { href: address(name, each),
      "aria-current": each === tab ? "page" : null }, text)))] : [];
  main.replaceChildren(...heads, element("p", { class: "note" }, "Metadata are read …"));
  main.setAttribute("aria-busy", "true");
  let parts;
  try {
    parts = await (name ? VIEWS[tab](name, ...rest) : catalogView(tables));
  } catch (error) {
    parts = [element("p", { class: "error" }, error.message)];
  }
  if (number !== shown) return;
  main.replaceChildren(...heads, ...parts.filter((part) => part));
  await drawCharts();
  main.setAttribute("aria-busy", "false");
}

async function start() {
  const { title, tables } = await ask("tables");
  document.getElementById("title").textContent = title;
  document.getElementById("filter").addEventListener("input", () => listTables(tables));
  window.addEventListener("hashchange", () => show(tables));
  const all = Object.entries(tables);
  if (all.length === 1 && all[0][0] === "" && !location.hash) history.replaceState(null, "", address(all[0][1][0]));
  await show(tables);
}

start().catch((error) => main.replaceChildren(element("p", { class: "error" }, error.message)));
