// The report's page. Every text of a paper or a model enters the page through text nodes only; links hold nothing
// but fragments of this page, and image addresses nothing but numbers.
"use strict";
(() => {
  const PER_PAGE = 60, PAPERS_PER_PAGE = 100, ITEMS_SHOWN = 100, OVERALL = 5;
  const VIEWS = [["overview", "Overview"], ["figures", "Figures"], ["papers", "Papers"], ["failures", "Failures"]];
  const STATES = ["kept", "dropped", "failed"], STATUSES = ["scored", "gated", "failed", "missing"];
  const DEFAULTS = {
    view: "overview", run: "", dim: "overall", min: "", max: "", paper: "", flag: "", rule: "", state: "",
    score: "", q: "", sort: "paper", page: "1", outcome: "", figure: "",
  };
  const SORTS = [
    ["paper", "paper and index"], ["low", "lowest score first"], ["high", "highest score first"],
    ["spread", "runs disagree most"],
  ];
  let data, figures, papers, runs, measures, byId, imported; // imported: figures whose papers were never here
  let state = { ...DEFAULTS }, selected = [], rendered = "";

  // ---- loading ------------------------------------------------------------------------------------------------
  const loaded = new Map(), waiting = new Map();

  window.sfqData = (name, value) => {
    loaded.set(name, value);
    if (name === "index") start(value);
    waiting.get(name)?.(value);
  };

  const pending = new Map();
  function load(name) {
    if (loaded.has(name)) return Promise.resolve(loaded.get(name));
    if (!pending.has(name)) {
      pending.set(name, new Promise((resolve, reject) => {
        waiting.set(name, resolve);
        const script = el("script", { src: `data/${name}.js` });
        script.addEventListener("error", () => {
          pending.delete(name);
          reject(new Error(`data/${name}.js could not be loaded: is the report folder complete?`));
        });
        document.head.append(script);
      }));
    }
    return pending.get(name);
  }

  function start(index) {
    data = index;
    runs = data.summary.runs;
    measures = [...data.dimensions, ["overall", "Overall"]];
    imported = data.papers.length === 0 && data.figures.length > 0;
    papers = data.papers.map((row) => Object.fromEntries(data.paperColumns.map((name, i) => [name, row[i]])));
    const titles = new Map(papers.map((paper) => [paper.paper_id, paper.title]));
    figures = data.figures.map((row, number) => {
      const [id, paper, index_, label, page, state_, rule, error, flags, on, image, caption, scores] = row;
      const text = [id, paper, titles.get(paper), label && `figure ${label}`, caption].join("\n").toLowerCase();
      return { number, id, paper, index: index_, label, page, state: state_, rule, error, flags, on, image, caption, scores, text };
    });
    byId = new Map(figures.map((figure) => [figure.id, figure]));
    window.addEventListener("hashchange", render);
    document.addEventListener("keydown", onKey);
    prepareDetail();
    renderTotals();
    render();
  }

  // ---- elements -----------------------------------------------------------------------------------------------
  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
    return node;
  }
  const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  const svg = (tag, attributes, ...children) =>
    fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
  /** Text of a paper or a model: set apart, so that its writing direction cannot reorder what stands around it. */
  const said = (text, tag = "span", cls = "") => el(tag, { class: `said ${cls}`, dir: "auto" }, String(text));
  const count = (value) => value.toLocaleString("en");
  const plural = (value, word) => `${count(value)} ${word}${value === 1 ? "" : "s"}`;
  const rounded = (value) => (Number.isInteger(value) ? String(value) : value.toFixed(2));
  const brief = (value) => (value === null ? "n/a" : Number.isInteger(value) ? count(value) : String(+value.toPrecision(4)));
  const pageNumber = (page) => (page === null ? "page n/a" : `p. ${page + 1}`);

  // ---- state in the address -----------------------------------------------------------------------------------
  function readState() {
    const given = new URLSearchParams(location.hash.slice(1));
    const next = { ...DEFAULTS };
    for (const name of Object.keys(DEFAULTS)) if (given.has(name)) next[name] = given.get(name);
    if (!VIEWS.some(([view]) => view === next.view)) next.view = DEFAULTS.view;
    if (next.figure && !given.has("view")) next.view = "figures";
    return next;
  }
  function hash(next) {
    const pairs = Object.entries(next).filter(([name, value]) => name === "view" || String(value) !== DEFAULTS[name]);
    return "#" + new URLSearchParams(pairs).toString();
  }
  const linked = (patch) => hash({ ...state, ...patch });
  const fresh = (patch) => hash({ ...DEFAULTS, ...patch });
  function change(patch) {
    history.replaceState(null, "", linked(patch));
    render();
  }

  function render() {
    state = readState();
    const list = hash({ ...state, figure: "" });
    if (list !== rendered) {
      const keep = rendered && document.getElementById("filters")?.dataset.view === state.view;
      rendered = list;
      renderTabs();
      const view = document.getElementById("view");
      if (!keep) view.replaceChildren(...PAGES[state.view]());
      UPDATES[state.view]?.();
    }
    renderDetail();
  }
  const PAGES = { overview: overviewPage, figures: figuresPage, papers: papersPage, failures: failuresPage };
  const UPDATES = { figures: updateFigures, papers: updatePapers };

  function renderTabs() {
    document.getElementById("tabs").replaceChildren(...VIEWS.filter(([view]) => !(imported && view === "papers")).map(([view, name]) =>
      el("a", { href: fresh({ view }), "aria-current": view === state.view && "page" }, name)));
  }
  function renderTotals() {
    const line = (name, totals, view, key) => el("p", {},
      el("strong", {}, count(totals.found)), ` ${name} found = `,
      STATES.map((part, i) => [i ? " + " : "", el("a", { href: fresh({ view, [key]: part }) }, `${count(totals[part])} ${part}`)]));
    const bad = data.summary.checks.filter((check) => !check.ok).length;
    document.getElementById("totals").replaceChildren(
      imported ? el("p", {}, "Imported figures, without papers") : line("papers", data.summary.papers, "papers", "outcome"), line("figures", data.summary.figures, "figures", "state"),
      el("p", {}, el("strong", {}, count(runs.length)), runs.length === 1 ? " run" : " runs"),
      el("p", { class: bad ? "bad" : "good" }, bad ? `${plural(bad, "check")} of the tables failed` : "Row counts agree"));
  }

  // ---- overview -----------------------------------------------------------------------------------------------
  function overviewPage() {
    const s = data.summary;
    return [
      s.checks.some((check) => !check.ok) && checksSection(),
      el("section", { class: "columns" },
        !imported && card("Papers", funnel([
          ["found", s.papers.found, "total"],
          ...s.paperDrops.map(([rule, n]) => [said(rule), -n, "dropped", fresh({ view: "papers", outcome: "dropped", rule })]),
          ["failed", -s.papers.failed, "failed", fresh({ view: "failures" })],
          ["kept", s.papers.kept, "kept", fresh({ view: "papers", outcome: "kept" })],
        ])),
        card("Figures", funnel([
          ["found", s.figures.found, "total"],
          ...s.drops.map(([rule, n]) => [said(rule), -n, "dropped", fresh({ view: "figures", rule })]),
          ["failed", -s.figures.failed, "failed", fresh({ view: "figures", state: "failed" })],
          ["kept", s.figures.kept, "kept", fresh({ view: "figures", state: "kept" })],
        ])),
        card("Evidence of the kept figures", funnel([
          ["kept", s.figures.kept, "total"],
          ["caption and context", s.evidence.both, "kept"],
          ["only caption (CTX off)", s.evidence.caption, "kept"],
          ["only context (CC off)", s.evidence.context, "kept"],
          ["neither (excluded)", s.evidence.neither, "dropped"],
        ])),
        card("Flags (nothing is deleted for them)", s.flags.length
          ? funnel(s.flags.map(([flag, n]) => [said(flag), n, "flag", fresh({ view: "figures", flag })]), s.figures.found)
          : el("p", { class: "quiet" }, "No figure is flagged."))),
      card("Runs", runs.length ? runsTable() : el("p", { class: "quiet" }, "No scores yet: judge these figures, then write the report again.")),
      runs.length > 0 && card("Scores", el("p", { class: "quiet" },
        "Share of each score among the scored figures of a run; all panels have the same scale. The line is the mean. " +
        "A missing score is n/a: it is in neither the bars nor the mean. A bar leads to its figures."), distributions()),
      !s.checks.some((check) => !check.ok) && checksSection(),
    ].filter(Boolean);
  }
  const card = (title, ...content) => el("section", { class: "card" }, el("h2", {}, title), ...content);

  /** Rows [name, count, kind, link]; a negative count is what a step takes away. */
  function funnel(rows, whole = rows[0]?.[1]) {
    return el("table", { class: "funnel" }, el("tbody", {}, rows.map(([name, n, kind, href]) => {
      const share = whole ? Math.abs(n) / whole : 0;
      const bar = svg("svg", { class: `meter ${kind}`, viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
        svg("rect", { class: "ground", width: 100, height: 10 }), svg("rect", { class: "amount", width: (100 * share).toFixed(2), height: 10 }));
      return el("tr", {}, el("th", { scope: "row" }, href && n ? el("a", { href }, name) : name),
        el("td", { class: "number" }, (n < 0 ? "−" : "") + count(Math.abs(n))),
        el("td", { class: "number quiet" }, whole ? `${(100 * share).toFixed(1)} %` : ""), el("td", { class: "bar-cell" }, bar));
    })));
  }

  function runsTable() {
    const head = [["Run"], ["Protocol"], ["Model"], ["Rows", 1], ["Scored", 1], ["Gated", 1], ["Failed", 1], ["Kept, no row", 1], ["Failures by class"]];
    const part = (run, status) => el("td", { class: "number" }, run[status]
      ? el("a", { href: fresh({ view: "figures", run: run.id, score: status, state: status === "missing" ? "kept" : "" }) }, count(run[status])) : "0");
    return scrolling(el("table", { class: "list" },
      el("thead", {}, el("tr", {}, head.map(columnHead))),
      el("tbody", {}, runs.map((run) => el("tr", {},
        el("th", { scope: "row" }, said(run.id)), el("td", {}, run.protocol), el("td", {}, said(run.model), el("span", { class: "quiet" }, " ", said(run.backend))),
        el("td", { class: "number" }, count(run.rows)), STATUSES.map((status) => part(run, status)),
        el("td", {}, run.failures.length ? run.failures.map(([name, n], i) => [i ? ", " : "", said(name), ` ${count(n)}`]) : "none"))))));
  }

  function distributions() {
    const top = Math.max(...runs.flatMap((run) => run.measures.flatMap((m) => m.bins.map((n) => (m.n ? n / m.n : 0)))), 0.01);
    return el("div", { class: "runs" }, runs.map((run) => el("section", {}, el("h3", {}, said(run.id)),
      el("div", { class: "multiples" }, run.measures.map((measure, i) => histogram(run, measures[i], measure, top))))));
  }

  function histogram(run, [code, name], measure, top) {
    const width = 150, base = 58, step = width / 10;
    const label = measure.n ? `${plural(measure.n, "score")}, mean ${measure.mean.toFixed(2)}` : "no scores";
    const bars = measure.bins.map((n, i) => {
      const score = i + 1, height = measure.n ? (n / measure.n / top) * (base - 6) : 0;
      const range = { min: score - 0.5, max: score + 0.49 }; // a score between two counts for the nearest
      const shape = [
        svg("title", {}, `${code === "overall" ? "about " : ""}${score}: ${plural(n, "figure")}`),
        svg("rect", { class: "hit", x: i * step, y: 0, width: step, height: base }),
        svg("rect", { class: `band${band(score)}`, x: i * step + 1, y: base - height, width: step - 2, height }),
      ];
      return n ? svg("a", { href: fresh({ view: "figures", run: run.id, dim: code, ...range }) }, ...shape) : svg("g", {}, ...shape);
    });
    const x = measure.n ? (measure.mean - 0.5) * step : 0;
    return el("figure", {}, el("figcaption", {}, el("strong", {}, code === "overall" ? name : code), code === "overall" ? "" : ` ${name}`),
      svg("svg", { viewBox: `0 0 ${width} 72`, role: "img", "aria-label": `${name}: ${label}` }, bars,
        svg("line", { class: "axis", x1: 0, x2: width, y1: base, y2: base }),
        measure.n > 0 && svg("line", { class: "mean", x1: x, x2: x, y1: 2, y2: base }),
        [1, 5, 10].map((score) => svg("text", { x: (score - 0.5) * step, y: 69, "text-anchor": "middle" }, String(score)))),
      el("p", {}, el("span", {}, measure.n ? `mean ${measure.mean.toFixed(2)}, median ${rounded(measure.median)}` : "mean n/a"),
        el("br"), `n ${count(measure.n)}, ${count(measure.nulls)} n/a`));
  }

  function checksSection() {
    return card("Do the tables agree?", el("ul", { class: "checks" }, data.summary.checks.map((check) =>
      el("li", { class: check.ok ? "good" : "bad" }, said(check.what), check.ok ? `: ${count(check.found)}`
        : `: expected ${count(check.expected)}, found ${count(check.found)}`))));
  }

  // ---- figures ------------------------------------------------------------------------------------------------
  function figuresPage() {
    const names = (pairs) => [["", "any"], ...pairs.map(([name, n]) => [name, `${name} (${count(n)})`])];
    const s = data.summary;
    return [
      el("form", { id: "filters", "data-view": "figures", onsubmit: (event) => event.preventDefault() },
        field("Search", input("q", "search", { placeholder: "caption, title, id, “figure 3” …" }), "wide"),
        field("Run", select("run", runs.length ? runs.map((run) => [run.id, run.id]) : [["", "none"]])),
        field("Score", select("dim", measures.map(([code, name]) => [code, code === "overall" ? name : `${code} ${name}`]))),
        field("Min", input("min", "number", { min: 1, max: 10, step: "any" })),
        field("Max", input("max", "number", { min: 1, max: 10, step: "any" })),
        field("Sort", select("sort", SORTS)),
        field("Figure", select("state", names(STATES.map((name) => [name, s.figures[name]])))),
        field("Score row", select("score", [["", "any"], ["scored", "scored"], ["gated", "gated off entirely"], ["failed", "failed"],
          ["missing", "no row"], ["na", "n/a in this score"]])),
        field("Dropped by", select("rule", names(s.drops))),
        field("Flag", select("flag", names(s.flags))),
        field("Paper", input("paper", "search", { list: "paper-ids", placeholder: "id or part of it" })),
        el("datalist", { id: "paper-ids" }, papers.map((paper) => el("option", { value: paper.paper_id }))),
        el("a", { class: "button", href: fresh({ view: "figures" }) }, "Reset")),
      el("p", { id: "count", role: "status" }),
      el("div", { id: "grid" }), el("nav", { id: "pager", "aria-label": "Pages" }),
    ];
  }
  const field = (name, control, cls) => el("label", { class: cls }, el("span", {}, name), control);
  const select = (name, options) => el("select", { name, onchange: changed },
    options.map(([value, text]) => el("option", { value }, text)));
  const input = (name, type, more) => el("input", { name, type, oninput: changed, autocomplete: "off", ...more });
  const changed = (event) => change({ [event.target.name]: event.target.value, page: "1" });

  /** Controls show the state; the one being typed into is left alone. */
  function syncFilters() {
    for (const control of document.getElementById("filters").elements) {
      if (!control.name || control === document.activeElement) continue;
      control.value = control.name === "run" ? runs[runNumber()]?.id ?? "" : state[control.name];
    }
  }

  const runNumber = () => Math.max(0, runs.findIndex((run) => run.id === state.run));
  const measureNumber = () => Math.max(0, measures.findIndex(([code]) => code === state.dim));
  const scoreOf = (figure, run, measure) => figure.scores[run]?.[1 + measure] ?? null;
  const statusOf = (figure, run) => figure.scores[run]?.[0] ?? "missing";
  function spread(figure, measure) {
    const values = figure.scores.map((row) => row?.[1 + measure] ?? null).filter((value) => value !== null);
    return values.length > 1 ? Math.max(...values) - Math.min(...values) : null;
  }
  const bound = (text) => (text !== "" && Number.isFinite(Number(text)) ? Number(text) : null);

  function filtered() {
    const run = runNumber(), measure = measureNumber(), min = bound(state.min), max = bound(state.max);
    const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
    const phrase = state.q.trim().toLowerCase();
    const exact = papers.some((paper) => paper.paper_id === state.paper);
    const part = state.paper.toLowerCase();
    return figures.filter((figure) => {
      const score = scoreOf(figure, run, measure);
      return (!state.state || figure.state === state.state)
        && (!state.rule || figure.rule === state.rule)
        && (!state.flag || figure.flags.includes(state.flag))
        && (!part || (exact ? figure.paper === state.paper : figure.paper.toLowerCase().includes(part)))
        && (!state.score || (state.score === "na" ? score === null : statusOf(figure, run) === state.score))
        && (min === null || (score !== null && score >= min)) && (max === null || (score !== null && score <= max))
        && (!words.length || figure.text.includes(phrase) || words.every((word) => figure.text.includes(word)));
    });
  }
  /** Figures without a value stand last in every order by value; equal ones keep the order by paper. */
  function sorted(list) {
    if (!["low", "high", "spread"].includes(state.sort)) return list;
    const run = runNumber(), measure = measureNumber(), sign = state.sort === "low" ? 1 : -1;
    const value = (figure) => (state.sort === "spread" ? spread(figure, measure) : scoreOf(figure, run, measure));
    const keyed = list.map((figure) => [value(figure), figure]);
    keyed.sort(([a, f], [b, g]) => (a === null) - (b === null) || sign * (a - b) || f.number - g.number);
    return keyed.map(([, figure]) => figure);
  }

  function updateFigures() {
    selected = sorted(filtered());
    syncFilters();
    const pages = Math.max(1, Math.ceil(selected.length / PER_PAGE)), page = pageOf(pages);
    document.getElementById("count").replaceChildren(el("strong", {}, count(selected.length)), ` of ${plural(figures.length, "figure")}`,
      bound(state.min) !== null || bound(state.max) !== null ? " (figures without this score are not among them)" : "");
    const shown = selected.slice((page - 1) * PER_PAGE, page * PER_PAGE);
    document.getElementById("grid").replaceChildren(...(shown.length ? shown.map(figureCard)
      : [el("p", { class: "quiet" }, figures.length ? "No figure matches these filters." : "No figures were found.")]));
    document.getElementById("pager").replaceChildren(...pager(page, pages));
  }
  const pageOf = (pages) => Math.min(Math.max(1, Math.trunc(Number(state.page)) || 1), pages);
  function pager(page, pages) {
    if (pages === 1) return [];
    const to = (target, name, rel) => target < 1 || target > pages ? el("span", { class: "button off" }, name)
      : el("a", { class: "button", rel, href: linked({ page: target, figure: "" }) }, name);
    return [to(page - 1, "← Previous", "prev"), el("span", {}, `Page ${count(page)} of ${count(pages)}`), to(page + 1, "Next →", "next")];
  }

  const nameOf = (figure) => (figure.label === null ? `Unlabelled figure, no. ${figure.index}` : `Figure ${figure.label}`);
  const band = (score) => Math.ceil(Math.min(Math.max(score, 1), 10) / 2);
  function chip(figure, run, measure) {
    const code = measures[measure][0], score = scoreOf(figure, run, measure), status = statusOf(figure, run);
    const off = score === null && figure.on[measure] === "0";
    const text = score !== null ? (code === "overall" || !Number.isInteger(score) ? score.toFixed(1) : String(score)) : off ? "off" : "n/a";
    const title = `${measures[measure][1]}: ${score !== null ? score : off ? "gated off, its evidence is missing" : `n/a (${status})`}`;
    return el("span", { class: `chip ${score === null ? "none" : `band${band(score)}`}`, title },
      el("span", { class: "code" }, code === "overall" ? "overall" : code), " ", text);
  }
  const badge = (text, kind) => el("span", { class: `badge ${kind}` }, said(text));
  function badges(figure) {
    return [
      figure.state === "dropped" && badge(`dropped by ${figure.rule}`, "dropped"),
      figure.state === "failed" && badge(`failed: ${figure.error}`, "failed"),
      figure.flags.map((flag) => badge(flag, "flag")),
    ];
  }
  function figureCard(figure) {
    const run = runNumber(), scored = statusOf(figure, run) === "scored";
    const picture = figure.image
      ? el("img", { src: `thumbs/${String(figure.number).padStart(6, "0")}.webp`, loading: "lazy", alt: "" })
      : el("span", { class: "quiet" }, "no image");
    return el("a", { class: `figure ${figure.state}`, href: linked({ figure: figure.id }) },
      el("span", { class: "thumb" }, picture),
      el("span", { class: "head" }, said(nameOf(figure), "strong"), scored && chip(figure, run, OVERALL), el("span", { class: "quiet" }, said(figure.paper), ` · ${pageNumber(figure.page)}`)),
      figure.caption === null ? el("span", { class: "quiet" }, "no caption") : said(figure.caption, "span", "caption"),
      el("span", { class: "chips" }, badges(figure)),
      runs.length > 0 && figure.state === "kept" && el("span", { class: "chips" }, scored
        ? data.dimensions.map((_, i) => chip(figure, run, i)) : badge(scoreState(figure, run), "none")));
  }
  const scoreState = (figure, run) => ({
    gated: "gated off: neither caption nor context", failed: "scoring failed", missing: "not in this run", scored: "scored",
  })[statusOf(figure, run)] ?? statusOf(figure, run);

  // ---- one figure ---------------------------------------------------------------------------------------------
  const dialog = document.getElementById("detail");
  function prepareDetail() {
    dialog.addEventListener("close", () => state.figure && change({ figure: "" }));
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  }
  let shownFigure = "";
  function renderDetail() {
    if (state.figure === shownFigure) return;
    shownFigure = state.figure;
    if (!shownFigure) {
      dialog.close();
      return;
    }
    const figure = byId.get(shownFigure);
    if (!selected.length) selected = figures;
    dialog.replaceChildren(detailHead(figure), el("p", { class: "quiet" }, figure ? "Loading …" : "This report has no such figure."));
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
    if (!figure) return;
    const part = Math.floor(figure.number / data.detailsPerFile);
    load(`details-${String(part).padStart(4, "0")}`).then(
      (details) => shownFigure === figure.id && dialog.replaceChildren(detailHead(figure), detailBody(figure, details[figure.number % data.detailsPerFile])),
      (error) => shownFigure === figure.id && dialog.replaceChildren(detailHead(figure), el("p", { class: "note" }, error.message)));
  }
  function neighbours(figure) {
    const place = selected.indexOf(figure);
    return place < 0 ? [] : [selected[place - 1], selected[place + 1]];
  }
  function detailHead(figure) {
    const to = (target, name, rel) => target ? el("a", { class: "button", rel, href: linked({ figure: target.id }) }, name) : el("span", { class: "button off" }, name);
    const [before, after] = figure ? neighbours(figure) : [];
    return el("div", { class: "detail-head" }, el("h2", {}, figure ? [said(nameOf(figure)), el("span", { class: "quiet" }, " ", said(figure.paper), ` · ${pageNumber(figure.page)}`)] : said(shownFigure)),
      el("div", {}, to(before, "←", "prev"), " ", to(after, "→", "next"), " ",
        el("button", { type: "button", class: "button", onclick: () => dialog.close() }, "Close")));
  }

  function detailBody(figure, d) {
    const image = `images/${String(figure.number).padStart(6, "0")}.${figure.image}`;
    const paper = [d.venue, d.year].filter((value) => value !== null).join(" ");
    const [width, height, dpi] = d.size, scored = d.scores.length > 0;
    return el("div", { class: "detail" },
      el("div", {},
        figure.image ? el("a", { class: "picture", href: image, target: "_blank", title: "Open the stored image" },
          el("img", { src: image, alt: "The figure as cut from the page" })) : el("p", { class: "note" }, "There is no image that can be shown."),
        el("p", { class: "caption" }, d.captionLabel !== null && [said(d.captionLabel, "strong"), " "], d.caption === null ? el("span", { class: "quiet" }, "no caption") : said(d.caption)),
        el("p", { class: "chips" }, badges(figure)),
        d.message !== null && el("p", { class: "note" }, said(d.message)),
        facts([
          ["Paper", [el("a", { href: fresh({ view: "figures", paper: figure.paper }) }, said(figure.paper)), d.title !== null && [" ", said(d.title)], paper && ` (${paper})`]],
          ["Figure id", said(figure.id)],
          ["Place", `${pageNumber(figure.page)}${d.bbox.length ? `, box ${d.bbox.map((value) => Math.round(value)).join(", ")} pt` : ""}${d.panels ? `, ${plural(d.panels, "panel")}` : ""}`],
          ["Image", width === null ? "n/a" : `${width} × ${height} px at ${brief(dpi)} dpi`],
          ["Layout", [d.layout === null ? "n/a" : said(d.layout), `, caption match ${brief(d.captionScore)}`]],
        ]),
        scored && contextList(d.contexts),
        el("details", {}, el("summary", {}, "Features"), facts(data.features.map(([name, doc], i) => {
          const value = d.features[i];
          return [el("span", { title: doc }, name), value === null ? el("span", { class: "quiet" }, "n/a") : typeof value === "number" ? brief(value) : said(value)];
        })))),
      el("div", {}, scored ? [scoreMatrix(figure, d), reasons(figure, d), summaries(d)] : [contextList(d.contexts),
        el("p", { class: "quiet" }, figure.state === "kept" ? "No run has a row for this figure." : "Not scored: only kept figures are.")]));
  }
  const facts = (pairs) => el("dl", {}, pairs.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));

  function contextList(contexts) {
    return [el("h3", {}, "Citing paragraphs"), contexts.length ? el("ol", { class: "contexts" }, contexts.map((context) => el("li", {},
      el("p", { class: "quiet" }, [
        context.section === null ? "no section" : said(context.section), pageNumber(context.page), `cue ${context.cue ?? "n/a"}`, context.place,
        `evidence ${context.evidence ?? "n/a"}`, `weight ${brief(context.weight)}`,
        context.panels.length && ["panels ", said(context.panels.join(", "))],
      ].filter(Boolean).map((part, i) => [i ? " · " : "", part])),
      el("p", { class: "said", dir: "auto" }, context.text.map(([text, hit]) => (hit ? el("mark", {}, text) : text))))))
      : el("p", { class: "quiet" }, "No paragraph of the paper cites this figure, so CTX is off.")];
  }

  function scoreMatrix(figure, d) {
    const cell = (run, i) => el("td", {}, chip(figure, run, i));
    return scrolling(el("table", { class: "list matrix" },
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Run"), measures.map(([code, name]) => el("th", { scope: "col", title: name }, code === "overall" ? name : code)))),
      el("tbody", {}, d.scores.map((score) => {
        const run = runs.findIndex((other) => other.id === score.run);
        return [el("tr", {}, el("th", { scope: "row" }, said(score.run)), measures.map((_, i) => cell(run, i))),
          (score.status !== "scored" || score.caps.length > 0) && el("tr", { class: "more" }, el("td", { colspan: measures.length + 1 },
            score.status !== "scored" && [badge(score.status === "failed" ? `failed: ${score.failure ?? "unnamed"}` : scoreState(figure, run), score.status), " ", score.message !== null && said(score.message), " "],
            score.caps.map((cap) => [badge(`cap ${cap}`, "cap"), " "])))];
      }))));
  }

  function reasons(figure, d) {
    return data.dimensions.map(([code, name], i) => el("section", { class: "dimension" },
      el("h3", {}, `${code} ${name}`, figure.on[i] === "0" && el("span", { class: "quiet" },
        figure.on.includes("1") ? ` gated off: there is no ${code === "CC" ? "caption" : "citing paragraph"}` : " gated off: there is neither caption nor citing paragraph")),
      d.scores.filter((score) => score.dims[i].some((value) => value !== null)).map((score) => {
        const [value, confidence, owner, proposed, reason] = score.dims[i];
        return el("div", { class: "reason" },
          el("p", {}, el("span", { class: `chip ${value === null ? "none" : `band${band(value)}`}` }, value === null ? "n/a" : brief(value)), " ",
            said(score.run, "strong"), el("span", { class: "quiet" }, ` · confidence ${confidence ?? "n/a"}`, ` · owner ${owner ?? "n/a"}`),
            proposed !== null && proposed !== value && el("span", { class: "changed" }, ` · proposed ${brief(proposed)}, Runner: ${value ?? "n/a"}`),
            score.caps.filter((cap) => cap.split(/\s/)[0] === code).map((cap) => [" ", badge(`cap ${cap}`, "cap")])),
          reason === null ? el("p", { class: "quiet" }, "no reason given") : said(reason, "p"));
      })));
  }
  function summaries(d) {
    const given = d.scores.filter((score) => score.summary !== null || score.suggestion !== null);
    return given.length > 0 && el("section", { class: "dimension" }, el("h3", {}, "Summary and suggestion"), given.map((score) =>
      el("div", { class: "reason" }, said(score.run, "strong"), score.summary !== null && said(score.summary, "p"),
        score.suggestion !== null && el("p", {}, el("span", { class: "quiet" }, "Suggestion: "), said(score.suggestion)))));
  }

  // ---- papers -------------------------------------------------------------------------------------------------
  function papersPage() {
    return [el("form", { id: "filters", "data-view": "papers", onsubmit: (event) => event.preventDefault() },
      field("Search", input("q", "search", { placeholder: "id, title, venue, file, message" }), "wide"),
      field("Outcome", select("outcome", [["", "any"], ...STATES.map((name) => [name, `${name} (${count(data.summary.papers[name])})`])])),
      field("Dropped by", select("rule", [["", "any"], ...data.summary.paperDrops.map(([rule, n]) => [rule, `${rule} (${count(n)})`])])),
      el("a", { class: "button", href: fresh({ view: "papers" }) }, "Reset")),
    el("p", { id: "count", role: "status" }), el("div", { id: "grid", class: "plain" }), el("nav", { id: "pager", "aria-label": "Pages" })];
  }
  function updatePapers() {
    syncFilters();
    const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
    const list = papers.filter((paper) => {
      const text = [paper.paper_id, paper.title, paper.venue, paper.year, paper.source, paper.message].join("\n").toLowerCase();
      return (!state.outcome || paper.outcome === state.outcome) && (!state.rule || (paper.dropped ?? "unnamed") === state.rule)
        && words.every((word) => text.includes(word));
    });
    const pages = Math.max(1, Math.ceil(list.length / PAPERS_PER_PAGE)), page = pageOf(pages);
    document.getElementById("count").replaceChildren(el("strong", {}, count(list.length)), ` of ${plural(papers.length, "paper")}`);
    document.getElementById("grid").replaceChildren(papersTable(list.slice((page - 1) * PAPERS_PER_PAGE, page * PAPERS_PER_PAGE)));
    document.getElementById("pager").replaceChildren(...pager(page, pages));
  }
  function papersTable(list) {
    const head = [["Paper"], ["Venue"], ["Pages", 1], ["Outcome"], ["Figures", 1], ["Kept", 1], ["Failed", 1]];
    const cell = (value) => el("td", { class: "number" }, value === null ? "n/a" : count(value));
    return scrolling(el("table", { class: "list" }, el("thead", {}, el("tr", {}, head.map(columnHead))),
      el("tbody", {}, list.map((paper) => el("tr", {},
        el("td", {}, el("a", { href: fresh({ view: "figures", paper: paper.paper_id }) }, said(paper.paper_id)), el("br"),
          paper.title === null ? el("span", { class: "quiet" }, "no title") : said(paper.title),
          paper.warnings?.length > 0 && el("details", {}, el("summary", {}, plural(paper.warnings.length, "warning")), el("ul", {}, paper.warnings.map((text) => said(text, "li"))))),
        el("td", {}, said([paper.venue, paper.year].filter((value) => value !== null).join(" ") || "n/a")), cell(paper.pages),
        el("td", {}, badge(paper.outcome === "dropped" ? `dropped by ${paper.dropped}` : paper.outcome === "failed" ? `failed: ${paper.error}` : paper.outcome, paper.outcome),
          paper.duplicate_of !== null && [" same file as ", said(paper.duplicate_of)], paper.message !== null && said(paper.message, "p", "quiet")),
        cell(paper.figures_found), cell(paper.figures_kept), cell(paper.figures_failed))))));
  }

  // ---- failures -----------------------------------------------------------------------------------------------
  function failuresPage() {
    const box = el("div", { class: "stack" }, el("p", { class: "quiet" }, "Loading …"));
    load("failures").then((groups) => box.replaceChildren(...(groups.length ? groups.map(failureGroup) : [el("p", { class: "quiet" }, "Nothing failed.")])),
      (error) => box.replaceChildren(el("p", { class: "note" }, error.message)));
    return [box];
  }
  function failureGroup(group) {
    const list = el("ul", { class: "failures" });
    const more = el("button", { type: "button", class: "button", onclick: () => extend() }, "Show more");
    let shown = 0;
    function extend() {
      list.append(...group.items.slice(shown, shown + ITEMS_SHOWN).map((item) => failureItem(group, item)));
      shown = Math.min(shown + ITEMS_SHOWN, group.items.length);
      more.hidden = shown === group.items.length;
    }
    extend();
    return el("section", { class: "card" }, el("h2", {}, badge(group.class, "failed"), ` ${plural(group.items.length, group.of)} `,
      group.run && el("span", { class: "quiet" }, "in run ", said(group.run))), list, more);
  }
  function failureItem(group, [which, message]) {
    const text = message === null ? el("span", { class: "quiet" }, "no message") : said(message);
    if (group.of === "paper") return el("li", {}, el("a", { href: fresh({ view: "papers", q: papers[which].paper_id }) }, said(papers[which].paper_id)), el("span", { class: "quiet" }, " ", said(papers[which].source)), el("br"), text);
    const figure = figures[which];
    return el("li", {}, figure ? el("a", { href: linked({ figure: figure.id }) }, said(nameOf(figure)), " ", said(figure.paper)) : said(which), el("br"), text);
  }
  const columnHead = ([name, isNumber]) => el("th", { scope: "col", class: isNumber && "number" }, name);
  const scrolling = (table) => el("div", { class: "scroll" }, table);

  // ---- keys ---------------------------------------------------------------------------------------------------
  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches?.("input, select, textarea")) return;
    if (event.key === "/" && !dialog.open) {
      document.querySelector("#filters [name=q]")?.focus();
      event.preventDefault();
    }
    const rel = { ArrowLeft: "prev", ArrowRight: "next" }[event.key];
    if (rel) (dialog.open ? dialog : document).querySelector(`a[rel=${rel}]`)?.click();
  }
})();
