"use strict";
// Asks the server for numbers and rankings every two seconds, for charts less often, and says so when it is gone.

const NUMBERS_EVERY = 2000, CHARTS_EVERY = 5000, CHART_WIDTH = 500;
const find = (id) => document.getElementById(id);
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const state = { policy: null, answered: null, groups: [], attributes: [], charts: {}, drawn: new Map(), timer: 0 };

async function ask(path) {
  const key = sessionStorage.getItem("fairexp-key");
  const answer = await fetch(path, { headers: key ? { Authorization: `Bearer ${key}` } : {}, cache: "no-store" });
  if (answer.status === 401 || answer.status === 403) throw Object.assign(new Error("key"), { key: true });
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.error ? body.error.message : `the server answered ${answer.status}`);
  return body;
}

function element(name, text, attributes = {}) {
  const made = document.createElement(name);
  if (text !== undefined && text !== null) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function row(cells) {
  const made = element("tr");
  made.append(...cells.map((cell) => element("td", cell)));
  return made;
}

function say(text, gone = false) {
  find("status").textContent = text;
  find("status").classList.toggle("gone", gone);
}

async function refresh() {
  try {
    await choosePolicy();
    if (state.policy) await showPolicy();
    state.answered = new Date();
    find("key-form").hidden = true;
    say(`Live · ${state.answered.toLocaleTimeString()}`);
  } catch (problem) {
    trouble(problem);
  } finally {
    clearTimeout(state.timer);
    state.timer = setTimeout(refresh, NUMBERS_EVERY);
  }
}

function trouble(problem) {
  if (problem.key) {
    find("main").hidden = true;
    find("key-form").hidden = false;
    find("key-problem").textContent = sessionStorage.getItem("fairexp-key") ? "The server does not accept this key." : "";
    say("A key is needed");
    return;
  }
  const since = state.answered ? `since ${state.answered.toLocaleTimeString()}; what you see is from then` : "yet";
  say(problem instanceof TypeError ? `The server does not answer ${since}` : problem.message, true);
}

async function choosePolicy() {
  const { policies } = await ask("/v1/policies");
  const names = policies.map((each) => each.policy);
  const select = find("policy");
  if ([...select.options].map((option) => option.value).join() !== names.join()) {
    select.replaceChildren(...names.map((name) => element("option", name, { value: name })));
  }
  const wanted = decodeURIComponent(location.hash.slice(1));
  state.policy = names.includes(state.policy) ? state.policy : names.includes(wanted) ? wanted : names[0] || null;
  select.value = state.policy || "";
  find("main").hidden = false;
  if (!state.policy) nothingYet("There is no policy yet. Declare one with PUT /v1/policies/NAME or `fairexp serve --policies FILE`.");
}

function nothingYet(text) {
  find("empty").textContent = text;
  find("empty").hidden = !text;
  for (const section of document.querySelectorAll("main section")) section.hidden = Boolean(text);
  find("numbers").hidden = Boolean(text);
}

async function showPolicy() {
  const base = `/v1/policies/${encodeURIComponent(state.policy)}`;
  const [policy, fairness, rankings] = await Promise.all([ask(base), ask(`${base}/fairness?points=1`), ask(`${base}/rankings?limit=12`)]);
  if (!policy.rounds) return nothingYet(`${state.policy} has not ranked anything yet. Rank something, and it appears here.`);
  nothingYet("");
  const first = policy.spec.constraints[0];
  state.groups = fairness.groups.map((each) => each.group);
  state.attributes = first ? Object.keys(first.labels) : [];
  showNumbers(policy, fairness);
  showLedger(fairness.constraints);
  for (const ranking of rankings.rankings) for (const item of ranking.items) item.group = firstGroup(item.group);
  showRankings(rankings.rankings);
  showWeights(policy.theta);
  showCharts(base);
}

// Rankings are coloured by the first constraint; a candidate may have a label for each of several attributes.
function firstGroup(group) {
  return group && typeof group === "object" ? state.attributes.map((name) => group[name]).join(" x ") : group;
}

const decimals = (value) => (value === null || value === undefined ? "–" : value.toFixed(3));
const yesNo = (met) => (met === null || met === undefined ? "–" : met ? "yes" : "no");

function showLedger(constraints) {
  find("ledger").hidden = !constraints.length;
  const rows = constraints.flatMap((each) => each.groups.map((group, place) => {
    const own = [group.group, decimals(group.share), group.exposure.toFixed(1)];
    if (place) return row(["", ...own, "", "", ""]);
    const met = each.met_share === null ? "–" : `${(100 * each.met_share).toFixed(1)} %`;
    return row([each.constraint, ...own, decimals(each.largest_gap), each.tolerance ?? "none", met]);
  }));
  find("constraints").tBodies[0].replaceChildren(...rows);
}

function showNumbers(policy, fairness) {
  const several = fairness.constraints.length > 1;
  const shown = fairness.clicks_by_position.reduce((sum, each) => sum + each.shown, 0);
  const clicks = fairness.clicks_by_position.reduce((sum, each) => sum + each.clicks, 0);
  const entries = [
    ["rankings", policy.rounds.toLocaleString()],
    ["updates learned", policy.updates.toLocaleString()],
    ["click rate", shown ? `${((100 * clicks) / shown).toFixed(1)} %` : "–"],
    ...(several ? [] : [
      ["exposure gap now", decimals(fairness.largest_gap)],
      ["tolerance", fairness.tolerance === null ? "none" : String(fairness.tolerance)],
    ]),
    [several ? "all constraints met" : "within tolerance", fairness.qualified_share === null ? "–" : `${(100 * fairness.qualified_share).toFixed(1)} %`],
    ["added regret", fairness.added_regret.toLocaleString()],
    ["median time to rank", policy.latency ? `${policy.latency.median_ms.toFixed(1)} ms` : "–"],
  ];
  find("numbers").replaceChildren(...entries.map(([term, value]) => {
    const made = element("div");
    made.append(element("dt", term), element("dd", value));
    return made;
  }));
}

function showRankings(rankings) {
  const legend = state.groups.map((name) => {
    const made = element("span", name), colour = element("i");
    colour.style.background = groupColour(state.groups, name);
    made.prepend(colour);
    return made;
  });
  find("legend").replaceChildren(...legend, element("span", "line: one block, no order certain inside"), element("span", "arrow: moved for fairness, from where it was drawn"), element("span", "✓ clicked"));
  const list = find("rankings"), known = new Map([...list.children].map((item) => [item.dataset.ranking, item]));
  const columns = getComputedStyle(list).gridTemplateColumns.split(" ");
  const width = Math.floor(parseFloat(columns[0]) || list.clientWidth);
  const wanted = rankings.map((ranking) => {
    const looks = JSON.stringify([ranking, state.groups, width]), old = known.get(ranking.ranking_id);
    return old && old.looks === looks ? old : rankingItem(ranking, looks, width, old);
  });
  // What is there already is not touched, so that focus stays where it is and nothing flickers.
  for (const item of [...list.children]) if (!wanted.includes(item)) item.remove();
  wanted.forEach((item, place) => {
    if (list.children[place] !== item) list.insertBefore(item, list.children[place] || null);
  });
}

function rankingItem(ranking, looks, width, old) {
  const item = old || element("li", null, { "data-ranking": ranking.ranking_id });
  const button = item.firstChild || element("button", null, { type: "button" });
  button.replaceChildren(element("span", inWords(ranking), { class: "about" }), drawRanking(ranking, state.groups, width));
  button.onclick = () => explain(ranking.ranking_id);
  if (!item.firstChild) item.append(button);
  item.looks = looks;
  return item;
}

function showWeights(theta) {
  const rows = theta ? theta.largest.map((each) => row([each.feature, each.weight.toFixed(4)])) : [row(["this ranker has no linear model", ""])];
  find("weights").tBodies[0].replaceChildren(...rows);
}

async function showCharts(base) {
  const now = Date.now(), theme = dark.matches ? "dark" : "light";
  const same = state.charts.policy === state.policy && state.charts.theme === theme;
  if (same && now - state.charts.at < CHARTS_EVERY) return;
  state.charts = { policy: state.policy, theme, at: now };
  const { charts } = await ask(`${base}/charts?theme=${theme}`);
  for (const old of [...find("charts").children]) if (!(old.id.slice(6) in charts)) removeChart(old);
  for (const [name, spec] of Object.entries(charts)) await showChart(name, spec);
}

function removeChart(figure) {
  state.drawn.get(figure.id)?.result.finalize();
  state.drawn.delete(figure.id);
  figure.remove();
}

// Drawn aside and put in place when ready: the old picture stays until then.
async function showChart(name, spec) {
  const id = `chart-${name}`, text = JSON.stringify(spec);
  if (state.drawn.get(id)?.text === text) return;
  if (!find(id)) find("charts").append(element("figure", null, { id }));
  const aside = element("div"), result = await vegaEmbed(aside, spec, { renderer: "svg", actions: false, ast: true });
  const figure = find(id);
  if (!figure) return result.finalize();
  widen(aside.querySelector("svg"));
  figure.replaceChildren(aside);
  state.drawn.get(id)?.result.finalize();
  state.drawn.set(id, { text, result });
}

// All charts take the same width before they are shrunk to fit, so that all have letters of one size.
function widen(svg) {
  const width = Math.max(svg.viewBox.baseVal.width, CHART_WIDTH);
  svg.setAttribute("viewBox", `0 0 ${width} ${svg.viewBox.baseVal.height}`);
  svg.setAttribute("width", width);
}

function constraintRow(each) {
  const [name, amount] = Object.entries(each.lacking).sort((one, two) => two[1] - one[1])[0] || ["nobody", 0];
  const lacked = amount ? `${name} (${decimals(amount)})` : name;
  const gaps = [decimals(each.ledger.before.largest_gap), decimals(each.gap)];
  return row([each.constraint, lacked, ...gaps, each.tolerance ?? "none", yesNo(each.met)]);
}

async function explain(rankingId) {
  try {
    const told = await ask(`/v1/policies/${encodeURIComponent(state.policy)}/rankings/${rankingId}`);
    find("why-title").textContent = `Why this order for ${told.query_id || "this query"}?`;
    find("why-when").textContent = new Date(1000 * told.at).toLocaleString();
    find("why-words").replaceChildren(...told.explanation.summary.map((line) => element("li", line)));
    find("why-constraints").tBodies[0].replaceChildren(...told.explanation.constraints.map(constraintRow));
    find("why-constraints").hidden = !told.explanation.constraints.length;
    const group = (item) => (item.group && typeof item.group === "object" ? Object.values(item.group).join(", ") : item.group ?? "–");
    const rows = told.items.map((item) => row([item.position, item.id, group(item), item.score.toFixed(4), item.block + 1, item.clicked ? "✓" : ""]));
    find("why-items").tBodies[0].replaceChildren(...rows);
    find("why").showModal();
  } catch (problem) {
    trouble(problem);
  }
}

find("policy").addEventListener("change", (event) => {
  state.policy = event.target.value;
  location.hash = encodeURIComponent(state.policy);
  refresh();
});
find("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("fairexp-key", find("key").value.trim());
  refresh();
});
dark.addEventListener("change", refresh);
window.addEventListener("resize", () => {
  clearTimeout(state.timer);
  state.timer = setTimeout(refresh, 200);
});
refresh();
