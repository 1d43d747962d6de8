// Keeps the control room up to date: asks for the part that changes, one question at a time, and only while it is seen.
"use strict";

const EVERY = 5000;
const live = document.getElementById("jobqueue-live");
const stale = document.getElementById("jobqueue-stale");

async function refresh() {
  if (document.hidden) return;
  const answer = await fetch(live.dataset.url, { headers: { "X-Requested-With": "fetch" }, redirect: "error" });
  if (!answer.ok) throw new Error(answer.status);
  show(await answer.text());
}

// What has the focus keeps it, by its key, so that it never passes to another queue; and what was opened stays open.
function show(html) {
  const focused = live.contains(document.activeElement) && document.activeElement.dataset.key;
  const opened = [...live.querySelectorAll("details[open]")].map((each) => each.id);
  live.innerHTML = html;
  for (const id of opened) document.getElementById(id).open = true;
  if (!focused) return;
  const same = [...live.querySelectorAll("[data-key]")].find((each) => each.dataset.key === focused);
  same?.focus({ preventScroll: true });
}

function again() {
  setTimeout(async () => {
    try {
      await refresh();
      stale.hidden = true;
    } catch {
      stale.hidden = false;
    }
    again();
  }, EVERY);
}

again();
