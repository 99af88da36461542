// Views that wait for a process which no run's events tell of ask again by themselves.
"use strict";
function poll() {
  if (document.querySelector("[data-poll]")) refresh();
  setTimeout(poll, 1000);
}
poll();
