/* Follows an open page: opens the live websocket, puts each part it is sent in its place, and says honestly how it is
   connected. No framework: a part is one element with an id; it replaces the element of that id, or, when it is new and
   names a list, is added at the list's end. What somebody has open, focused or scrolled to stays as it is. */
(function () {
  "use strict";

  const tag = document.getElementById("live");
  if (!tag) return;

  const state = document.getElementById("live-state");
  const pause = document.getElementById("live-pause");
  const status = document.getElementById("status");
  const SILENT_MS = 45000; // two beats and a little
  const OFTEN_MS = 1000; // a server that restarts is back within seconds: its pages are too
  const OFTEN = 30;
  const SELDOM_MS = 10000;

  const shown = {
    epoch: Number(tag.dataset.epoch),
    version: Number(tag.dataset.version),
    words: Number(tag.dataset.words),
  };
  let socket = null;
  let heardAt = 0;
  let tries = 0;
  let wasLive = false;
  let paused = false;
  let leaving = false;
  let timer = 0;

  /* -- the line ------------------------------------------------------------------------------ */

  function connect() {
    clearTimeout(timer);
    timer = 0;
    if (paused || leaving || socket) return;
    const scheme = location.protocol === "https:" ? "wss://" : "ws://";
    const mine = new WebSocket(scheme + location.host + "/ws/live/");
    socket = mine;
    heardAt = Date.now();
    mine.onopen = function () { watch(mine, wasLive); };
    mine.onmessage = function (event) {
      if (mine !== socket) return;
      heardAt = Date.now();
      hear(JSON.parse(event.data), mine);
    };
    mine.onclose = function () {
      if (mine !== socket) return;
      socket = null;
      if (!paused && !leaving) { say(wasLive ? "reconnecting" : "connecting"); later(); }
    };
  }

  function later() {
    if (timer) return;
    const wait = tries++ < OFTEN ? OFTEN_MS : SELDOM_MS;
    timer = setTimeout(connect, wait * (0.75 + Math.random() / 2));
  }

  function drop() {
    const old = socket;
    socket = null;
    if (old) old.close();
  }

  function watch(to, again) {
    to.send(JSON.stringify({
      type: "watch", page: tag.dataset.live, project: tag.dataset.project, slug: tag.dataset.slug,
      epoch: shown.epoch, version: shown.version, words: shown.words,
      through: through(), rows: rowsInView(), again: again,
    }));
  }

  function hear(message, from) {
    if (message.type === "gone") { leaving = true; location.reload(); return; }
    if (message.type === "again") { shown.version = 0; watch(from, false); return; }
    if (message.type !== "show") return;
    tries = 0;
    const changed = message.parts.filter(place);
    shown.epoch = message.epoch;
    shown.version = message.version;
    shown.words = message.words;
    wasLive = true;
    say(message.finished ? "finished" : "live");
    if (message.says && !message.finished) note(message.says);
    if (changed.length) { tell(changed); look(); }
    if (window.htmx && changed.some(function (part) { return part.id === "runs-newest"; })) {
      window.htmx.trigger(document.body, "runs-changed"); // asks for the line that announces newer runs
    }
    document.body.dispatchEvent(new CustomEvent("footprint:shown", { detail: { parts: changed.map(function (p) { return p.id; }) } }));
  }

  // After a sleep the socket may look open and be dead: nothing was heard for longer than two beats.
  function check() {
    if (paused || leaving) return;
    if (socket && Date.now() - heardAt > SILENT_MS) { drop(); say("reconnecting"); tries = 0; connect(); }
    else if (!socket && (document.visibilityState === "visible" || !timer)) { tries = 0; connect(); }
  }
  setInterval(function () { if (socket && Date.now() - heardAt > SILENT_MS) check(); }, 5000);
  document.addEventListener("visibilitychange", function () { if (document.visibilityState === "visible") check(); });
  addEventListener("online", check);
  addEventListener("pageshow", function (event) { if (event.persisted) check(); });
  addEventListener("beforeunload", function () { leaving = true; });

  /* -- the parts ------------------------------------------------------------------------------ */

  // Puts one part in its place; whether the page changed by it.
  function place(part) {
    const box = document.createElement("template");
    box.innerHTML = part.html;
    const fresh = box.content.firstElementChild;
    if (!fresh) return false;
    const old = document.getElementById(part.id);
    if (old) {
      if (old.isEqualNode(fresh)) return false;
      const kept = remember(old);
      old.replaceWith(fresh);
      recall(fresh, kept);
      if (!part.in) keepHeight(fresh, kept.height);
    } else {
      const list = part.in && document.getElementById(part.in);
      if (!list || !isWhole(list)) return false;
      append(list, fresh);
    }
    if (window.htmx) window.htmx.process(fresh);
    return true;
  }

  // A list that is shown in part gets its new rows when somebody asks for more.
  function isWhole(list) {
    return list.id !== "call-rows" || !document.querySelector("#calls-more a");
  }

  function remember(old) {
    const active = document.activeElement;
    const open = new Map();
    old.querySelectorAll("details[id]").forEach(function (d) { open.set(d.id, d.open); });
    return {
      open: open,
      focus: active && old.contains(active) ? pathTo(old, active) : null,
      height: old.offsetHeight,
      heights: Array.from(old.querySelectorAll(".keeps-height"), function (e) { return e.offsetHeight; }),
      scrolls: scrolling(old).map(function (e) {
        return { top: e.matches(".grow-region") && isAtEnd(e) ? Infinity : e.scrollTop, left: e.scrollLeft };
      }),
    };
  }

  function recall(fresh, kept) {
    kept.open.forEach(function (isOpen, id) {
      const found = fresh.id === id ? fresh : fresh.querySelector("#" + CSS.escape(id));
      if (found) found.open = isOpen;
    });
    fresh.querySelectorAll(".keeps-height").forEach(function (e, n) { keepHeight(e, kept.heights[n] || 0); });
    scrolling(fresh).forEach(function (e, n) {
      if (n >= kept.scrolls.length) return;
      e.scrollTop = Math.min(kept.scrolls[n].top, e.scrollHeight);
      e.scrollLeft = kept.scrolls[n].left;
    });
    if (kept.focus) {
      const found = kept.focus.reduce(function (at, n) { return at && at.children[n]; }, fresh);
      if (found && found.focus) found.focus({ preventScroll: true });
    }
  }

  // A part that grew never shrinks again while it is watched: what stands below does not go to and fro.
  function keepHeight(fresh, height) {
    if (document.querySelector(".is-growing") && fresh.offsetHeight < height) fresh.style.minHeight = height + "px";
  }
  addEventListener("resize", function () {
    document.querySelectorAll('[style*="min-height"]').forEach(function (e) { e.style.minHeight = ""; });
  });

  function scrolling(part) {
    const inside = Array.from(part.querySelectorAll(".grow-region, .scroll-x"));
    return part.matches(".timeline") ? [part].concat(inside) : inside;
  }

  function isAtEnd(region) {
    return region.scrollHeight - region.scrollTop - region.clientHeight < 24;
  }

  function pathTo(root, element) {
    const path = [];
    for (let at = element; at !== root; at = at.parentElement) {
      path.unshift(Array.prototype.indexOf.call(at.parentElement.children, at));
    }
    return path;
  }

  // New rows come at the end. Somebody who reads the end goes on reading it; somebody who has scrolled up is told.
  function append(list, fresh) {
    const region = list.closest(".grow-region");
    const scrolls = region && region.scrollHeight > region.clientHeight + 4;
    const atEnd = region && isAtEnd(region);
    list.append(fresh);
    if (!region) return;
    if (!scrolls || atEnd) { region.scrollTop = region.scrollHeight; return; }
    below(region);
  }

  function below(region) {
    let button = region.querySelector(":scope > .new-below");
    if (!button) {
      button = document.createElement("button");
      button.type = "button";
      button.className = "new-below small";
      button.dataset.count = "0";
      button.addEventListener("click", function () { region.scrollTop = region.scrollHeight; });
      region.append(button);
      region.addEventListener("scroll", function gone() {
        if (isAtEnd(region)) {
          button.remove();
          region.removeEventListener("scroll", gone);
        }
      });
    }
    button.dataset.count = String(Number(button.dataset.count) + 1);
    button.textContent = button.dataset.count + " new below ↓";
  }

  function through() {
    const rows = document.querySelectorAll("#call-rows [data-number]");
    return rows.length ? Number(rows[rows.length - 1].dataset.number) : 0;
  }

  function rowsInView() {
    return Array.prototype.map.call(document.querySelectorAll("[data-live-row]"), function (row) {
      return row.dataset.liveRow;
    }).slice(0, 100);
  }

  /* -- the words ------------------------------------------------------------------------------ */

  const WORDS = {
    connecting: "○ connecting",
    live: "● live",
    reconnecting: "◌ reconnecting; what you see may be old",
    paused: "‖ paused",
    finished: "✓ finished",
  };
  let said = "";
  let noteUntil = 0;

  function say(word) {
    if (word === said || (word === "live" && Date.now() < noteUntil)) return;
    said = word;
    state.textContent = WORDS[word];
    state.dataset.state = word;
    if (word === "live") pause.hidden = false; // what had ended goes on
    pause.classList.toggle("is-away", word === "finished"); // its place stays, so that nothing moves
  }

  // One sentence for a while in the place of the state's word.
  function note(text) {
    state.textContent = "● " + text;
    status.textContent = text;
    said = "note";
    noteUntil = Date.now() + 4000;
    setTimeout(function () { if (said === "note") say("live"); }, 4100);
  }

  // For those who hear the page: what has changed, at most every few seconds.
  let spoken = 0;
  let unspoken = 0;
  let speaking = 0;
  function tell(parts) {
    unspoken += parts.filter(function (part) { return part.in; }).length;
    const head = parts.some(function (part) { return part.id === "answer-head"; });
    if (!unspoken && !head) return;
    if (speaking) return;
    speaking = setTimeout(function () {
      speaking = 0;
      spoken = Date.now();
      const stands = document.querySelector("#answer-head .stands-words, #run-head .verdict");
      const news = unspoken ? unspoken + (unspoken === 1 ? " row changed. " : " rows changed. ") : "";
      status.textContent = news + (stands ? stands.textContent.trim() : "");
      unspoken = 0;
    }, Math.max(0, 4000 - (Date.now() - spoken)));
  }

  // A tab in the background tells a failure by its title and its icon.
  const title = document.title;
  function look() {
    const head = document.querySelector("[data-ending]");
    const failed = head && ["failed", "halted", "refused"].indexOf(head.dataset.ending) >= 0;
    document.title = (failed ? "✕ " : "") + title;
    const icon = document.querySelector('link[rel="icon"]');
    if (icon && failed && tag.dataset.failedIcon) icon.href = tag.dataset.failedIcon;
  }

  pause.addEventListener("click", function () {
    paused = !paused;
    pause.textContent = paused ? "Go on" : "Pause";
    pause.setAttribute("aria-pressed", String(paused));
    if (paused) { clearTimeout(timer); timer = 0; drop(); say("paused"); } else { tries = 0; say("connecting"); connect(); }
  });

  // A sentence that leads to folded rows opens them.
  function unfold() {
    const outcome = /^#why-([a-z-]+)$/.exec(location.hash);
    if (!outcome) return;
    document.querySelectorAll('.call-fold[data-outcome="' + outcome[1] + '"] > details').forEach(function (d) { d.open = true; });
    const first = document.querySelector('#call-rows [data-outcome="' + outcome[1] + '"]');
    if (first) first.scrollIntoView({ block: "center" });
  }
  addEventListener("hashchange", unfold);
  unfold();

  document.querySelectorAll(".now-region").forEach(function (region) { region.scrollTop = region.scrollHeight; });
  look();
  say("connecting");
  connect();
})();
