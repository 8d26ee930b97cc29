// A plain script: for browsers and addresses that the modules of the page can't start in, and for the key
// Enter, which works before the modules are there.

"use strict";

(function () {
  function say(text) {
    function show() {
      var place = document.getElementById("problem");
      document.getElementById("loading").hidden = true;
      place.hidden = false;
      place.textContent = text;
    }
    if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", show);
    else show();
  }

  if (location.protocol === "file:") {
    say("A browser does not start this page from a file. Serve its folder, for example with " +
      "python -m http.server, and open http://localhost:8000.");
  } else if (!("noModule" in HTMLScriptElement.prototype)) {
    say("This browser lacks JavaScript modules. Use a newer one.");
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
  }
})();
