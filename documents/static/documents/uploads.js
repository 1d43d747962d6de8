// Uploads: files dropped anywhere, or chosen, go to the HTTP API, a few at a time, each with its own progress.
"use strict";

(() => {
  const panel = document.getElementById("uploads");
  if (!panel) return;

  const AT_A_TIME = 3;
  const said = (word) => panel.dataset[`said${word[0].toUpperCase()}${word.slice(1)}`];
  const list = panel.querySelector("ul");
  const summary = panel.querySelector("[role=status]");
  const close = panel.querySelector("[data-close]");
  const waiting = [];
  let running = 0;
  let refresh;

  // What an answer means, by its HTTP status; 0: there was none.
  const MEANING = {
    0: ["failed", "network"], 400: ["refused", "empty"], 413: ["refused", "large"], 415: ["refused", "refused"],
    401: ["failed", "loggedOut"], 403: ["failed", "loggedOut"],
    502: ["failed", "unavailable"], 503: ["failed", "unavailable"], 504: ["failed", "unavailable"],
    507: ["failed", "full"], 409: ["refused", "known"],
  };
  // Where the status alone doesn't tell.
  const BY_CODE = { type_not_accepted: ["refused", "otherType"], tenant_full: ["refused", "noRoom"] };

  class Upload {
    constructor(file, path) {
      this.file = file;
      this.row = panel.querySelector("template").content.firstElementChild.cloneNode(true);
      this.part("name").textContent = path || file.name;
      this.part("name").title = path || file.name;
      this.bar = this.row.querySelector("progress");
      this.bar.setAttribute("aria-label", file.name);
      this.retry = this.row.querySelector("[data-retry]");
      this.retry.setAttribute("aria-label", `${this.retry.textContent}: ${file.name}`);
      this.retry.addEventListener("click", () => this.enqueue());
      list.append(this.row);
    }

    part(name) { return this.row.querySelector(`.${name}`); }

    show(state, word) {
      this.row.className = state;
      this.part("said").textContent = said(word);
      this.retry.hidden = state !== "failed";
      this.bar.hidden = !["waiting", "sending"].includes(state);
      tell();
    }

    enqueue() {
      waiting.push(this);
      this.bar.value = 0;
      this.show("waiting", "waiting");
      next();
    }

    send() {
      if (window.Resumable.isFor(this.file)) this.sendInPieces();
      else this.sendAtOnce();
    }

    async sendInPieces() {
      this.inPieces ||= new window.Resumable(this.file, panel.dataset.pieces, csrfToken, {
        progress: (bytes) => {
          this.bar.value = (100 * bytes) / this.file.size;
          this.show("sending", bytes < this.file.size ? "sending" : "storing");
        },
        interrupted: () => this.show("sending", "interrupted"),
      });
      this.show("sending", "sending");
      try {
        const told = await this.inPieces.send();
        this.stored({ ...told, id: told.document_id, title: this.file.name });
      } catch (answer) {
        this.refused(answer.status, answer.code);
      }
      running -= 1;
      next();
    }

    sendAtOnce() {
      const request = new XMLHttpRequest();
      const form = new FormData();
      form.append("file", this.file);
      request.open("POST", panel.dataset.url);
      request.setRequestHeader("X-CSRFToken", csrfToken());
      request.upload.addEventListener("progress", (event) => {
        if (event.lengthComputable) this.bar.value = (100 * event.loaded) / event.total;
      });
      request.upload.addEventListener("load", () => this.show("sending", "storing"));
      request.addEventListener("loadend", () => this.finish(request));
      this.show("sending", "sending");
      request.send(form);
    }

    finish(request) {
      running -= 1;
      if (request.status === 200 || request.status === 201) this.stored(JSON.parse(request.responseText));
      else this.refused(request.status, codeOf(request));
      next();
    }

    refused(status, code) { this.show(...(BY_CODE[code] || MEANING[status] || ["failed", "broken"])); }

    stored(document_) {
      const open = this.row.querySelector("a");
      open.href = `${panel.dataset.page}${document_.id}/`;
      open.setAttribute("aria-label", `${open.textContent}: ${document_.title}`);
      open.hidden = false;
      this.show("stored", document_.restored ? "restored" : document_.duplicate ? "duplicate" : "stored");
      clearTimeout(refresh);
      refresh = setTimeout(() => {
        const results = document.getElementById("results");
        if (results) window.htmx.trigger(results, "refresh");
      }, 200);
    }
  }

  function codeOf(request) {
    try {
      return JSON.parse(request.responseText).code;
    } catch {
      return "";
    }
  }

  function next() {
    while (running < AT_A_TIME && waiting.length) {
      running += 1;
      waiting.shift().send();
    }
    tell();
  }

  function tell() {
    const all = list.children.length;
    const failed = list.querySelectorAll(".failed, .refused").length;
    const done = failed + list.querySelectorAll(".stored").length;
    const words = failed ? panel.dataset.summaryFailed : panel.dataset.summary;
    const text = words.replace("{done}", done).replace("{all}", all).replace("{failed}", failed);
    if (summary.textContent !== text) summary.textContent = text;
    close.hidden = done < all;
  }

  function add(files) {
    for (const file of files) {
      const upload = new Upload(file, file.webkitRelativePath || file.path);
      if (file.size > Number(panel.dataset.limit)) upload.show("refused", "large");
      else if (file.size === 0) upload.show("refused", "empty");
      else upload.enqueue();
    }
    if (list.children.length) panel.hidden = false;
  }

  // What a system leaves in folders for itself is no document.
  const isMeant = (name) => !/^(\.|~\$|thumbs\.db$|desktop\.ini$)/i.test(name);

  // Adds the files below folders that were dropped, as each folder has been read.
  async function addBelow(entry, path) {
    const below = `${path}${entry.name}`;
    if (entry.isFile) {
      const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
      file.path = below;
      add([file]);
      return;
    }
    const reader = entry.createReader();
    for (;;) {
      const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
      if (!some.length) return;
      for (const each of some) if (isMeant(each.name)) await addBelow(each, `${below}/`);
    }
  }

  // The cookie, not the page: it is newer when somebody has logged in again in another tab.
  function csrfToken() {
    return (/(?:^|; )(?:__Host-)?csrftoken=([^;]+)/.exec(document.cookie) || ["", ""])[1];
  }

  close.addEventListener("click", () => {
    list.replaceChildren();
    panel.hidden = true;
    document.getElementById("main").focus();
  });

  const input = document.getElementById("files");
  const choose = document.querySelector("[data-choose]");
  if (choose) {
    choose.addEventListener("click", () => input.click());
    input.addEventListener("change", () => {
      add(input.files);
      input.value = "";
    });
  }

  const folder = document.getElementById("folder");
  const chooseFolder = document.querySelector("[data-choose-folder]");
  if (chooseFolder) {
    chooseFolder.addEventListener("click", () => folder.click());
    folder.addEventListener("change", () => {
      const meant = (file) => file.webkitRelativePath.split("/").slice(1).every(isMeant);
      add(Array.from(folder.files).filter(meant));
      folder.value = "";
    });
  }

  // Dropping. The target changes with each element that the pointer crosses: only a leave without a next one counts.
  const target = document.getElementById("drop-here");
  const bringsFiles = (event) => event.dataTransfer && event.dataTransfer.types.includes("Files");
  document.addEventListener("dragover", (event) => {
    if (!bringsFiles(event)) return;
    event.preventDefault();
    target.hidden = false;
  });
  document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) target.hidden = true; });
  document.addEventListener("drop", (event) => {
    if (!bringsFiles(event)) return;
    event.preventDefault();
    target.hidden = true;
    const entries = Array.from(event.dataTransfer.items, (item) => item.webkitGetAsEntry && item.webkitGetAsEntry());
    const folders = entries.filter((entry) => entry && entry.isDirectory);
    const names = new Set(folders.map((entry) => entry.name));
    add(Array.from(event.dataTransfer.files).filter((file) => !names.has(file.name)));
    for (const each of folders) addBelow(each, "").catch(() => {
      new Upload({ name: each.name }).show("refused", "unreadable");
      panel.hidden = false;
    });
  });

  window.addEventListener("beforeunload", (event) => { if (running || waiting.length) event.preventDefault(); });
})();
