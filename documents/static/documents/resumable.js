// A large file goes in pieces (tus 1.0.0): what has arrived stays, whatever becomes of the connection.
"use strict";

(() => {
  // Seconds before each new try; after the last one it has failed.
  const WAITS = [1, 2, 4, 8, 15, 30, 60, 60, 60, 60];
  const MAY_PASS = [0, 502, 503, 504];

  window.Resumable = class Resumable {
    static PIECE_BYTES = 8 * 2 ** 20;

    static isFor(file) { return file.size > Resumable.PIECE_BYTES; }

    // `told`: `progress(bytes)` and `interrupted()`.
    constructor(file, url, csrfToken, told) {
      Object.assign(this, { file, url, csrfToken, told });
      this.address = this.offset = null; // not known
    }

    // Resolves to what the API tells of the upload when it has become a document; rejects with `status` and `code`.
    // Called again after that, it goes on from where it was.
    async send() {
      for (let failures = 0; this.offset !== this.file.size;) {
        const answer = await this.next();
        if (answer.status >= 200 && answer.status < 300) {
          if (answer.status === 204) failures = 0; // a piece has arrived
        } else if (answer.status === 404 && this.address) {
          this.address = this.offset = null; // it has expired: from the beginning
        } else {
          const passes = MAY_PASS.includes(answer.status) || answer.code === "offset_conflict";
          this.offset = null;
          if (!passes || failures === WAITS.length) throw answer;
          this.told.interrupted();
          await pause(WAITS[failures]);
          failures += 1;
        }
      }
      const whole = await this.ask("GET", this.address);
      if (whole.status !== 200) throw whole;
      return JSON.parse(whole.text);
    }

    async next() {
      if (!this.address) return this.begin();
      if (this.offset === null) {
        const answer = await this.ask("HEAD", this.address);
        if (answer.status === 200) this.offset = Number(answer.header("Upload-Offset"));
        return answer;
      }
      const piece = this.file.slice(this.offset, this.offset + Resumable.PIECE_BYTES);
      const headers = { "Content-Type": "application/offset+octet-stream", "Upload-Offset": this.offset };
      const answer = await this.ask("PATCH", this.address, headers, piece);
      if (answer.status === 204) this.offset = Number(answer.header("Upload-Offset"));
      return answer;
    }

    async begin() {
      const name = btoa(String.fromCharCode(...new TextEncoder().encode(this.file.name)));
      const headers = { "Upload-Length": this.file.size, "Upload-Metadata": `filename ${name}` };
      const answer = await this.ask("POST", this.url, headers);
      if (answer.status === 201) {
        this.address = answer.header("Location");
        this.offset = 0;
      }
      return answer;
    }

    ask(method, url, headers = {}, body = null) {
      return new Promise((resolve) => {
        const request = new XMLHttpRequest();
        request.open(method, url);
        const all = { ...headers, "Tus-Resumable": "1.0.0", "X-CSRFToken": this.csrfToken() };
        for (const [name, value] of Object.entries(all)) request.setRequestHeader(name, value);
        if (body) request.upload.addEventListener("progress", (event) => this.told.progress(this.offset + event.loaded));
        request.addEventListener("loadend", () => resolve({
          status: request.status,
          text: request.responseText,
          code: codeIn(request.responseText),
          header: (name) => request.getResponseHeader(name),
        }));
        request.send(body);
      });
    }
  };

  // Until then, or until the browser says that there is a network again.
  function pause(seconds) {
    return new Promise((resolve) => {
      setTimeout(resolve, 1000 * seconds);
      window.addEventListener("online", resolve, { once: true });
    });
  }

  function codeIn(text) {
    try {
      return JSON.parse(text).code;
    } catch {
      return "";
    }
  }
})();
