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

// What a field held before anybody typed or chose.
const given = (f) => f.options ? ([...f.options].find((o) => o.defaultSelected) ?? f.options[0])?.value ?? "" : f.defaultValue;
// Put fresh copies in the place of every element that is live; what is open stays open, and what was typed and the focus
// stay where they are.
function swap(fresh) {
  for (const old of document.querySelectorAll("[data-live][id]")) {
    const made = fresh.getElementById(old.id);
    if (!made || made.isEqualNode(old)) continue;
    const open = new Set([...old.querySelectorAll("details[open][id]")].map((d) => d.id));
    const focused = old.contains(document.activeElement) ? document.activeElement.id : "";
    const [were, are] = [old, made].map((e) => [...e.querySelectorAll("input:not([type=hidden], [type=radio]), select, textarea")]);
    const at = were.indexOf(document.activeElement), same = were.every((f, n) => f.name === are[n]?.name);
    if (same) were.forEach((f, n) => { if (f.value !== given(f)) are[n].value = f.value; });
    made.querySelectorAll("details[id]").forEach((d) => { if (open.has(d.id)) d.open = true; });
    old.replaceWith(made);
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
    else if (same && at >= 0) are[at].focus({ preventScroll: true });
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

// A browser keeps six connections to one server for all its tabs: a page that nobody sees gives its own back, and catches
// up when it is seen again.
function listen(address) {
  let stream = null, lost = false;
  const begin = () => {
    stream = new EventSource(address);
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
  };
  const end = () => { stream?.close(); stream = null; lost = true; };
  const follow = () => { if (document.hidden) end(); else if (!stream) begin(); };
  follow();
  document.addEventListener("visibilitychange", follow);
  addEventListener("pageshow", follow);
  addEventListener("pagehide", end);
}
const run = document.body.dataset.run;
if (run) listen(`/run/${run}/live?at=${encodeURIComponent(document.body.dataset.mark)}`);
else if (document.body.dataset.listen) listen(document.body.dataset.listen);

// The log's filter.
const kind = document.getElementById("log-kind"), holds = document.getElementById("log-text");
function filterLog() {
  if (!kind) return;
  let shown = 0;
  const words = holds.value.toLowerCase();
  for (const line of document.querySelectorAll("#live-log li[data-kind]")) {
    line.hidden = (kind.value && line.dataset.kind !== kind.value) || !line.textContent.toLowerCase().includes(words);
    shown += !line.hidden;
  }
  document.getElementById("log-count").textContent = kind.value || words ? `${shown} lines` : "";
}
kind?.addEventListener("change", filterLog);
holds?.addEventListener("input", filterLog);
document.addEventListener("parts", filterLog);

// Controls of a configuration: what was moved is marked and checked; what was not is not sent.
const configure = document.getElementById("configure");
if (configure) {
  const fields = [...configure.querySelectorAll("[data-shown]")];
  const before = [...configure.querySelectorAll("input[name=set]")].map((e) => e.value);
  const moved = (field) => field.value.trim() !== field.dataset.shown.trim();
  const key = (field) => field.name.slice(4);
  const sets = () => {
    const mine = fields.filter(moved);
    const names = new Set(mine.map(key));
    return [...before.filter((t) => !names.has(t.split("=")[0])), ...mine.map((f) => `${key(f)}=${f.value}`)];
  };
  let timer = 0;
  const look = async (field) => {
    const body = new FormData();
    body.append("file", configure.dataset.file);
    sets().forEach((text) => body.append("set", text));
    const token = document.querySelector("meta[name=csrf]").content;
    const answer = await fetch("/new/check", { method: "POST", body, headers: { "x-csrf-token": token } });
    if (!answer.ok) return;
    const { problem } = await answer.json();
    configure.querySelectorAll(".problem").forEach((p) => { p.hidden = true; p.textContent = ""; });
    configure.querySelectorAll("[aria-invalid]").forEach((e) => e.removeAttribute("aria-invalid"));
    if (!problem) return;
    const guilty = fields.find((f) => moved(f) && problem.includes(key(f))) || field;
    guilty.setAttribute("aria-invalid", "true");
    const place = guilty.closest(".field").querySelector(".problem");
    place.textContent = problem;
    place.hidden = false;
  };
  const changed = (field) => {
    field.closest(".field").classList.toggle("moved", moved(field) || before.some((t) => t.startsWith(`${key(field)}=`)));
    const count = sets().length;
    document.getElementById("moved-count").textContent = count ? `${count} moved` : "";
    clearTimeout(timer);
    timer = setTimeout(() => look(field), 300);
  };
  for (const field of fields) {
    field.addEventListener("input", () => changed(field));
    field.addEventListener("change", () => changed(field));
  }
  for (const slider of configure.querySelectorAll(".slider")) {
    const field = document.getElementById(slider.dataset.for);
    slider.addEventListener("input", () => { field.value = slider.value; changed(field); });
    field.addEventListener("input", () => { slider.value = field.value; });
  }
  configure.addEventListener("submit", () => fields.forEach((f) => { f.disabled = !moved(f); }));
  addEventListener("pageshow", () => fields.forEach((f) => { f.disabled = false; }));
  document.getElementById("find-key").addEventListener("input", (event) => {
    const words = event.target.value.toLowerCase();
    for (const section of configure.querySelectorAll("details.section")) {
      let found = 0;
      for (const field of section.querySelectorAll(".field")) {
        field.hidden = !field.textContent.toLowerCase().includes(words);
        found += !field.hidden;
      }
      section.hidden = !found;
      if (words) section.open = found > 0;
    }
  });
}

// A launch becomes a run's page as soon as there is one.
if (document.body.dataset.again === "started" || document.body.dataset.again === "queued") {
  setInterval(async () => {
    const answer = await fetch(location.href);
    if (answer.redirected) location.replace(answer.url);
    else if (answer.ok) swap(new DOMParser().parseFromString(await answer.text(), "text/html"));
  }, 1000);
}
