// Moves the bar while a job runs, and says before sending that a file is too large. Every page works without this.
"use strict";

function follow(panel) {
  const events = new EventSource(panel.dataset.events);
  const text = panel.querySelector(".doing");
  const bar = panel.querySelector("progress");
  events.onmessage = (event) => {
    const job = JSON.parse(event.data);
    const words = job.text + (job.ahead ? ` (${job.ahead} before it)` : "");
    if (text.textContent !== words) text.textContent = words;
    if (job.total) {
      bar.max = job.total;
      bar.value = job.done;
    } else {
      bar.removeAttribute("value");
    }
    panel.querySelector(".done").textContent = job.total > 1 ? `${job.done} of ${job.total}` : "";
    panel.querySelector(".left").textContent = job.left;
    // Beside what is read aloud: a number that changes every second would be.
    panel.querySelector(".since").textContent = job.seconds > 1 ? `working on this for ${job.seconds} s` : "";
    if (job.over) {
      events.close();
      window.location.reload();
    }
  };
}

for (const panel of document.querySelectorAll("[data-events]")) follow(panel);

for (const form of document.querySelectorAll("form[data-largest]")) {
  const input = form.querySelector("input[type=file]");
  const problem = form.querySelector(".problem");
  const fits = () => !input.files.length || input.files[0].size <= Number(form.dataset.largest);
  input.addEventListener("change", () => { problem.hidden = fits(); });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    problem.hidden = fits();
    if (fits() && !form.classList.contains("sending")) send(form);
  });
}

// An upload with a bar; what comes back is shown as if the form had been sent without a script.
function send(form) {
  const bar = form.querySelector("progress");
  const sending = (now) => {
    form.classList.toggle("sending", now);
    form.querySelector("button").setAttribute("aria-disabled", String(now));
    form.querySelector(".sent").hidden = !now;
  };
  const request = new XMLHttpRequest();
  request.upload.addEventListener("progress", (event) => {
    bar.max = event.total;
    bar.value = event.loaded;
    form.querySelector(".share").textContent = `${Math.floor((100 * event.loaded) / event.total)} %`;
  });
  request.addEventListener("load", () => {
    if (request.status === 200) {
      window.location.assign(request.responseURL);
      return;
    }
    document.open();
    document.write(request.responseText);
    document.close();
  });
  request.addEventListener("error", () => {
    sending(false);
    form.querySelector(".broken").hidden = false;
  });
  form.querySelector(".broken").hidden = true;
  sending(true);
  request.open("POST", form.action);
  request.send(new FormData(form));
}

// A click anywhere on a header opens the choice of what its column is; a choice that was not checked yet can be seen.
for (const label of document.querySelectorAll(".preview th label")) {
  const select = label.querySelector("select");
  label.addEventListener("click", (event) => {
    if (event.target !== select && select.showPicker) {
      event.preventDefault();
      select.focus();
      select.showPicker();
    }
  });
  const before = select.value;
  select.addEventListener("change", () => label.parentElement.classList.toggle("changed", select.value !== before));
}

// What a method promises follows the values that are set.
for (const card of document.querySelectorAll("[data-promise]")) {
  let asked = 0;
  card.addEventListener("change", async () => {
    const own = ++asked;
    const fields = new URLSearchParams();
    for (const field of card.querySelectorAll("input, select")) {
      if (field.name !== "method" && (field.type !== "checkbox" || field.checked)) fields.append(field.name, field.value);
    }
    const answer = await fetch(`${card.dataset.promise}?${fields}`);
    if (!answer.ok || own !== asked) return;
    const { words, problem } = await answer.json();
    const lines = (problem ? [problem] : words).map((text) => {
      const line = document.createElement("li");
      line.textContent = text;
      if (problem) line.className = "problem";
      return line;
    });
    card.querySelector(".promise").replaceChildren(...lines);
  });
}

if (window.location.search === "?picked") document.getElementById("picked")?.scrollIntoView();

// A mark of the map that was chosen can be made the release: the form below the map is for that mark.
const pick = document.querySelector(".map-pick");
function offer(event) {
  const point = event.target.closest(".point");
  const chosen = document.querySelector(".point.chosen") || point;
  if (!pick || !chosen) return;
  pick.hidden = chosen.classList.contains("refused");
  pick.elements.key.value = chosen.dataset.key;
  pick.querySelector(".label").textContent = chosen.getAttribute("aria-label").split(":")[0];
}
for (const map of document.querySelectorAll(".risk-map")) {
  map.addEventListener("click", offer);
  map.addEventListener("keyup", offer);
}
