"use strict";
// Asks the server for numbers and rankings every two seconds, for charts less often, and says so when it is gone.

const NUMBERS_EVERY = 2000, CHARTS_EVERY = 5000, CHART_HEIGHT = 230;
const find = (id) => document.getElementById(id);
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const state = { policy: null, answered: null, groups: [], attributes: [], charts: {}, drawn: new Map(), timer: 0, range: "", wanted: "" };

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
  const [policy, fairness, rankings] = await Promise.all([ask(base), ask(`${base}/fairness?points=1&${state.range}`), findRankings(base)]);
  if (!policy.rounds) return nothingYet(`${state.policy} has not ranked anything yet. Rank something, and it appears here.`);
  nothingYet("");
  const first = policy.spec.constraints[0];
  state.groups = fairness.groups.map((each) => each.group);
  state.attributes = first ? Object.keys(first.labels) : [];
  showStory(policy, fairness);
  showNumbers(policy, fairness);
  showLedger(fairness.constraints);
  for (const ranking of rankings) for (const item of ranking.items) item.group = firstGroup(item.group);
  showRankings(rankings);
  showWeights(policy.theta);
  showCharts(base);
}

// Rankings are coloured by the first constraint; a candidate may have a label for each of several attributes.
function firstGroup(group) {
  return group && typeof group === "object" ? state.attributes.map((name) => group[name]).join(" x ") : group;
}

// The latest rankings, or those of the query that is looked for, or the one of that id.
async function findRankings(base) {
  const wanted = state.wanted;
  if (!wanted) return (await ask(`${base}/rankings?limit=12`)).rankings;
  const ofQuery = (await ask(`${base}/rankings?limit=12&query_id=${encodeURIComponent(wanted)}`)).rankings;
  let found = ofQuery;
  if (!found.length) {
    try {
      const one = await ask(`${base}/rankings/${encodeURIComponent(wanted)}`);
      found = [{ ...one, moved: one.explanation.moved }];
    } catch (problem) {
      if (problem.key || problem instanceof TypeError) throw problem;
    }
  }
  const what = ofQuery.length ? `latest rankings of the query ${wanted}` : "the ranking of this id";
  find("found").textContent = found.length ? what : `No query or ranking is called ${wanted}, or its record has expired.`;
  return found;
}

const decimals = (value) => (value === null || value === undefined ? "–" : value.toFixed(3));
const percent = (part, digits = 1) => (part === null || Number.isNaN(part) ? "–" : `${(100 * part).toFixed(digits)} %`);
const yesNo = (met) => (met === null || met === undefined ? "–" : met ? "yes" : "no");
const sum = (values) => values.reduce((total, value) => total + value, 0);

// Each number of groups as a part of their sum; nothing while that is 0.
function parts(groups, name) {
  const total = sum(groups.map((group) => group[name] ?? 0));
  return groups.map((group) => (total > 0 ? group[name] / total : null));
}

function showStory(policy, fairness) {
  const name = policy.policy, [first] = fairness.constraints;
  let text = `${name} orders search results and learns from clicks which ones people want`;
  if (!first) text += ". It knows no groups, so it keeps nothing fair.";
  else {
    const names = first.groups.map((group) => group.group), several = fairness.constraints.length > 1;
    const groups = names.length < 5 ? names.join(names.length === 2 ? " and " : ", ") : `${names.length} groups`;
    if (first.tolerance === null) text += `. It counts what attention ${groups} get, and holds to no limit between them.`;
    else text += `, and gives ${groups}${several ? ` (by ${first.constraint}, and ${fairness.constraints.length - 1} more)` : ""} attention by their shares.`;
    if (first.largest_gap_as_drawn !== null) {
      text += ` The gap between them is ${decimals(first.largest_gap)} now, where ${first.tolerance} is allowed; with the ranker's own order shown each time it would be ${first.largest_gap_as_drawn.toFixed(1)}.`;
    }
  }
  find("story").textContent = text;
}

