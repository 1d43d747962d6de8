// Small things on every page: colours, times in the reader's own zone, and whether the documents can be reached.
"use strict";

// Colours: the choice is kept in a cookie, so that the server draws the next page in them from the start.
const themes = document.getElementById("themes");
if (themes) {
  const root = document.documentElement;
  const show = () => {
    for (const button of themes.children) {
      button.setAttribute("aria-pressed", String(button.value === (root.dataset.theme || "auto")));
    }
  };
  themes.addEventListener("click", (event) => {
    const choice = event.target.value;
    if (!choice) return;
    if (choice === "auto") delete root.dataset.theme;
    else root.dataset.theme = choice;
    const seconds = choice === "auto" ? 0 : 365 * 24 * 3600;
    document.cookie = `theme=${choice}; path=/; max-age=${seconds}; samesite=lax`;
    show();
  });
  show();
}

// Times: the server writes UTC. Written as is usual where the reader lives, if they read the page in their own language.
const language = document.documentElement.lang;
const locale = navigator.languages.find((name) => name.split("-")[0] === language) || language;
const format = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" });
const localise = (within) => {
  for (const time of within.querySelectorAll("time")) {
    const at = new Date(time.dateTime);
    if (!Number.isNaN(at.valueOf())) time.textContent = format.format(at);
  }
};
localise(document);
document.addEventListener("htmx:load", (event) => localise(event.target));

// The connection: while it is lost the page says so, and what was asked for is asked for again.
const connection = document.getElementById("connection");
if (connection) {
  const lost = (event) => {
    connection.textContent = connection.dataset.lost;
    const asker = event.target; // the watch asks by itself
    setTimeout(() => {
      if (asker.isConnected) window.htmx.trigger(asker, asker.id === "search" ? "submit" : "refresh");
    }, 2000);
  };
  document.addEventListener("htmx:sendError", lost);
  document.addEventListener("htmx:timeout", lost);
  document.addEventListener("htmx:responseError", (event) => { if (event.detail.xhr.status >= 500) lost(event); });
  document.addEventListener("htmx:afterOnLoad", (event) => {
    if (event.detail.successful) connection.textContent = "";
  });
}

// A picture that can't be had gives way to what it covers.
const giveWay = (image) => { if (image.complete && !image.naturalWidth) image.remove(); };
document.querySelectorAll(".kind img").forEach(giveWay);
document.addEventListener("error", (event) => { if (event.target.matches?.(".kind img")) event.target.remove(); }, true);

// Several documents at once: how many are selected, and all of them by one press.
const bulk = document.getElementById("bulk");
if (bulk) {
  const picks = () => [...document.querySelectorAll(".pick")];
  const tell = () => {
    const count = picks().filter((pick) => pick.checked).length;
    bulk.querySelector("[role=status]").textContent = bulk.dataset.picked.replace("{n}", count);
  };
  document.addEventListener("change", (event) => { if (event.target.matches(".pick")) tell(); });
  document.addEventListener("htmx:afterSettle", tell);
  bulk.querySelector("[data-all]").addEventListener("click", () => {
    const all = picks();
    const on = !all.every((pick) => pick.checked);
    for (const pick of all) pick.checked = on;
    tell();
  });
}
