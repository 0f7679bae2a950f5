// Reads off the values of a curve: at the pointer, or with the arrow keys. The table below the curve has them for everybody.
"use strict";
(() => {
  for (const box of document.querySelectorAll(".curve")) {
    const svg = box.querySelector("svg");
    const cursor = svg.querySelector(".cursor");
    const reading = box.querySelector(".reading");
    let details = box.nextElementSibling;
    while (details && details.tagName !== "DETAILS") details = details.nextElementSibling;
    const heads = [...details.querySelectorAll("thead th")].map((head) => head.textContent.toLowerCase());
    const rows = [...details.querySelectorAll("tbody tr")];
    let at = -1;

    function read(next) {
      at = Math.min(Math.max(next, 0), rows.length - 1);
      const cells = [...rows[at].cells].map((cell) => cell.textContent);
      cursor.removeAttribute("hidden");
      cursor.setAttribute("transform", `translate(${rows[at].dataset.x} 0)`);
      reading.textContent = `${cells[0]}: ${cells.slice(1).map((value, place) => `${heads[place + 1]} ${value}`).join(", ")}`;
    }

    svg.addEventListener("pointermove", (event) => {
      const x = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse()).x;
      const away = rows.map((row) => Math.abs(Number(row.dataset.x) - x));
      read(away.indexOf(Math.min(...away)));
    });
    svg.addEventListener("keydown", (event) => {
      const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 };
      if (!(event.key in steps)) return;
      event.preventDefault();
      read(at + steps[event.key]);
    });
  }
})();