function showLedger(constraints) {
  find("ledger").hidden = !constraints.length;
  const rows = constraints.flatMap((each) => {
    const owed = parts(each.groups, "share"), had = parts(each.groups, "exposure"), would = parts(each.groups, "exposure_as_drawn");
    return each.groups.map((group, place) => {
      const own = [owed, had, would].map((column) => percent(column[place]));
      const met = each.met_share === null ? "–" : percent(each.met_share);
      const gaps = [decimals(each.largest_gap), decimals(each.largest_gap_as_drawn), String(each.tolerance ?? "none"), met];
      const made = row([place ? "" : each.constraint, group.group, ...own, ...(place ? ["", "", "", ""] : gaps)]);
      if (each === constraints[0]) made.children[1].prepend(swatch(group.group));
      return made;
    });
  });
  find("constraints").tBodies[0].replaceChildren(...rows);
}

function swatch(name) {
  const colour = element("i", null, { class: "swatch" });
  colour.style.background = groupColour(state.groups, name);
  return colour;
}

// How much running totals grew in the range.
function grown(history, name) {
  return history[name].length ? history[name].at(-1) - history.before[name] : 0;
}

function showNumbers(policy, fairness) {
  const { history } = fairness, several = fairness.constraints.length > 1, fair = fairness.tolerance !== null;
  const rankings = grown(history, "round"), each = (name) => (rankings ? grown(history, name) / rankings : null);
  const expected = grown(history, "expected_clicks_as_drawn");
  const entries = [
    ["rankings", rankings.toLocaleString()],
    ["clicks", rankings ? each("clicks").toFixed(2) : "–"],
    ...(several || fairness.largest_gap === null ? [] : [["gap", decimals(fairness.largest_gap)]]),
    ...(several || fairness.largest_gap_as_drawn === null ? [] : [["drawnGap", decimals(fairness.largest_gap_as_drawn)]]),
    ...(fair ? [["within", percent(each("qualified"))], ["reversed", rankings ? each("added_regret").toFixed(2) : "–"]] : []),
    ...(fairness.expected_clicks === null ? [] : [["cost", expected > 0 ? percent(1 - grown(history, "expected_clicks") / expected) : "–"]]),
    ["time", policy.latency ? `${policy.latency.median_ms.toFixed(1)} ms` : "–"],
  ];
  const list = find("numbers"), shown = [...list.children].map((made) => made.dataset.word);
  if (shown.join() !== entries.map(([key]) => key).join()) list.replaceChildren(...entries.map(([key]) => number(key)));
  entries.forEach(([, value], place) => { list.children[place].lastChild.textContent = value; });
}

function number(key) {
  const made = element("div", null, { "data-word": key }), word = element("dt");
  word.append(term(key));
  made.append(word, element("dd"));
  return made;
}

function showRankings(rankings) {
  const legend = state.groups.map((name) => {
    const made = element("span", name);
    made.prepend(swatch(name));
    return made;
  });
  find("legend").replaceChildren(...legend, element("span", "underlined together: the ranker was not sure of their order"), element("span", "arrow: moved up for fairness, from where it was drawn"), element("span", "✓ clicked"));
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
  const about = element("span", inWords(ranking), { class: "about" });
  button.replaceChildren(about, drawRanking(ranking, state.groups, width - 26), element("span", "Why this order?", { class: "ask" }));
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
  const now = Date.now(), theme = dark.matches ? "dark" : "light", { policy, range } = state;
  const width = document.documentElement.clientWidth;
  const same = ["policy", "theme", "range", "width"].every((name) => state.charts[name] === { policy, theme, range, width }[name]);
  if (same && now - state.charts.at < CHARTS_EVERY) return;
  state.charts = { policy, theme, range, width, at: now };
  const { charts } = await ask(`${base}/charts?theme=${theme}&${range}`);
  if (state.range !== range || state.policy !== policy) return;
  for (const old of [...find("charts").children]) if (!(old.id.slice(6) in charts)) removeChart(old);
  for (const name of Object.keys(charts)) if (!find(`chart-${name}`)) find("charts").append(figure(name));
  for (const [name, spec] of Object.entries(charts)) await showChart(name, spec);
}

function figure(name) {
  const made = element("figure", null, { id: `chart-${name}` }), caption = element("figcaption"), heading = element("h3");
  caption.append(heading, defined("?", "", "what"), element("p"));
  made.append(caption, element("div"));
  return made;
}

