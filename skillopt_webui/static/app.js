// The frame: theme, pushes, and forms whose values are checked while they are typed. No page needs it to be read.
"use strict";
const root = document.documentElement;
const kept = localStorage.getItem("theme");
if (kept) root.classList.add(kept);
document.getElementById("theme")?.addEventListener("click", () => {
  const dark = root.classList.contains("dark") ||
    (!root.classList.contains("light") && matchMedia("(prefers-color-scheme: dark)").matches);
  root.classList.remove("dark", "light");
  root.classList.add(dark ? "light" : "dark");
  localStorage.setItem("theme", dark ? "light" : "dark");
});

// Put fresh copies in the place of every element that is live; what is open stays open, and focus stays where it is.
function swap(fresh) {
  for (const old of document.querySelectorAll("[data-live][id]")) {
    const made = fresh.getElementById(old.id);
    if (!made || made.isEqualNode(old)) continue;
    const open = new Set([...old.querySelectorAll("details[open][id]")].map((d) => d.id));
    const focused = old.contains(document.activeElement) ? document.activeElement.id : "";
    made.querySelectorAll("details[id]").forEach((d) => { if (open.has(d.id)) d.open = true; });
    old.replaceWith(made);
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
    made.dispatchEvent(new CustomEvent("swapped", { bubbles: true }));
  }
}

let busy = false, again = false;
async function refresh() {
  if (busy) { again = true; return; }
  busy = true;
  try {
    const answer = await fetch(location.href, { headers: { "x-part": "live" } });
    if (answer.ok) swap(new DOMParser().parseFromString(await answer.text(), "text/html"));
  } catch { /* the stream says when the server is back */ }
  busy = false;
  if (again) { again = false; refresh(); }
}

function listen(address) {
  const stream = new EventSource(address);
  let lost = false;
  stream.addEventListener("parts", (event) => {
    for (const [id, html] of Object.entries(JSON.parse(event.data))) {
      const place = document.getElementById(id);
      if (place) place.innerHTML = html;
    }
    document.dispatchEvent(new CustomEvent("parts"));
  });
  stream.addEventListener("changed", () => { if (document.querySelector("[data-live][id]")) refresh(); });
  stream.addEventListener("open", () => { root.classList.remove("offline"); if (lost) refresh(); lost = false; });
  stream.addEventListener("error", () => { lost = true; root.classList.add("offline"); });
  addEventListener("pagehide", () => stream.close());
}
const run = document.body.dataset.run;
if (run) listen(`/run/${run}/live`);
else if (document.body.dataset.listen) listen(document.body.dataset.listen);
