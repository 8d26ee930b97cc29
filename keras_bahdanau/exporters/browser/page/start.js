// A classic script, which runs even if the page's modules can't start. It reports unsuitable browsers and addresses,
// handles the Enter key before the modules are loaded, and detects damage: before it starts the modules, it compares
// all files with their SHA-256 in site.json. index.html contains the SHA-256 of this script.

"use strict";

(function () {
  var SEAL = 64, SITE_END = 3;  // bytes at the end of site.json: its seal, and the bytes after it
  var later = /\.(wasm|tflite)$/;  // loading.mjs checks these files after it has loaded them
  var subtle = window.crypto && window.crypto.subtle;  // if it is missing, the modules report it

  document.documentElement.dataset.started = "";

  function say(text) {
    function show() {
      var loading = document.getElementById("loading");
      var place = document.getElementById("problem") || document.body.appendChild(document.createElement("p"));
      if (loading) loading.hidden = true;
      place.hidden = false;
      place.textContent = text;
    }
    if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", show);
    else show();
  }

  function fetched(name) {
    return fetch(name, { cache: "no-cache" }).catch(function () {}).then(function (response) {
      if (response && response.ok) return response.arrayBuffer();
      throw new Error("A file of this page could not be loaded: " + name + ". Load the page again, now or later.");
    });
  }

  function compare(name, content, digest) {
    return subtle.digest("SHA-256", content).then(function (bytes) {
      var hex = Array.from(new Uint8Array(bytes), function (byte) { return (byte + 256).toString(16).slice(1); });
      if (hex.join("") === digest) return;
      throw new Error("The files of this page are damaged: " + name + " has changed since its export. Load the page " +
        "again, or copy its directory again.");
    });
  }

  function check() {
    return fetched("./site.json").then(function (content) {
      var end = Math.max(0, content.byteLength - SEAL - SITE_END);
      var seal = new TextDecoder().decode(content.slice(end, end + SEAL));
      return compare("site.json", content.slice(0, end), seal).then(function () {
        var digests = JSON.parse(new TextDecoder().decode(content)).sha256;
        return Promise.all(Object.keys(digests).map(function (name) {
          if (later.test(name)) return null;
          return fetched(name).then(function (file) { return compare(name, file, digests[name]); });
        }));
      });
    });
  }

  function start() {
    var script = document.createElement("script");
    script.type = "module";
    script.src = "app.mjs";
    document.head.appendChild(script);
  }

  if (location.protocol === "file:") {
    say("A browser can't run this page from a file. Serve its folder, for example with " +
      "python -m http.server, and open http://localhost:8000.");
  } else if (!("noModule" in HTMLScriptElement.prototype)) {
    say("This browser does not support JavaScript modules. Use a newer one.");
  } else {
    window.addEventListener("error", function (event) {
      if (event.target && event.target.type === "module") {
        say("A part of this page did not load: " + event.target.getAttribute("src") + ". Load it again; " +
          "its server may send it with a wrong type: see export/browser/README.md.");
      }
    }, true);
    document.addEventListener("keydown", function (event) {
      if (event.target.id !== "source" || event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      if ("listens" in event.target.form.dataset) event.target.form.requestSubmit();
      else event.target.form.dataset.entered = "";
    });
    (subtle ? check() : Promise.resolve()).then(start).catch(function (error) { say(error.message); });
  }
})();
