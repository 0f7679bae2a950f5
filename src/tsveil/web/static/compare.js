// Limits that move: while a slider or a field changes, the map and the table show what is within them, without asking the server.
// What is then recommended the server says, because it chooses by the same code as the reports. Without this script the form does it.
"use strict";
(() => {
  const form = document.querySelector("form[data-advice]");
  const map = document.querySelector(".risk-map");
  if (!form || !map) return;
  const rows = [...document.querySelectorAll(".tried tbody tr")];
  const points = new Map([...map.querySelectorAll(".point")].map((point) => [point.dataset.key, point]));
  const fitting = form.querySelector(".fitting");
  const verified = form.querySelector("[name=verified][type=checkbox]");
  const sliders = [...form.querySelectorAll("input[type=range]")];
  // What a percentage may be off by rounding, as in the verdict.
  const SAME = 1 + 1e-12;

  // An empty field is no limit; one that cannot be read changes nothing here, and the server says what is wrong with it.
  function limit(name) {
    const text = form.elements[name].value.trim().replace(",", ".");
    return text === "" ? Infinity : Number(text);
  }

  function show() {
    const most = { risk: limit("max_risk"), loss: limit("max_loss") };
    if (Number.isNaN(most.risk) || Number.isNaN(most.loss)) return;
    let count = 0;
    for (const row of rows) {
      const above = Number(row.dataset.high) > most.risk * SAME;
      const lost = Number(row.dataset.loss) > most.loss * SAME;
      const silent = verified.checked && !("verified" in row.dataset);
      const fits = !(above || lost || silent) && "publishable" in row.dataset;
      count += fits;
      row.classList.toggle("outside", !fits);
      points.get(row.dataset.key)?.classList.toggle("outside", !fits);
      const tag = row.querySelector(".above");
      if (tag) tag.hidden = !above;
    }
    fitting.textContent = `${count} of ${rows.length} fit.`;
    for (const name of ["risk", "loss"]) map.dataset[name === "risk" ? "maxRisk" : "maxLoss"] = most[name];
    map.dispatchEvent(new Event("limits"));
  }

  function mark() {
    const best = document.getElementById("advice")?.dataset.best;
    for (const row of rows) {
      const own = Boolean(best) && row.dataset.key === best;
      row.querySelector(".best").hidden = !own;
      points.get(row.dataset.key)?.classList.toggle("best", own);
    }
  }

  let waiting = null;
  let asked = null;
  function ask() {
    clearTimeout(waiting);
    waiting = setTimeout(async () => {
      asked?.abort();
      asked = new AbortController();
      const query = new URLSearchParams(new FormData(form));
      query.delete("csrf");
      try {
        const answer = await fetch(`${form.dataset.advice}?${query}`, { signal: asked.signal });
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        const advice = page.getElementById("advice");
        if (advice) document.getElementById("advice")?.replaceWith(advice);
        mark();
      } catch (error) {
        if (error.name !== "AbortError") fitting.textContent = "The server does not answer: the recommendation above is that of other limits.";
      }
    }, 150);
  }

  for (const slider of sliders) {
    const field = form.elements[slider.dataset.for];
    // The right end is no limit.
    const read = () => {
      slider.value = field.value.trim() === "" ? slider.max : field.value.replace(",", ".");
      slider.setAttribute("aria-valuetext", field.value.trim() === "" ? "no limit" : `${field.value} %`);
    };
    slider.addEventListener("input", () => {
      field.value = Number(slider.value) >= Number(slider.max) ? "" : slider.value;
      read();
      show();
      ask();
    });
    field.addEventListener("input", () => {
      read();
      show();
      ask();
    });
    read();
    slider.hidden = false;
  }
  verified.addEventListener("change", () => {
    show();
    ask();
  });
  show();
  mark();
})();