function removeChart(gone) {
  state.drawn.get(gone.id)?.result.finalize();
  state.drawn.delete(gone.id);
  gone.remove();
}

// Drawn aside and put in place when ready: the old picture stays until then. All are of one height, as wide as there is room.
async function showChart(name, { title, usermeta, ...spec }) {
  const id = `chart-${name}`, place = find(id);
  if (!place) return;
  const sized = { ...spec, width: Math.floor(place.clientWidth), height: CHART_HEIGHT, autosize: { type: "fit", contains: "padding" } };
  const text = JSON.stringify([title, sized]);
  if (state.drawn.get(id)?.text === text) return;
  const [heading, what, about] = place.firstChild.children;
  heading.textContent = title.text;
  about.textContent = title.subtitle;
  what.dataset.definition = usermeta.definition;
  what.setAttribute("aria-label", `What is ${title.text}?`);
  const aside = element("div", null, { role: "img", "aria-label": `${title.text}: ${title.subtitle}` });
  const result = await vegaEmbed(aside, sized, { renderer: "svg", actions: false, ast: true });
  if (!find(id)) return result.finalize();
  place.lastChild.replaceWith(aside);
  state.drawn.get(id)?.result.finalize();
  state.drawn.set(id, { text, result });
}

function constraintRow(each) {
  const [name, amount] = Object.entries(each.lacking).sort((one, two) => two[1] - one[1])[0] || ["nobody", 0];
  const lacked = amount ? `${name} (${decimals(amount)})` : name;
  const gaps = [decimals(each.ledger.before.largest_gap), decimals(each.gap)];
  return row([each.constraint, lacked, ...gaps, each.tolerance ?? "none", yesNo(each.met)]);
}

// Features by name, with what each adds to the score.
function countsMost(item) {
  if (!item.contributions) return "–";
  const told = item.contributions.filter((each) => Math.abs(each.contribution) >= 0.005).slice(0, 3);
  return told.map((each) => `${each.feature} ${each.contribution < 0 ? "−" : "+"}${Math.abs(each.contribution).toFixed(2)}`).join(", ") || "nothing yet";
}

async function explain(rankingId) {
  try {
    const told = await ask(`/v1/policies/${encodeURIComponent(state.policy)}/rankings/${rankingId}`);
    find("why-title").textContent = `Why this order for ${told.query_id || "this query"}?`;
    find("why-when").textContent = `${new Date(1000 * told.at).toLocaleString()} · ranking ${told.ranking_id}`;
    find("why-words").replaceChildren(...told.explanation.summary.map((line) => element("li", line)));
    find("why-constraints").tBodies[0].replaceChildren(...told.explanation.constraints.map(constraintRow));
    find("why-constraints").hidden = !told.explanation.constraints.length;
    const group = (item) => (item.group && typeof item.group === "object" ? Object.values(item.group).join(", ") : item.group ?? "–");
    const rows = told.items.map((item) => {
      const drawn = item.drawn_at === null ? "–" : item.drawn_at === item.position ? `${item.drawn_at}` : `${item.drawn_at} ${item.drawn_at > item.position ? "↑" : "↓"}`;
      return row([item.position, drawn, item.id, group(item), item.score.toFixed(3), countsMost(item), item.clicked ? "✓" : ""]);
    });
    find("why-items").tBodies[0].replaceChildren(...rows);
    find("why").showModal();
  } catch (problem) {
    trouble(problem);
  }
}

for (const head of document.querySelectorAll("[data-term]")) head.append(term(head.dataset.term));
find("range").addEventListener("change", (event) => {
  state.range = event.target.value;
  refresh();
});
function look(wanted) {
  state.wanted = wanted;
  find("wanted").value = wanted;
  find("latest").hidden = !wanted;
  find("found").textContent = "";
  find("rankings-title").textContent = wanted ? "Rankings found" : "Latest rankings";
  refresh();
}
find("search").addEventListener("submit", (event) => {
  event.preventDefault();
  look(find("wanted").value.trim());
});
find("latest").addEventListener("click", () => look(""));
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
