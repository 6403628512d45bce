"use strict";
// Sorting, filtering, and links that open what they lead to. Without this script the page shows the same tables, whole and in the suite's order.
const cell = (row, column) => row.cells[column].dataset.v ?? row.cells[column].textContent.trim();

function compare(a, b) {
  const x = parseFloat(a), y = parseFloat(b);
  if (a === "" || b === "") return (a === "") - (b === "");
  return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b, "en", {numeric: true}) : x - y;
}

function sortBy(table, column) {
  const header = table.tHead.rows[0].cells[column];
  const falling = header.getAttribute("aria-sort") === "ascending";
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", falling ? "descending" : "ascending");
  const rows = [...table.tBodies[0].rows].map(row => [cell(row, column), row]);
  rows.sort(([a], [b]) => (falling && a !== "" && b !== "" ? -1 : 1) * compare(a, b));
  table.tBodies[0].append(...rows.map(([, row]) => row));
}

for (const table of document.querySelectorAll("table.sortable")) {
  [...table.tHead.rows[0].cells].forEach((header, column) => {
    if (header.classList.contains("plain")) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...header.childNodes);
    header.append(button);
    button.addEventListener("click", () => sortBy(table, column));
  });
}

for (const form of document.querySelectorAll("form.filters")) {
  const rows = [...document.getElementById(form.dataset.for).tBodies[0].rows];
  const texts = rows.map(row => row.textContent.toLowerCase());
  const selects = [...form.querySelectorAll("select")];
  for (const select of selects) {
    const values = new Set(rows.map(row => cell(row, +select.name)).filter(value => value));
    for (const value of values) select.add(new Option(value));
    select.parentElement.hidden = values.size < 2;
  }
  const apply = () => {
    const words = form.elements.text.value.toLowerCase().split(/\s+/).filter(word => word);
    let shown = 0;
    rows.forEach((row, index) => {
      const fits = words.every(word => texts[index].includes(word))
        && selects.every(select => !select.value || cell(row, +select.name) === select.value);
      row.hidden = !fits;
      shown += fits;
    });
    form.querySelector("output").textContent = `${shown} of ${rows.length} rows`;
  };
  form.addEventListener("input", apply);
  form.addEventListener("submit", event => event.preventDefault());
  form.hidden = false;
  apply();
}

for (const link of document.querySelectorAll('a[href^="#"]')) {
  link.addEventListener("click", () => {
    const part = document.querySelector(`${link.hash} > details`);
    if (part) part.open = true;
  });
}
