"use strict";
// Words that need a definition, and where it appears: on hover, on focus and on touch; Escape puts it away.

const WORDS = {
  rankings: ["rankings", "Lists that were shown in this range, one for each search."],
  clicks: ["clicks per ranking", "Clicks that came back in this range, for each list that was shown."],
  share: ["owed", "The part of all attention that the group is to get: its share among all groups. Attention (exposure) is how often a position is looked at."],
  had: ["got", "The part of all attention that the group's candidates got, since the beginning."],
  would: ["without fairness", "The part it would have got had the ranker's own order been shown each time. An approximation: with other lists shown, the ranker would have learned from other clicks."],
  gap: ["gap now", "How far the groups are from having had attention in proportion to their shares: the largest difference between two of them. 1 is the attention that the top position gets once."],
  drawnGap: ["gap without fairness", "What the gap would be now had the ranker's own order been shown each time. An approximation: with other lists shown, the ranker would have learned from other clicks."],
  tolerance: ["tolerance", "The largest gap that this policy allows. Of all orders that keep it, the one is shown that least goes against what the ranker is sure of."],
  within: ["within tolerance", "The part of the rankings after which the gap was no larger than the tolerance. Where a query's candidates do not allow that, the least unfair list is shown, and later ones make up for it."],
  cost: ["clicks given up", "What fairness cost in this range: the clicks that the model expected of the ranker's own order, less those of the list shown, as a part of the former. Positions count by the policy's curve, candidates by their scores. As a rule the estimate is too low."],
  reversed: ["sure orders reversed", "For each ranking in this range, pairs of candidates that stand against an order that the ranker was sure of, because fairness asked for it. Less sure orders count by how probable they are."],
  time: ["median time to rank", "Half of the latest rankings took less than this, inside the server."],
  drawn: ["drawn at", "Where the ranker's own order had it, before fairness and pins."],
  score: ["score", "How good the ranker thought this candidate when it was shown: higher is better. It still tries others, to learn."],
  counts: ["what counts most", "What its features add to its score by what the ranker has learned until now, compared with a typical candidate; the largest first. The score is of the time of the ranking, so that the two may differ."],
};

function term(key) {
  const [word, definition] = WORDS[key];
  return defined(word, definition);
}

function defined(word, definition, name = "term") {
  const made = element("button", word, { type: "button", class: name, "data-definition": definition });
  if (name !== "term") made.setAttribute("aria-label", "What is this?");
  return made;
}

function tell(button) {
  const box = find("definition"), { left, bottom, top } = button.getBoundingClientRect();
  box.textContent = button.dataset.definition;
  button.setAttribute("aria-describedby", "definition");
  if (!box.matches(":popover-open")) box.showPopover();
  const room = document.documentElement.clientWidth - box.offsetWidth - 8;
  box.style.left = `${Math.max(8, Math.min(left, room))}px`;
  const below = bottom + 6 + box.offsetHeight <= window.innerHeight;
  box.style.top = `${below ? bottom + 6 : Math.max(8, top - 6 - box.offsetHeight)}px`;
}

function hush() {
  const box = find("definition");
  if (box.matches(":popover-open")) box.hidePopover();
}

for (const [event, act] of [["focusin", tell], ["mouseover", tell], ["click", tell], ["focusout", hush], ["mouseout", hush]]) {
  document.addEventListener(event, ({ target }) => {
    const button = target.closest?.("[data-definition]");
    if (button) act(button);
  });
}
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !find("definition").matches(":popover-open")) return;
  event.preventDefault();  // the dialog stays open: first the definition goes
  hush();
});
// It goes along with what has the focus, and away from what has not.
document.addEventListener("scroll", () => {
  if (!find("definition").matches(":popover-open")) return;
  if (document.activeElement.matches("[data-definition]")) tell(document.activeElement);
  else hush();
}, { capture: true, passive: true });
