// Tooltips, score cards, the keyboard and zooming for risk-utility maps, and sorting for the tables beside them.
// Without it the page still shows the map and the table. It loads nothing and writes nothing.
"use strict";
(() => {
  const NS = "http://www.w3.org/2000/svg";

  function setUp(map) {
    const svg = map.querySelector(".map-drawing");
    const stage = map.querySelector(".map-stage");
    const tip = map.querySelector(".map-tip");
    const frame = map.querySelector(".map-frame");
    const byRisk = (a, b) => a.dataset.risk - b.dataset.risk || a.dataset.loss - b.dataset.loss;
    const points = [...map.querySelectorAll(".point")].sort(byRisk);
    const cards = new Map([...map.querySelectorAll(".map-card")].map((card) => [card.dataset.key, card]));
    const edge = Object.fromEntries(["left", "right", "top", "bottom"].map((side) => [side, Number(map.dataset[side])]));
    const whole = { loss: [0, 100], risk: [0, 100] };
    const front = svg.querySelector(".map-front");
    const pairs = front.dataset.front.split(" ").filter(Boolean).map((pair) => pair.split(",").map(Number));
    let domain = whole;
    const seen = () => points.filter((one) => !one.hasAttribute("hidden") && !one.classList.contains("faded"));
    const stop = (at) => points.forEach((point) => point.setAttribute("tabindex", point === at ? "0" : "-1"));
    // The tab key comes to one mark, always to one that is shown.
    const keepStop = () => stop(seen().find((point) => point.getAttribute("tabindex") === "0") || seen()[0]);
    for (const point of points) point.setAttribute("aria-pressed", "false");
    stop(points[0]);

    // -- tooltip and score card

    function show(point) {
      for (const other of points) other.classList.toggle("near", other === point);
      tip.replaceChildren(cards.get(point.dataset.key).querySelector(".map-brief").cloneNode(true));
      tip.hidden = false;
      const box = stage.getBoundingClientRect();
      const mark = point.getBoundingClientRect();
      const x = mark.left + mark.width / 2 - box.left;
      const y = mark.top + mark.height / 2 - box.top;
      const gap = 16;
      const right = x + gap + tip.offsetWidth <= box.width;
      const left = right ? x + gap : Math.max(0, x - gap - tip.offsetWidth);
      // Where there is no room beside the mark, the tooltip goes above or below it: it must not cover what it explains.
      const beside = right || x - gap - tip.offsetWidth >= 0;
      let top = Math.min(Math.max(0, y - tip.offsetHeight / 2), Math.max(0, box.height - tip.offsetHeight));
      if (!beside) top = y - gap - tip.offsetHeight >= 0 ? y - gap - tip.offsetHeight : y + gap;
      tip.style.left = `${left}px`;
      tip.style.top = `${top}px`;
    }

    function hide() {
      tip.hidden = true;
      for (const point of points) point.classList.remove("near");
    }

    function choose(point) {
      for (const other of points) {
        other.classList.toggle("chosen", other === point);
        other.setAttribute("aria-pressed", String(other === point));
      }
      for (const [key, card] of cards) card.hidden = key !== point.dataset.key;
      map.querySelector(".map-none").hidden = true;
    }

    function walk(point, step) {
      const next = seen()[seen().indexOf(point) + step];
      if (next) next.focus();
    }

    for (const point of points) {
      point.addEventListener("focus", () => {
        stop(point);
        show(point);
      });
      point.addEventListener("blur", hide);
      point.addEventListener("keydown", (event) => {
        const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 };
        if (event.key === "Enter" || event.key === " ") choose(point);
        else if (event.key in steps) walk(point, steps[event.key]);
        else if (event.key === "Escape") hide();
        else return;
        event.preventDefault();
      });
    }

    for (const button of map.querySelectorAll(".map-method")) {
      button.addEventListener("click", () => {
        const pressed = button.getAttribute("aria-pressed") !== "true";
        for (const other of map.querySelectorAll(".map-method")) other.setAttribute("aria-pressed", String(pressed && other === button));
        for (const point of points) point.classList.toggle("faded", pressed && point.dataset.method !== button.dataset.method);
        keepStop();
      });
    }

    // -- the part of the map that is shown

    const across = (loss) => edge.left + ((edge.right - edge.left) * (loss - domain.loss[0])) / (domain.loss[1] - domain.loss[0]);
    const upwards = (risk) => edge.bottom - ((edge.bottom - edge.top) * (risk - domain.risk[0])) / (domain.risk[1] - domain.risk[0]);
    const inside = (value, [low, high]) => value >= low - 1e-9 && value <= high + 1e-9;

    function ticks([low, high]) {
      const rough = (high - low) / 5;
      const power = 10 ** Math.floor(Math.log10(rough));
      const step = [1, 2, 5, 10].map((nice) => nice * power).find((one) => one >= rough * 0.999);
      const digits = Math.max(0, -Math.floor(Math.log10(step)));
      const found = [];
      for (let at = Math.ceil(low / step - 1e-9); at * step <= high + 1e-9; at += 1) found.push([at * step, (at * step).toFixed(digits)]);
      return found;
    }

    function made(name, attributes, text) {
      const element = document.createElementNS(NS, name);
      for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
      if (text) element.textContent = text;
      return element;
    }

    function draw(next) {
      domain = next;
      hide();
      const grid = [];
      for (const [value, text] of ticks(domain.loss)) {
        const x = across(value);
        grid.push(made("path", { class: "map-grid", d: `M${x} ${edge.top}V${edge.bottom}` }));
        grid.push(made("text", { class: "map-tick", x, y: edge.bottom + 20, "text-anchor": "middle" }, text));
      }
      for (const [value, text] of ticks(domain.risk)) {
        const y = upwards(value);
        grid.push(made("path", { class: "map-grid", d: `M${edge.left} ${y}H${edge.right}` }));
        grid.push(made("text", { class: "map-tick", x: edge.left - 9, y: y + 4, "text-anchor": "end" }, text));
      }
      map.querySelector(".map-ticks").replaceChildren(...grid);
      for (const mark of [...points, ...map.querySelectorAll(".map-corner")]) {
        const risk = Number(mark.dataset.risk);
        const loss = "line" in mark.dataset ? domain.loss[0] : Number(mark.dataset.loss);
        mark.toggleAttribute("hidden", !(inside(risk, domain.risk) && inside(loss, domain.loss)));
        mark.setAttribute("transform", `translate(${across(loss)} ${upwards(risk)})`);
      }
      keepStop();
      const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
      let path = "";
      for (const [loss, risk] of pairs) {
        const x = clamp(across(loss), edge.left, edge.right);
        const y = clamp(upwards(risk), edge.top, edge.bottom);
        path += path ? `V${y}H${x}` : `M${x} ${y}`;
      }
      front.setAttribute("d", path);
      drawLimits();
      map.querySelector(".map-whole").hidden = domain === whole;
    }

    // -- limits, on a page that sets them: what is beyond is shaded

    const beyond = map.querySelector(".map-limits");
    function drawLimits() {
      const parts = [];
      const at = { risk: Number(map.dataset.maxRisk), loss: Number(map.dataset.maxLoss) };
      if (inside(at.risk, domain.risk)) {
        const y = upwards(at.risk);
        parts.push(made("rect", { class: "map-beyond", x: edge.left, y: edge.top, width: edge.right - edge.left, height: y - edge.top }));
        parts.push(made("path", { class: "map-limit", d: `M${edge.left} ${y}H${edge.right}` }));
      }
      if (inside(at.loss, domain.loss)) {
        const x = across(at.loss);
        parts.push(made("rect", { class: "map-beyond", x, y: edge.top, width: edge.right - x, height: edge.bottom - edge.top }));
        parts.push(made("path", { class: "map-limit", d: `M${x} ${edge.top}V${edge.bottom}` }));
      }
      beyond.replaceChildren(...parts);
    }
    map.addEventListener("limits", drawLimits);

    function around(values) {
      const low = Math.min(...values);
      const high = Math.max(...values);
      const margin = Math.max((high - low) * 0.08, 0.5);
      return [Math.max(0, low - margin), Math.min(100, high + margin)];
    }

    // The half of the front with less risk is where people look for a release.
    const near = pairs.filter(([, risk]) => risk <= 50);
    const closer = map.querySelector(".map-closer");
    closer.hidden = near.length < 2;
    closer.addEventListener("click", () => draw({ loss: around(near.map(([loss]) => loss)), risk: around(near.map(([, risk]) => risk)) }));
    map.querySelector(".map-whole").addEventListener("click", () => draw(whole));

    // -- the pointer: the nearest mark counts, not the topmost, so that none is out of reach; a frame is dragged

    let start = null;
    const inDrawing = (event) => new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());

    function nearest(event) {
      const at = inDrawing(event);
      const away = (point) => Math.hypot(across(Number(point.dataset.loss)) - at.x, upwards(Number(point.dataset.risk)) - at.y);
      const [best] = seen().map((point) => [away(point), point]).sort((a, b) => a[0] - b[0]);
      // A finger is broader than the tip of a mouse.
      const reach = ((event.pointerType === "mouse" ? 10 : 24) * svg.viewBox.baseVal.width) / svg.getBoundingClientRect().width;
      return best && best[0] <= reach ? best[1] : null;
    }

    function place(event) {
      const at = inDrawing(event);
      return [Math.min(Math.max(at.x, edge.left), edge.right), Math.min(Math.max(at.y, edge.top), edge.bottom)];
    }
    svg.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "mouse" && event.button === 0 && !nearest(event)) {
        start = place(event);
        svg.setPointerCapture(event.pointerId);
        event.preventDefault();
      }
    });
    svg.addEventListener("pointermove", (event) => {
      if (!start) {
        const point = nearest(event);
        svg.classList.toggle("pointing", Boolean(point));
        if (point) show(point);
        else hide();
        return;
      }
      const [x, y] = place(event);
      frame.removeAttribute("hidden");
      frame.setAttribute("x", Math.min(x, start[0]));
      frame.setAttribute("y", Math.min(y, start[1]));
      frame.setAttribute("width", Math.abs(x - start[0]));
      frame.setAttribute("height", Math.abs(y - start[1]));
    });
    svg.addEventListener("pointerup", (event) => {
      if (!start) return;
      const [x, y] = place(event);
      const [x0, y0] = start;
      start = null;
      frame.setAttribute("hidden", "");
      if (Math.abs(x - x0) < 12 || Math.abs(y - y0) < 12) return;
      const loss = (at) => domain.loss[0] + ((at - edge.left) / (edge.right - edge.left)) * (domain.loss[1] - domain.loss[0]);
      const risk = (at) => domain.risk[0] + ((edge.bottom - at) / (edge.bottom - edge.top)) * (domain.risk[1] - domain.risk[0]);
      draw({ loss: [loss(Math.min(x, x0)), loss(Math.max(x, x0))], risk: [risk(Math.max(y, y0)), risk(Math.min(y, y0))] });
    });
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("click", (event) => {
      const point = nearest(event);
      if (!point) return;
      choose(point);
      show(point);
    });
    svg.addEventListener("pointercancel", () => {
      start = null;
      frame.setAttribute("hidden", "");
    });
  }

  function setUpSorting(table) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      if ("unsorted" in head.dataset) return;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const value = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
        const compare = (a, b) => value(a).localeCompare(value(b), "en", { numeric: true });
        const rows = [...table.tBodies[0].rows].sort((a, b) => (down ? compare(b, a) : compare(a, b)));
        table.tBodies[0].append(...rows);
      });
    });
  }

  document.querySelectorAll(".risk-map").forEach(setUp);
  document.querySelectorAll("table.sortable").forEach(setUpSorting);
})();
